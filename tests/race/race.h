/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The race: processes of several threads work on the same few keys of the same
 * servers while their topologies move through migrations and back, and
 * everything they did is judged afterwards.
 *
 * One round is one run of all processes. What they share is one block of
 * memory: the plan of steps that the parent writes, and the records that each
 * thread writes of its operations, with the times of call and return. The
 * monotonic clock is one for all processes of a host.
 *
 * Neighbouring phases meet because each process takes a step after a pause of
 * its own. None is ever two steps behind: the parent announces the next step
 * when every process has taken the last one and every operation begun before
 * that has ended. That is what the holds of a fleet amount to.
 */
#ifndef TESTS_RACE_RACE_H
#define TESTS_RACE_RACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/client.h>

#include "tests/lib/fixture.h"
#include "tests/lib/usage.h"

#ifndef RACE_PROCESSES
#define RACE_PROCESSES 4
#endif

enum {
    PROCESSES = RACE_PROCESSES,
    THREADS = 4,
    WORKERS = PROCESSES * THREADS,
    SERVERS = 4,
    RINGS = 3,
    STEPS_MAX = 8192,
    TEXT_SIZE = 256
};

/* ---- keys ---------------------------------------------------------------- */

/* What a key is used for; each class has a judge of its own. */
typedef enum {
    REGISTER, /* set, add, replace, delete; get, multi-get */
    QUIET,    /* the same, but seldom written: what ghosts come from */
    LEASE,    /* loaded under a lease from an origin, deleted when that changes */
    COUNTER,  /* increment */
    BALANCE,  /* increment and decrement */
    CHAIN,    /* cas, each value naming the one it replaced */
    LOG,      /* append of records that exist once */
    CLASSES
} class_t;

enum { KEYS_OF_CLASS = 4, KEYS = CLASSES * KEYS_OF_CLASS, KEY_SIZE = 32 };

static inline class_t class_of(unsigned key) {
    return (class_t)(key / KEYS_OF_CLASS);
}

/* Stores the name of a key of this round; returns its length. */
size_t race_key(uint32_t round, unsigned key, char name[KEY_SIZE]);

/* ---- records ------------------------------------------------------------- */

typedef enum { GET, SET, ADD, REPLACE, DELETE, CAS, COUNT_UP, COUNT_DOWN, APPEND, KINDS } kind_t;

/*
 * Values have numbers, different for each store: worker << 24 | its record.
 * A counter is created at such a number << 24 | COUNTER_BASE, so each result
 * tells from whose creation it was counted.
 */
#define NO_VALUE UINT64_MAX
#define COUNTER_BASE (1u << 20)

static inline uint64_t generation_of_count(uint64_t count) {
    return count >> 24;
}

/* One operation on one key. */
typedef struct {
    int64_t begin, end; /* of the call, in ns; end 0: has not returned */
    uint64_t value;     /* number written or read; result of a count; NO_VALUE
                           for what cannot be read as any */
    uint64_t before;    /* CAS: number of the value that was replaced; LOG, GET:
                           place of what was read in the worker's texts */
    uint16_t length;    /* of that text */
    uint8_t key, kind, status;
    bool for_cas; /* GET with WARMRING_FOR_CAS */
} record_t;

/* What a status says of a write. */
typedef enum { UNKNOWN, DONE, NOT_DONE } outcome_t;
outcome_t race_outcome(const record_t *record);

/* ---- what all processes share -------------------------------------------- */

typedef enum { TAKE_STEP, BEGIN_MIGRATION, SET_ROLLOUT, SWEEP } action_t;

typedef struct {
    uint8_t action;         /* action_t */
    uint32_t argument;      /* warmring_step_t, ring or basis points */
    warmring_phase_t phase; /* where it leads */
    int64_t announced, done;
    struct {
        int64_t begin, end;
    } taken[PROCESSES];
} plan_step_t;

typedef struct {
    uint32_t count;
    uint32_t texts; /* bytes used */
    record_t *records;
    char *text;
    _Atomic uint64_t activity; /* odd while an operation is under way */
} worker_log_t;

