/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of topology files share: two texts, one of each kind, with
 * everything that can be in them, and files made of them.
 */
#ifndef TESTS_TOPOLOGY_FILE_SUPPORT_H
#define TESTS_TOPOLOGY_FILE_SUPPORT_H

#include <string.h>

#include "support.h"
#include "topology/file.h"

static const char stable_text[] = /* line 1 */
    "{\n"
    "  \"warmring\": 1,\n"
    "  \"id\": \"0123456789abcdef\",\n"
    "  \"epoch\": 9007199254740993,\n" /* not a double */
    "  \"steps\": 12,\n"
    "  \"phase\": \"STABLE\",\n"
    "  \"since\": 1700000000123,\n"
    "  \"lag_s\": 5,\n"
    "  \"max_deadline_ms\": 5000,\n"
    "  \"max_ttl_s\": 86400,\n" /* line 10 */
    "  \"ring\": {\n"
    "    \"dialect\": \"v2\",\n"
    "    \"points_per_weight\": 12.5,\n"
    "    \"max_points\": 1000000,\n"
    "    \"hash_tag\": \"{}\",\n"
    "    \"servers\": [\n"
    "      {\"name\": \"a\", \"address\": \"10.0.0.1:11211\", \"weight\": 4},\n"
    "      {\"address\": \"cache.example\", \"weight\": 0.1},\n"
    "      {\"address\": \"[fd00::7]:11212\", \"weight\": 0},\n"
    "      {\"name\": \"s\", \"address\": \"unix:/run/memcached.sock\", \"weight\": 1e-05}\n"
    "    ]\n"
    "  }\n"
    "}\n";

static const char warming_text[] = /* line 1 */
    "{\n"
    "  \"warmring\": 1,\n"
    "  \"id\": \"0123456789abcdef\",\n"
    "  \"epoch\": 7,\n"
    "  \"steps\": 3,\n"
    "  \"phase\": \"WARMING\",\n"
    "  \"since\": 1700000000000,\n"
    "  \"lag_s\": 5,\n"
    "  \"max_deadline_ms\": 5000,\n"
    "  \"max_ttl_s\": 0,\n" /* line 10 */
    "  \"ring\": {\n"
    "    \"dialect\": \"nginx\",\n"
    "    \"servers\": [\n"
    "      {\"address\": \"10.0.0.1\", \"weight\": 1},\n"
    "      {\"address\": \"10.0.0.2\", \"weight\": 2}\n"
    "    ]\n"
    "  },\n"
    "  \"migration\": {\n"
    "    \"seed\": \"fedcba9876543210\",\n"
    "    \"ring\": {\n" /* line 20 */
    "      \"dialect\": \"v2\",\n"
    "      \"points_per_weight\": 20,\n"
    "      \"servers\": [\n"
    "        {\"name\": \"a\", \"address\": \"10.0.0.1\", \"weight\": 1},\n"
    "        {\"name\": \"b\", \"address\": \"10.0.0.9:11219\", \"weight\": 1.5}\n"
    "      ]\n"
    "    },\n"
    "    \"rollout\": 500,\n"
    "    \"scopes\": {\"rome\": 2000, \"oslo\": 0},\n"
    "    \"ramps\": [\n" /* line 30 */
    "      {\"from\": 100, \"begins\": 1700000000000, \"ends\": 1700000060000},\n"
    "      {\"scope\": \"rome\", \"from\": 0, \"begins\": 1700000000000, "
    "\"ends\": 1700000010000}\n"
    "    ],\n"
    "    \"watermarks\": {\n"
    "      \"10.0.0.1:11211\": {\"cas\": 9223372036854775807, \"started\": 1690000000},\n"
    "      \"10.0.0.9:11219\": {\"cas\": 0}\n"
    "    }\n"
    "  }\n"
    "}\n";

/* A file, which has to be good. */
static inline warmring_file_t *file_of(const char *text) {
    warmring_file_t *file;
    if (warmring_file_parse(&file, text, strlen(text), "fleet.json") != WARMRING_OK) {
        tap_bail("cannot parse: %s", warmring_error_detail());
    }
    return file;
}

/* A copy of `text` with the first `piece` replaced; bails where there is none.
 * Good until two others are made. */
static inline char *replaced(const char *text, const char *piece, const char *by) {
    static char copies[2][16384];
    static int turn;
    char *copy = copies[turn ^= 1];
    const char *at = strstr(text, piece);
    if (at == NULL) {
        tap_bail("no \"%s\" in the text", piece);
    }
    snprintf(copy, sizeof copies[0], "%.*s%s%s", (int)(at - text), text, by, at + strlen(piece));
    return copy;
}

#endif
