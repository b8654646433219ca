/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults x operations x transports: what each must end in.
 *
 * ABORTS and OUTLASTS are what libmemcached cannot give; docs/faults.md lists
 * them, and the day one of them is gone this table has to say so.
 */
#include "faults.h"
#include "mangle.h"

#define IS(status_, text_) \
    { .end = ENDS, .status = WARMRING_##status_, .text = text_ }
#define KEEPS(status_, text_) \
    { .end = ENDS, .status = WARMRING_##status_, .text = text_, .keeps = true }
/* The next call is lost: see limits.c. */
#define KEEPS_OUT_OF_STEP \
    { .end = ENDS, .status = WARMRING_OK, .keeps = true, .out_of_step = true }
#define LATE \
    { .end = OUTLASTS }
#define DIES \
    { .end = ABORTS }
#define ALL(...) \
    { __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__ }

#define LOST IS(CONNECTION_LOST, "lost")
#define SILENT IS(TIMEOUT, "no answer within ")
#define WRONG IS(PROTOCOL_ERROR, "unexpected answer")
#define LARGE IS(TOO_LARGE, "has 3000000 bytes, max_value_bytes is ")

#define THEN_HANG(...) \
    { FAKE_GREET(), __VA_ARGS__, FAKE_HANG(), FAKE_END }
#define THEN_CLOSE(...) \
    { FAKE_GREET(), __VA_ARGS__, FAKE_END }
#define THEN_RESET(...) \
    { FAKE_GREET(), __VA_ARGS__, FAKE_PAUSE(20), FAKE_RESET(), FAKE_END }
#define LENGTH(text) FAKE_ANSWER(mangle_length, (void *)(uintptr_t)(text))
#define PAGE                                                                       \
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nConnection: close\r\n" \
    "\r\n<html><body><h1>400 Bad Request</h1></body></html>\r\n"

const fault_t faults[] = {
    {"a refused connection",
     REFUSING,
     false,
     {FAKE_END},
     {ALL(IS(CONNECT_FAILED, "connection refused")),
      ALL(IS(CONNECT_FAILED, "connection refused"))}},
    {"a full backlog",
     FULL,
     true,
     {FAKE_END},
     {ALL(IS(TIMEOUT, "connect timed out after ")), ALL(IS(TIMEOUT, "connect timed out after "))}},
    {"a server that accepts nothing",
     DEAF,
     true,
     {FAKE_END},
     {ALL(IS(TIMEOUT, "-B binary")), ALL(IS(TIMEOUT, "no answer within "))}},
    {"a server that accepts and says nothing",
     SCRIPT,
     true,
     {FAKE_HANG(), FAKE_END},
     {ALL(IS(TIMEOUT, "-B binary")), ALL(IS(TIMEOUT, "no answer within "))}},
    {"a hang", SCRIPT, true, {FAKE_GREET(), FAKE_HANG(), FAKE_END}, {ALL(SILENT), ALL(SILENT)}},
    {"a drip of a byte every 100 ms",
     SCRIPT,
     true,
     {FAKE_GREET(), FAKE_DRIP_ANSWER(fake_memcached, NULL, 100), FAKE_HANG(), FAKE_END},
     {ALL(SILENT), {LATE, LATE, {.end = NONE}, LATE}}},
    {"a partial answer, then a close",
     SCRIPT,
     false,
     THEN_CLOSE(FAKE_ANSWER(mangle_half, NULL)),
     {ALL(LOST), ALL(LOST)}},
    {"a partial answer, then a reset",
     SCRIPT,
     false,
     THEN_RESET(FAKE_ANSWER(mangle_half, NULL)),
     {ALL(LOST), ALL(LOST)}},
    {"a partial answer, then a hang",
     SCRIPT,
     true,
     THEN_HANG(FAKE_ANSWER(mangle_half, NULL)),
     {ALL(SILENT), ALL(SILENT)}},
    {"a close", SCRIPT, false, {FAKE_GREET(), FAKE_END}, {ALL(LOST), ALL(LOST)}},
    {"a reset", SCRIPT, false, {FAKE_GREET(), FAKE_RESET(), FAKE_END}, {ALL(LOST), ALL(LOST)}},
    {"junk",
     SCRIPT,
     false,
     THEN_HANG(FAKE_SAY("\x16\x03\x01\x02 blah\r\n")),
     {ALL(WRONG), ALL(WRONG)}},
    {"a page of HTML", SCRIPT, false, THEN_CLOSE(FAKE_SAY(PAGE)), {ALL(WRONG), ALL(WRONG)}},
    {"an answer to something else",
     SCRIPT,
     false,
     THEN_HANG(FAKE_ANSWER(mangle_other, NULL)),
     {ALL(WRONG), {WRONG, DIES, WRONG, WRONG}}},
    {"a key of 10 KB",
     SCRIPT,
     false,
     THEN_HANG(FAKE_ANSWER(mangle_long_key, NULL)),
     {ALL(WRONG), {WRONG, WRONG, DIES, WRONG}}},
    {"a negative length",
     SCRIPT,
     false,
     THEN_HANG(LENGTH("-5")),
     {{WRONG, {.end = NONE}, WRONG, WRONG},
      {IS(OUT_OF_MEMORY, "out of memory"),
       {.end = NONE},
       {.end = NONE},
       IS(OUT_OF_MEMORY, "out of memory")}}},
    {"a length beyond the limit",
     SCRIPT,
     false,
     THEN_HANG(LENGTH("3000000")),
     {{LARGE, {.end = NONE}, WRONG, LARGE},
      {{.end = NONE}, {.end = NONE}, {.end = NONE}, {.end = NONE}}}},
    {"an extra END",
     SCRIPT,
     false,
     {FAKE_GREET(), FAKE_ANSWER(mangle_extra_end, NULL), FAKE_MEMCACHED()},
     {ALL(IS(OK, NULL)), ALL(KEEPS_OUT_OF_STEP)}},
    {"no memory",
     SCRIPT,
     false,
     {FAKE_GREET(), FAKE_SAY("SERVER_ERROR out of memory storing object\r\n"), FAKE_MEMCACHED()},
     {{KEEPS(SERVER_ERROR, "SERVER_ERROR out of memory storing object"),
       KEEPS(SERVER_ERROR, "SERVER_ERROR out of memory storing object"),
       KEEPS(SERVER_ERROR, "SERVER_ERROR out of memory storing object"),
       IS(SERVER_ERROR, "SERVER_ERROR out of memory storing object")},
      ALL(IS(SERVER_ERROR, "out of memory"))}},
    {"too many connections",
     SCRIPT,
     false,
     {FAKE_SAY("ERROR Too many open connections\r\n"), FAKE_PAUSE(100), FAKE_END},
     {ALL(IS(SERVER_ERROR, "Too many open connections")),
      ALL(IS(PROTOCOL_ERROR, "unexpected answer to the first command"))}},
    {"CLIENT_ERROR",
     SCRIPT,
     false,
     THEN_HANG(FAKE_SAY("CLIENT_ERROR line format\r\n")),
     {ALL(IS(SERVER_ERROR, "CLIENT_ERROR line format")), ALL(IS(SERVER_ERROR, "line format"))}},
    {"ERROR", SCRIPT, false, THEN_HANG(FAKE_SAY("ERROR\r\n")), {ALL(WRONG), ALL(WRONG)}},
};
const size_t fault_count = sizeof faults / sizeof faults[0];
