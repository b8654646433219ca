/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring beside what it replaced: points of six bytes, found by halving,
 * sorted by qsort(), with zlib's CRC-32.
 *
 *   ring [POINTS...]         480 16000 400000 20000000 unless told
 *
 * Prints tab-separated values: size, metric, ours, baseline, ratio; a ratio
 * above 1 is in our favour. Times are of this thread's processor, in short
 * rounds that take turns, since machines are noisy: the figures are medians,
 * the ratio is the median of the rounds' ratios. Each round has keys of its
 * own, so that no branch and no point of a large ring is known from the last;
 * they are read once before, as a program has just made the key it asks for.
 *
 *   build_ms             of the whole ring
 *   bytes_per_point      all arrays of the points
 *   locate_ns            one key of 21 bytes, hashed and found, beside halving
 *                        with a branch at each step
 *   locate_straight_ns   the same beside halving without branches
 *   locate_many_ns       beside our own single calls
 *   cv_over_theory       how unequal the shares of equal servers are, beside
 *                        sqrt((servers - 1) / (servers x points each + 1))
 *   crc32_21_ns, ...     CRC-32 of so many bytes, candidates beside zlib
 */
#include <libdeflate.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <warmring/ring.h>
#include <zlib.h>

#ifdef HAVE_ISAL
#include <isa-l.h>
#endif

#define ROUNDS 31
#define KEY_LENGTH 21
#define KEYS 1000000u  /* so that none comes again soon */
#define LOOKUPS 20000u /* in a round */
#define BATCH 1000u
#define MAX_SERVERS 2048u

static char keys[KEYS * KEY_LENGTH + 16];
static volatile uint32_t sink; /* so that nothing is optimised away */

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

_Noreturn static void give_up(const char *what) {
    fprintf(stderr, "ring: %s\n", what);
    exit(1);
}

/* ---- the baseline ---- */

typedef struct __attribute__((packed)) {
    uint32_t hash;
    uint16_t server;
} six_bytes_t;

_Static_assert(sizeof(six_bytes_t) == 6, "six bytes a point");

typedef struct {
    six_bytes_t *points;
    size_t count;
} baseline_t;

static int by_hash(const void *left, const void *right) {
    const six_bytes_t *a = left, *b = right;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

static uint32_t zlib_crc32(uint32_t crc, const void *bytes, size_t length) {
    return (uint32_t)crc32(crc, bytes, (unsigned)length);
}

/* The chain of points of one server, as pingora and nginx make it. */
static void baseline_chain(six_bytes_t *points, size_t count, const warmring_server_t *server,
                           uint16_t index) {
    char identity[300];
    int length = snprintf(identity, sizeof(identity), "%s%c%u", server->host, 0, server->port);
    uint32_t base = zlib_crc32(0, identity, (size_t)length), hash = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned char link[4] = {(unsigned char)hash, (unsigned char)(hash >> 8),
                                 (unsigned char)(hash >> 16), (unsigned char)(hash >> 24)};
        hash = zlib_crc32(base, link, sizeof(link));
        points[i] = (six_bytes_t){hash, index};
    }
}

static baseline_t baseline_build(const warmring_server_t *servers, size_t count, size_t each) {
    baseline_t ring = {malloc(count * each * sizeof(*ring.points)), 1};
    if (ring.points == NULL)
        give_up("no memory");
    for (size_t i = 0; i < count; i++)
        baseline_chain(ring.points + i * each, each, &servers[i], (uint16_t)i);
    qsort(ring.points, count * each, sizeof(*ring.points), by_hash);
    for (size_t i = 1; i < count * each; i++)
        if (ring.points[i].hash != ring.points[ring.count - 1].hash)
            ring.points[ring.count++] = ring.points[i];
    return ring;
}

/* Halving as one writes it, with a branch at each step that the processor has
 * to guess: slow on small rings, but its guesses fetch ahead on large ones. */
