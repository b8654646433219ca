/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block of memory that the processes of a round share; chance and time.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/lib/tap.h"
#include "tests/race/race.h"

/* Room for a busy worker; what it does not need is never touched. */
enum { RECORDS_PER_SECOND = 12000, TEXT_PER_SECOND = 1 << 19 };

static void *share(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        tap_bail("no memory for %zu bytes", bytes);
    }
    return memory;
}

/* Three rings that share servers, with most keys moving between any two. */
void race_set_servers(race_t *race, const char *const at[SERVERS]) {
    snprintf(race->servers[0], TEXT_SIZE, "%s:1,%s:1,%s:2", at[0], at[1], at[2]);
    snprintf(race->servers[1], TEXT_SIZE, "%s:2,%s:1,%s:1", at[1], at[2], at[3]);
    snprintf(race->servers[2], TEXT_SIZE, "%s:1,%s:1.5", at[0], at[3]);
}

race_t *race_create(uint32_t round, uint64_t seed, const shape_t *shape, const fixture_t *fixture,
                    double seconds) {
    race_t *race = share(sizeof *race);
    race->round = round;
    race->seed = seed;
    race->shape = *shape;
    race->deadline_ms = shape->stops || shape->restarts ? 150 : 5000;
    race->capacity = (uint32_t)((seconds + 1) * RECORDS_PER_SECOND);
    race->text_capacity = (uint32_t)((seconds + 1) * TEXT_PER_SECOND);
    for (unsigned i = 0; i <= WORKERS; i++) {
        race->worker[i].records = share(race->capacity * sizeof(record_t));
        race->worker[i].text = share(race->text_capacity);
    }
    for (unsigned i = 0; i < KEYS_OF_CLASS; i++) {
        atomic_store(&race->origin[i], 1);
    }
    const char *at[SERVERS];
    for (size_t i = 0; i < SERVERS; i++) {
        at[i] = fixture_address(fixture, i);
    }
    race_set_servers(race, at);
    return race;
}

void race_free(race_t *race) {
    for (unsigned i = 0; i <= WORKERS; i++) {
        munmap(race->worker[i].records, race->capacity * sizeof(record_t));
        munmap(race->worker[i].text, race->text_capacity);
    }
    munmap(race, sizeof *race);
}

size_t race_key(uint32_t round, unsigned key, char name[KEY_SIZE]) {
    static const char letters[CLASSES] = {
        [REGISTER] = 'r', [QUIET] = 'q', [LEASE] = 'l', [COUNTER] = 'c',
        [BALANCE] = 'b',  [CHAIN] = 'k', [LOG] = 'a'};
    return (size_t)snprintf(name, KEY_SIZE, "race:%u:%c%u", round, letters[class_of(key)],
                            key % KEYS_OF_CLASS);
}

/* What the statuses promise of a write, see status.h: those that are not here
 * promise nothing. */
outcome_t race_outcome(const record_t *record) {
    static const uint8_t outcomes[STATUSES] = {
        [WARMRING_OK] = DONE,
        [WARMRING_NOT_FOUND] = NOT_DONE,
        [WARMRING_NOT_STORED] = NOT_DONE,
        [WARMRING_EXISTS] = NOT_DONE,
        [WARMRING_SERVER_DOWN] = NOT_DONE,
        [WARMRING_CONNECT_FAILED] = NOT_DONE,
        [WARMRING_RESOLVE_FAILED] = NOT_DONE,
        [WARMRING_TRY_AGAIN] = NOT_DONE,
        [WARMRING_NOT_SUPPORTED] = NOT_DONE,
        [WARMRING_TOPOLOGY_STALE] = NOT_DONE,
    };
    if (record->end == 0) {
        return UNKNOWN;
    }
    if (record->kind == DELETE && record->status == WARMRING_NOT_FOUND) {
        return DONE;
    }
    return (outcome_t)outcomes[record->status];
}

/* splitmix64 */
uint32_t roll(dice_t *dice, uint32_t sides) {
    uint64_t x = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((x ^ x >> 31) % sides);
}

int64_t race_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void race_sleep_us(uint32_t microseconds) {
    struct timespec pause = {(time_t)(microseconds / 1000000),
                             (long)(microseconds % 1000000) * 1000};
    nanosleep(&pause, NULL);
}
