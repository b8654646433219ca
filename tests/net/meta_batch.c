/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: pipelines of every verb, commands without reply between them, many
 * servers in one poll loop, more bytes each way than sockets hold, and one bad
 * server among good ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/fake_server.h"
#include "../lib/fixture.h"
#include "../lib/tap.h"
#include "base/memory.h"
#include "meta_support.h"
#include "net/batch_poll.h"

enum { WAIT_MS = 10000, SHORT_MS = 300 };

/* Requests with what they need, all of one size. */
typedef struct {
    size_t count;
    size_t value_size;
    wr_request_t *requests;
    wr_request_t **pointers;
    buffer_sink_t *sinks;
    char (*keys)[48];
    char *values; /* to store */
    char *rooms;  /* to read into */
} batch_t;

static batch_t batch_create(size_t count, size_t value_size) {
    batch_t batch = {.count = count, .value_size = value_size};
    batch.requests = calloc(count, sizeof *batch.requests);
    batch.pointers = calloc(count, sizeof *batch.pointers);
    batch.sinks = calloc(count, sizeof *batch.sinks);
    batch.keys = calloc(count, sizeof *batch.keys);
    batch.values = malloc(count * value_size);
    batch.rooms = calloc(count, value_size);
    for (size_t i = 0; i < count; i++) {
        snprintf(batch.keys[i], sizeof batch.keys[i], "key-%zu-%zu", value_size, i);
        memset(batch.values + i * value_size, (int)('a' + i % 26), value_size);
        batch.sinks[i] = buffer_sink(batch.rooms + i * value_size, value_size);
        batch.pointers[i] = &batch.requests[i];
    }
    return batch;
}

static void batch_free(batch_t *batch) {
    free(batch->requests);
    free(batch->pointers);
    free(batch->sinks);
    free(batch->keys);
    free(batch->values);
    free(batch->rooms);
}

static void prepare(batch_t *batch, size_t index, wr_verb_t verb, size_t key) {
    wr_request_t *request = &batch->requests[index];
    *request = request_of(verb, batch->keys[key], NULL);
    request->value = (warmring_bytes_t){batch->values + key * batch->value_size, batch->value_size};
    request->sink = &batch->sinks[key].sink;
}

static bool is_whole(const batch_t *batch, size_t index, size_t key) {
    const wr_request_t *request = &batch->requests[index];
    return request->status == WARMRING_OK && request->value_length == batch->value_size &&
           memcmp(request->value_out, batch->values + key * batch->value_size, batch->value_size) ==
               0;
}

static size_t count_status(const batch_t *batch, warmring_status_t status) {
    size_t number = 0;
    for (size_t i = 0; i < batch->count; i++) {
        number += batch->requests[i].status == status;
    }
    return number;
}

/* ---- one connection ---------------------------------------------------------- */

/* Sets and gets in turn, many times what both sides' sockets hold. */
static void test_both_ways(wr_meta_connection_t *connection) {
    batch_t batch = batch_create(96, 1000000);
    for (size_t i = 0; i < batch.count; i += 2) {
        prepare(&batch, i, WR_SET, i);
        prepare(&batch, i + 1, WR_GET, i);
    }
    run_many(connection, batch.pointers, batch.count, WAIT_MS);
    size_t whole = 0;
    for (size_t i = 0; i < batch.count; i += 2) {
        whole += batch.requests[i].status == WARMRING_OK && is_whole(&batch, i + 1, i);
    }
    tap_int((int64_t)whole, (int64_t)batch.count / 2, "48 megabytes each way at once");
    tap_ok(!connection->base.broken, "... and the connection lives");
    batch_free(&batch);
}

static void test_lists(wr_meta_connection_t *connection) {
    batch_t batch = batch_create(1000, 100);
    for (size_t i = 0; i < batch.count; i++) {
        prepare(&batch, i, WR_SET, i);
        batch.requests[i].noreply = i % 3 == 0;
    }
    run_many(connection, batch.pointers, batch.count, WAIT_MS);
    tap_int((int64_t)count_status(&batch, WARMRING_OK), 1000, "a thousand sets, some quiet");
    for (size_t i = 0; i < batch.count; i++) {
        prepare(&batch, i, WR_GET, i % 7 == 0 && i > 0 ? i - 1 : i); /* some keys twice */
        batch.requests[i].wants_ttl = i > 500 && i % 50 == 0;
        batch.requests[i].sink = &batch.sinks[i].sink;
        if (i % 10 == 5) {
            batch.requests[i].key = bytes_of("absent");
        }
    }
    run_many(connection, batch.pointers, batch.count, WAIT_MS);
    size_t right = 0;
    for (size_t i = 0; i < batch.count; i++) {
        right += i % 10 == 5 ? batch.requests[i].status == WARMRING_NOT_FOUND
                             : is_whole(&batch, i, i % 7 == 0 && i > 0 ? i - 1 : i);
    }
    tap_int((int64_t)right, 1000, "a thousand gets, with misses, repeats and TTLs");
    tap_ok(!connection->base.broken, "... and the connection lives");
    batch_free(&batch);
}