static uint32_t baseline_locate(const baseline_t *ring, const char *key) {
    uint32_t hash = zlib_crc32(0, key, KEY_LENGTH);
    size_t low = 0, high = ring->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ring->points[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return ring->points[low < ring->count ? low : 0].server;
}

/* Halving by conditional moves: fast on small rings, and each step waits for
 * memory on large ones. */
static uint32_t baseline_locate_straight(const baseline_t *ring, const char *key) {
    uint32_t hash = zlib_crc32(0, key, KEY_LENGTH);
    size_t at = 0;
    for (size_t left = ring->count; left > 1; left -= left / 2)
        at += ring->points[at + left / 2 - 1].hash < hash ? left / 2 : 0;
    at += ring->points[at].hash < hash;
    return ring->points[at < ring->count ? at : 0].server;
}

/* ---- rounds ---- */

typedef struct {
    const warmring_server_t *servers;
    size_t count, each;
    warmring_ring_t *ring;
    baseline_t baseline;
    size_t next_key;
    uint32_t (*crc)(uint32_t crc, const void *bytes, size_t length);
    size_t crc_length;
} subject_t;

/* Does `count` operations. */
typedef void (*work_t)(subject_t *subject, size_t count);

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof(*values), by_value);
    return values[count / 2];
}

/* Reads the keys of the next round. */
static void prepare(const subject_t *subject, size_t count) {
    uint32_t sum = 0;
    for (size_t i = 0, key = subject->next_key; i < count; i++) {
        key = key + 1 < KEYS ? key + 1 : 0;
        sum += (unsigned char)keys[key * KEY_LENGTH];
    }
    sink += sum;
}

static double seconds_for(work_t work, subject_t *subject, size_t count) {
    prepare(subject, count);
    double start = cpu_seconds();
    work(subject, count);
    return (cpu_seconds() - start) / (double)count;
}

static void report(size_t size, const char *metric, double ours, double theirs, double ratio) {
    printf("%zu\t%s\t%.5g\t%.5g\t%.2f\n", size, metric, ours, theirs, ratio);
    fflush(stdout);
}

/* One metric: `ours` beside `theirs`, `count` operations a round. */
static void compare(const char *metric, size_t size, double unit, int rounds, size_t count,
                    work_t ours, subject_t *our_subject, work_t theirs, subject_t *their_subject) {
    double a[ROUNDS], b[ROUNDS], ratios[ROUNDS];
    ours(our_subject, count / 8 + 1); /* to warm up */
    theirs(their_subject, count / 8 + 1);
    for (int i = 0; i < rounds; i++) {
        a[i] = seconds_for(ours, our_subject, count) / unit;
        b[i] = seconds_for(theirs, their_subject, count) / unit;
        ratios[i] = b[i] / a[i];
    }
    report(size, metric, median(a, rounds), median(b, rounds), median(ratios, rounds));
}

static const char *key_at(subject_t *subject) {
    subject->next_key = subject->next_key + 1 < KEYS ? subject->next_key + 1 : 0;
    return keys + subject->next_key * KEY_LENGTH;
}

static void locate(subject_t *subject, size_t count) {
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += warmring_ring_locate(subject->ring, key_at(subject), KEY_LENGTH);
    sink += sum;
}

static void locate_many(subject_t *subject, size_t count) {
    static warmring_bytes_t batch[BATCH];
    static uint32_t owners[BATCH];
    for (size_t done = 0; done < count; done += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            batch[i] = (warmring_bytes_t){key_at(subject), KEY_LENGTH};
        warmring_ring_locate_many(subject->ring, batch, BATCH, owners);
        sink += owners[0];
    }
}

static void locate_baseline(subject_t *subject, size_t count) {
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += baseline_locate(&subject->baseline, key_at(subject));
    sink += sum;
}

static void locate_straight(subject_t *subject, size_t count) {
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += baseline_locate_straight(&subject->baseline, key_at(subject));
    sink += sum;
}

static void build_ours(subject_t *subject, size_t count) {
    warmring_ring_options_t options = {.size = sizeof(options),
                                       .points_per_weight = (double)subject->each,
                                       .max_points = UINT32_MAX};
    for (size_t i = 0; i < count; i++) {
        warmring_ring_free(subject->ring);
        if (warmring_ring_create(subject->servers, subject->count, &options, &subject->ring) !=
            WARMRING_OK)
            give_up(warmring_error_detail());
    }
}

static void build_baseline(subject_t *subject, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(subject->baseline.points);
        subject->baseline = baseline_build(subject->servers, subject->count, subject->each);
    }
}

/* ---- CRC-32 ---- */

static void crc_of_keys(subject_t *subject, size_t count) {
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += subject->crc(0, keys + i % 4096 * KEY_LENGTH, subject->crc_length);
    sink += sum;
}

static uint32_t deflate_crc32(uint32_t crc, const void *bytes, size_t length) {
    return libdeflate_crc32(crc, bytes, length);
}

