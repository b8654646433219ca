/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of traffic judged: what it must call stale or unwritten is put
 * into the cache behind its back.
 */
#include <string.h>

#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"

enum { KEYS = 256, SPOILT = 7 };

static traffic_counts_t sweep(traffic_t *traffic) {
    traffic_counts_t before = traffic_counts(traffic);
    traffic_sweep(traffic);
    traffic_counts_t after = traffic_counts(traffic);
    return traffic_difference(&after, &before);
}

/* Takes the value of one key and stores it again later. */
static void test_stale(warmring_t *client, traffic_t *traffic) {
    char key[TRAFFIC_KEY_SIZE];
    size_t length = traffic_key(SPOILT, key);
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_get(client, key, length, &item, NULL), WARMRING_OK, "%s has a first value",
               key);
    traffic_start(traffic);
    traffic_wait(traffic, 3000);
    traffic_stop(traffic);
    traffic_counts_t counts = sweep(traffic);
    tap_int((int64_t)(counts.stale + counts.unwritten), 0, "nothing is wrong with a cache alone");
    tap_status(
        warmring_set(client, key, length, item.value.data, item.value.length, 0, item.flags, NULL),
        WARMRING_OK, "an old value is put back");
    counts = sweep(traffic);
    tap_int((int64_t)counts.stale, 1, "it is found to be stale");
    tap_int((int64_t)counts.unwritten, 0, "but once written");
    warmring_item_clear(&item);
}

static void test_unwritten(warmring_t *client, traffic_t *traffic) {
    char key[TRAFFIC_KEY_SIZE], other[TRAFFIC_KEY_SIZE];
    size_t length = traffic_key(SPOILT, key), other_length = traffic_key(SPOILT + 1, other);
    traffic_fill(traffic);
    tap_int((int64_t)sweep(traffic).hits, KEYS, "every key is stored anew");

    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_get(client, other, other_length, &item, NULL), WARMRING_OK, "another key");
    tap_status(
        warmring_set(client, key, length, item.value.data, item.value.length, 0, item.flags, NULL),
        WARMRING_OK, "its value is put in the place of ours");
    tap_int((int64_t)sweep(traffic).unwritten, 1, "another key's value is none of ours");

    traffic_fill(traffic);
    tap_status(warmring_set(client, other, other_length, item.value.data, item.value.length, 0,
                            item.flags + 1, NULL),
               WARMRING_OK, "other flags");
    tap_int((int64_t)sweep(traffic).unwritten, 1, "flags belong to a value");

    traffic_fill(traffic);
    tap_status(
        warmring_append(client, other, other_length, item.value.data, item.value.length, NULL),
        WARMRING_OK, "a value twice as long");
    tap_int((int64_t)sweep(traffic).unwritten, 1, "a torn value is none");
    warmring_item_clear(&item);
}

int main(void) {
    const traffic_options_t shape = {
        .threads = 4, .keys = KEYS, .sets = 15, .deletes = 5, .multi = 20, .seed = 4};
    fixture_t *fixture = fixture_start(2, NULL);
    warmring_t *client = steps_open(fixture_servers(fixture), NULL);
    traffic_t *traffic = traffic_create(client, &shape);
    traffic_fill(traffic);
    test_stale(client, traffic);
    test_unwritten(client, traffic);
    traffic_free(traffic);
    warmring_close(client);
    fixture_free(fixture);
    return tap_done();
}