/* What one refuses leaves the others alone. */
static void test_refused(wr_meta_connection_t *connection) {
    static char long_key[252];
    memset(long_key, 'k', 251);
    batch_t batch = batch_create(6, 10);
    for (size_t i = 0; i < batch.count; i++) {
        prepare(&batch, i, WR_SET, i);
    }
    run_many(connection, batch.pointers, batch.count, WAIT_MS);
    for (size_t i = 0; i < batch.count; i++) {
        prepare(&batch, i, WR_GET, i);
    }
    batch.requests[2].key = bytes_of(long_key);
    batch.requests[5].verb = WR_UNLEASE;
    run_many(connection, batch.pointers, batch.count, WAIT_MS);
    tap_status(batch.requests[2].status, WARMRING_BAD_KEY, "a long key among others");
    tap_status(batch.requests[5].status, WARMRING_BAD_ARGUMENT, "token 0 at the end");
    tap_int((int64_t)count_status(&batch, WARMRING_OK), 4, "the others are answered");
    run_many(connection, batch.pointers + 5, 1, WAIT_MS);
    tap_status(batch.requests[5].status, WARMRING_BAD_ARGUMENT, "nothing but a refusal");
    batch_free(&batch);
}

/* The same random requests one by one and as one pipeline on two empty
 * servers must have the same answers. */
static void test_random(const fixture_t *fixture, unsigned seed) {
    enum { COUNT = 400 };
    static const uint64_t initial = 5;
    batch_t batch = batch_create(COUNT, 3);
    batch_t single = batch_create(COUNT, 3);
    srandom(seed);
    for (size_t i = 0; i < COUNT; i++) {
        wr_verb_t verb = (wr_verb_t)(random() % WR_FLUSH);
        size_t key = (size_t)random() % 5;
        /* memcached pads what shrinks in place, and makes anew what is being
         * read: a decrement's length depends on the moment */
        prepare(&batch, i, verb == WR_DECREMENT ? WR_INCREMENT : verb, key);
        batch.requests[i].noreply = random() % 3 == 0;
        batch.requests[i].wants_ttl = random() % 4 == 0;
        if (batch.requests[i].verb == WR_CAS || batch.requests[i].verb == WR_UNLEASE) {
            batch.requests[i].cas = (uint64_t)random() + 1000000; /* nobody has it */
        }
        batch.requests[i].delta = 2;
        batch.requests[i].initial = random() % 2 == 0 ? &initial : NULL;
        batch.requests[i].value = bytes_of("12");
        batch.requests[i].sink = NULL;
        single.requests[i] = batch.requests[i];
    }
    wr_meta_connection_t *one = must_open(fixture_address(fixture, 0));
    wr_meta_connection_t *two = must_open(fixture_address(fixture, 1));
    run_many(one, batch.pointers, COUNT, WAIT_MS);
    size_t same = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const wr_request_t *a = &batch.requests[i];
        run(two, &single.requests[i], WAIT_MS);
        const wr_request_t *b = &single.requests[i];
        same += a->status == b->status && a->number == b->number &&
                a->value_length == b->value_length && a->flags_out == b->flags_out;
    }
    tap_int((int64_t)same, COUNT, "a random pipeline, seed %u", seed);
    tap_ok(!one->base.broken && !two->base.broken, "... and the connections live");
    must_close(one);
    must_close(two);
    batch_free(&batch);
    batch_free(&single);
}

/* ---- many ------------------------------------------------------------------ */

typedef struct {
    size_t count;
    wr_batch_part_t parts[64];
} parts_t;

/* Spreads the requests over connections to these addresses. */
static parts_t open_parts(batch_t *batch, const char *const *addresses, size_t count) {
    parts_t parts = {.count = count};
    for (size_t i = 0; i < count; i++) {
        size_t each = batch->count / count;
        parts.parts[i] = (wr_batch_part_t){&must_open(addresses[i])->base, NULL,
                                           batch->pointers + i * each, each};
    }
    return parts;
}

static void close_parts(parts_t *parts) {
    for (size_t i = 0; i < parts->count; i++) {
        wr_meta_close(parts->parts[i].connection);
    }
}

static void run_parts(parts_t *parts, uint32_t ms, const char *what) {
    wr_time_t begun = wr_now();
    wr_batch_poll(parts->parts, parts->count, wr_deadline_in_ms(ms));
    int64_t took = ms_since(begun);
    tap_ok(took <= (int64_t)ms + tap_slack_ms(), "%s: %d of %u ms", what, (int)took, ms);
}