typedef enum { NO_WRONG, PLAIN_ADD, NEW_BEFORE_OLD } wrong_t;

/* What a round is like. */
typedef struct {
    const char *name;
    const char *transport[PROCESSES];
    bool evicts, restarts, stops;
    bool direct;   /* half of the commits skip HANDOVER; nothing counts or uses cas */
    wrong_t wrong; /* a client that breaks a rule works beside the others */
} shape_t;

typedef struct {
    uint32_t round;
    uint64_t seed;
    uint32_t deadline_ms;
    shape_t shape;
    char servers[RINGS][TEXT_SIZE]; /* the rings between which migrations go */
    uint32_t capacity, text_capacity;

    _Atomic uint32_t announced; /* steps in the plan so far */
    _Atomic uint32_t acknowledged[PROCESSES];
    _Atomic bool stop;
    plan_step_t plan[STEPS_MAX];

    _Atomic uint64_t origin[KEYS_OF_CLASS]; /* versions, for LEASE */
    worker_log_t worker[WORKERS + 1];       /* the last is the wrong client */
    warmring_counters_t counters[PROCESSES];

    _Atomic uint32_t rests;             /* odd: all workers rest */
    _Atomic uint32_t rested[PROCESSES]; /* which of those each process has come to */
    usage_t usage[PROCESSES];           /* then */
    long descriptors_before[PROCESSES]; /* the client */
    long blocks_left[PROCESSES];        /* when it was closed */
    char failure[PROCESSES][TEXT_SIZE];
} race_t;

race_t *race_create(uint32_t round, uint64_t seed, const shape_t *shape, const fixture_t *fixture,
                    double seconds);
/* Three rings of servers at these addresses, instead of the fixture's. */
void race_set_servers(race_t *race, const char *const at[SERVERS]);
void race_free(race_t *race);

/* ---- chance and time ------------------------------------------------------ */

typedef struct {
    uint64_t state;
} dice_t;
uint32_t roll(dice_t *dice, uint32_t sides);
int64_t race_now(void);
void race_sleep_us(uint32_t microseconds);

/* ---- parts ----------------------------------------------------------------- */

/* The number in a variable of the environment; TEST_SEED, or one from the clock. */
double race_setting(const char *name, double otherwise);
uint64_t race_seed(void);

/* Starts all processes; waits for them, or kills them unless `well`. True when
 * all is well and each ended so. */
void race_start_processes(race_t *race, const fixture_t *fixture, pid_t *children);
bool race_end_processes(const race_t *race, const pid_t *children, bool well);

/* Runs a process of the race to its end, in a child of the parent. */
_Noreturn void race_process(race_t *race, unsigned process, const fixture_t *fixture);

/* How many statuses there are. */
enum { STATUSES = WARMRING_TOPOLOGY_STALE + 1 };

/* One operation of a worker (work.c). */
typedef struct {
    race_t *race;
    worker_log_t *log;
    unsigned number; /* of the worker */
    warmring_t *client;
    warmring_results_t *results;
    const fixture_t *fixture;
    dice_t dice;
} worker_t;
void race_work(worker_t *worker);
/* SET, ADD or REPLACE of a new value. */
warmring_status_t race_store(worker_t *worker, unsigned key, kind_t kind);
/* The next record, begun now; NULL when there is no room. */
record_t *race_record(worker_t *worker, unsigned key, kind_t kind);
void race_return(record_t *record, warmring_status_t status);
uint64_t race_next_value(const worker_t *worker);
size_t race_value_text(const char *key, uint64_t value, char *text);
enum { VALUE_SIZE = 96 };

/* The client that breaks a rule (wrong.c). */
void race_work_wrongly(worker_t *worker);

/* The parent's side of a round: steps and faults. False: the round broke. */
typedef struct {
    unsigned steps, migrations, rollbacks, evictions, restarts, stops;
} driven_t;
bool race_drive(race_t *race, fixture_t *fixture, double seconds, const pid_t *children,
                driven_t *driven);

#endif