#ifdef HAVE_ISAL
static uint32_t isal_crc32(uint32_t crc, const void *bytes, size_t length) {
    return crc32_gzip_refl(crc, bytes, length);
}
#endif

static void compare_crc(const char *library,
                        uint32_t (*crc)(uint32_t crc, const void *bytes, size_t length)) {
    static const size_t lengths[] = {4, 21, 64, 250};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        char metric[64];
        subject_t ours = {.crc = crc, .crc_length = lengths[i]};
        subject_t theirs = {.crc = zlib_crc32, .crc_length = lengths[i]};
        snprintf(metric, sizeof(metric), "crc32_%zu_ns_%s", lengths[i], library);
        compare(metric, 0, 1e-9, ROUNDS, 20000, crc_of_keys, &ours, crc_of_keys, &theirs);
    }
}

/* ---- sizes ---- */

static void make_keys(void) {
    uint64_t state = 1;
    for (size_t i = 0; i < KEYS; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        snprintf(keys + i * KEY_LENGTH, KEY_LENGTH + 1, "user:%016llx", (unsigned long long)state);
    }
}

/* 160 points a server on small rings, as people have them; never more than
 * MAX_SERVERS. */
static size_t servers_for(size_t points) {
    size_t count = points / 160 > 0 ? points / 160 : 1;
    return count < MAX_SERVERS ? count : MAX_SERVERS;
}

static const warmring_server_t *server_list(void) {
    static warmring_server_t servers[MAX_SERVERS];
    static char hosts[MAX_SERVERS][16];
    for (unsigned i = 0; i < MAX_SERVERS; i++) {
        snprintf(hosts[i], sizeof(hosts[i]), "10.%u.%u.%u", i / 250, i % 250, 7 * i % 251);
        servers[i] = (warmring_server_t){
            .size = sizeof(servers[i]), .host = hosts[i], .port = 11211, .weight = 1};
    }
    return servers;
}

static double measured_cv(const subject_t *subject) {
    double sum = 0, mean = 1 / (double)subject->count;
    for (size_t i = 0; i < subject->count; i++) {
        double off = warmring_ring_share(subject->ring, (uint32_t)i) - mean;
        sum += off * off;
    }
    return sqrt(sum / (double)subject->count) / mean;
}

static void report_cv(const subject_t *subject, size_t size) {
    double servers = (double)subject->count, each = (double)subject->each;
    double theory = sqrt((servers - 1) / (servers * each + 1)), cv = measured_cv(subject);
    report(size, "cv_over_theory", cv, theory, theory / cv);
}

static void compare_size(size_t points) {
    size_t count = servers_for(points);
    subject_t subject = {.servers = server_list(), .count = count, .each = points / count};
    bool large = points > 1000000;
    compare("build_ms", points, 1e-3, large ? 3 : ROUNDS, large ? 1 : 1 + 200000 / points,
            build_ours, &subject, build_baseline, &subject);
    double ours = (double)warmring_ring_points_bytes(subject.ring);
    double theirs = (double)(subject.baseline.count * sizeof(six_bytes_t));
    double stored = (double)warmring_ring_points(subject.ring);
    report(points, "bytes_per_point", ours / stored, theirs / stored, theirs / ours);
    compare("locate_ns", points, 1e-9, ROUNDS, LOOKUPS, locate, &subject, locate_baseline,
            &subject);
    compare("locate_straight_ns", points, 1e-9, ROUNDS, LOOKUPS, locate, &subject, locate_straight,
            &subject);
    compare("locate_many_ns", points, 1e-9, ROUNDS, LOOKUPS, locate_many, &subject, locate,
            &subject);
    report_cv(&subject, points);
    warmring_ring_free(subject.ring);
    free(subject.baseline.points);
}

int main(int argc, char **argv) {
    static const size_t usual[] = {480, 16000, 400000, 20000000};
    make_keys();
    printf("size\tmetric\tours\tbaseline\tratio\n");
    compare_crc("libdeflate", deflate_crc32);
#ifdef HAVE_ISAL
    compare_crc("isal", isal_crc32);
#endif
    for (int i = 1; i < argc; i++)
        compare_size(strtoul(argv[i], NULL, 10));
    for (size_t i = 0; argc < 2 && i < sizeof(usual) / sizeof(usual[0]); i++)
        compare_size(usual[i]);
    return 0;
}