static void test_servers(const fixture_t *fixture) {
    enum { PARTS = 40 };
    const char *addresses[PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        addresses[i] = fixture_address(fixture, i % 3);
    }
    batch_t batch = batch_create(PARTS * 10, 20000);
    for (size_t i = 0; i < batch.count; i++) {
        prepare(&batch, i, WR_SET, i);
    }
    parts_t parts = open_parts(&batch, addresses, PARTS);
    run_parts(&parts, WAIT_MS, "sets over 40 connections");
    tap_int((int64_t)count_status(&batch, WARMRING_OK), (int64_t)batch.count, "... all stored");
    for (size_t i = 0; i < batch.count; i++) {
        prepare(&batch, i, WR_GET, i);
    }
    run_parts(&parts, WAIT_MS, "gets over 40 connections");
    size_t whole = 0;
    for (size_t i = 0; i < batch.count; i++) {
        whole += is_whole(&batch, i, i);
    }
    tap_int((int64_t)whole, (int64_t)batch.count, "... all whole");

    close_parts(&parts);
    batch_free(&batch);
}

/* Bad servers among good ones: the good are not affected. */
static void test_bad_among_good(const fixture_t *fixture) {
    static const fake_step_t drip[] = {
        FAKE_DRIP("VALUE key-1000000-0 0 1000 7\r\n01234567890123456789", 100), FAKE_END};
    static const fake_step_t junk[] = {FAKE_AWAIT(), FAKE_SAY("<html>\r\n"), FAKE_END};
    static const fake_step_t closing[] = {FAKE_AWAIT(), FAKE_END};
    fake_server_t *fakes[4] = {fake_server_start_deaf(), fake_server_start(drip),
                               fake_server_start(junk), fake_server_start(closing)};
    const char *addresses[6] = {fixture_address(fixture, 0)};
    for (size_t i = 0; i < 4; i++) {
        addresses[1 + i] = fake_server_address(fakes[i]);
    }
    addresses[5] = fixture_address(fixture, 1);
    batch_t batch = batch_create(6 * 2, 1000);
    for (size_t i = 0; i < batch.count; i++) {
        prepare(&batch, i, i < 2 || i >= 10 ? WR_SET : WR_GET, i);
    }
    static const warmring_status_t expected[6] = {WARMRING_OK,
                                                  WARMRING_TIMEOUT,
                                                  WARMRING_TIMEOUT,
                                                  WARMRING_PROTOCOL_ERROR,
                                                  WARMRING_CONNECTION_LOST,
                                                  WARMRING_OK};
    parts_t parts = open_parts(&batch, addresses, 6);
    run_parts(&parts, SHORT_MS, "bad servers among good ones");
    for (size_t i = 0; i < batch.count; i++) {
        tap_status(batch.requests[i].status, expected[i / 2], "request %zu at %s", i,
                   addresses[i / 2]);
    }
    for (size_t i = 0; i < 6; i++) {
        bool good = expected[i] == WARMRING_OK;
        tap_int(parts.parts[i].connection->broken, !good, "... whether it is broken");
    }
    close_parts(&parts);
    for (size_t i = 0; i < 4; i++) {
        fake_server_free(fakes[i]);
    }
    batch_free(&batch);
}

static void *no_memory(size_t size) {
    (void)size;
    return NULL;
}

static void test_no_memory(const fixture_t *fixture) {
    const char *addresses[33];
    for (size_t i = 0; i < 33; i++) {
        addresses[i] = fixture_address(fixture, 0);
    }
    batch_t batch = batch_create(33, 10);
    for (size_t i = 0; i < batch.count; i++) {
        prepare(&batch, i, WR_SET, i);
    }
    parts_t parts = open_parts(&batch, addresses, 33);
    warmring_set_memory_functions(no_memory, realloc, free);
    run_parts(&parts, WAIT_MS, "no memory");
    warmring_set_memory_functions(NULL, NULL, NULL);
    tap_int((int64_t)count_status(&batch, WARMRING_OUT_OF_MEMORY), 33, "... all told");
    run_parts(&parts, WAIT_MS, "and memory again");
    tap_int((int64_t)count_status(&batch, WARMRING_OK), 33, "... all stored");
    close_parts(&parts);
    batch_free(&batch);
}

int main(void) {
    fixture_t *fixture = fixture_start(2, NULL);
    size_t local = fixture_add_unix(fixture);
    const char *addresses[2] = {fixture_address(fixture, 0), fixture_address(fixture, local)};
    for (unsigned seed = 1; seed <= 5; seed++) {
        fixture_t *empty = fixture_start(2, NULL);
        test_random(empty, seed);
        fixture_free(empty);
    }
    for (size_t i = 0; i < 2; i++) {
        wr_meta_connection_t *connection = must_open(addresses[i]);
        test_both_ways(connection);
        test_lists(connection);
        test_refused(connection);
        must_close(connection);
    }
    test_servers(fixture);
    test_bad_among_good(fixture);
    test_no_memory(fixture);
    fixture_free(fixture);
    return tap_done();
}
