/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the making of rings: any dialect and options, any servers, few points.
 *
 * A ring that is made owns every key, by a server that has a weight; its shares
 * add up to 1; its ways of asking agree; where the order of the list is said to
 * change nothing, a turned list changes nothing; on v2 a weight moves only keys
 * of its server. One that is not made is NULL, and says why.
 *
 * An input: seven bytes of options, then a record for each server (read_server).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <warmring/plan.h>
#include <warmring/ring.h>

#include "pure_fuzz.h"

enum { MOST_SERVERS = 24, TEXT = 280, KEYS = 32 };

typedef struct {
    warmring_ring_options_t options;
    warmring_server_t servers[MOST_SERVERS];
    size_t count;
    char names[MOST_SERVERS][TEXT];
    char hosts[MOST_SERVERS][TEXT];
    char dialect[8], hash[8], tag[4];
} case_t;

/* ---- from bytes to a list -------------------------------------------------- */

static const char *read_text(tape_t *tape, char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)tape_byte(tape);
    }
    text[length] = '\0';
    return text;
}

static double read_weight(tape_t *tape) {
    static const double odd[] = {0.0,         -1.0,         0.5,    1e-9,
                                 1e9,         1e308,        1e-308, (double)INFINITY,
                                 (double)NAN, 4294967296.0, 2.5,    -0.0};
    uint8_t choice = tape_byte(tape);
    size_t last = sizeof odd / sizeof odd[0];
    return choice < 200 ? choice % 20 : odd[choice % last];
}

static void write_host(char *text, unsigned form, size_t index) {
    if ((form & 3) == 1) {
        snprintf(text, TEXT, "10.0.%u.%zu", form >> 6, index);
    } else if ((form & 3) == 2) {
        snprintf(text, TEXT, "fd00:%x::%zx", form >> 6, index);
    } else {
        snprintf(text, TEXT, "/run/%u/%zu.sock", form >> 6, index);
    }
}

/* Three of four servers have usual addresses, some of them twice. */
static void read_server(tape_t *tape, case_t *made) {
    size_t index = made->count++;
    warmring_server_t *server = &made->servers[index];
    uint8_t form = tape_byte(tape);
    *server = (warmring_server_t){.size = sizeof *server, .weight = read_weight(tape)};
    server->port = (uint16_t)(form & 8 ? tape_byte(tape) << 8 | 0x1f : 0);
    server->host = made->hosts[index];
    if ((form & 3) == 0) {
        size_t length = tape_byte(tape);
        server->host = read_text(tape, made->hosts[index], length);
    } else {
        write_host(made->hosts[index], form, index);
    }
    if (form & 4) {
        size_t length = tape_pick(tape, TEXT - 1) % (form & 16 ? TEXT - 1 : 5);
        server->name = read_text(tape, made->names[index], length);
    }
}

static const char *read_hash(tape_t *tape, char *text) {
    static const char *const hashes[] = {
        NULL,     NULL,      NULL,       "md5",           "crc32",    "crc32a",
        "crc16",  "fnv1_64", "fnv1a_64", "fnv1_32",       "fnv1a_32", "hsieh",
        "murmur", "murmur3", "jenkins",  "one_at_a_time", ""};
    size_t choice = tape_pick(tape, sizeof hashes / sizeof hashes[0]);
    return hashes[choice] != NULL && hashes[choice][0] == '\0' ? read_text(tape, text, 3)
                                                               : hashes[choice];
}

static void read_options(tape_t *tape, case_t *made) {
    static const double densities[] = {0, 1, 0.1, 7.3, 20, 100, 1e-9, -1, 1e12, (double)NAN};
    size_t dialects = 0;
    while (warmring_dialect_name(dialects) != NULL) {
        dialects++;
    }
    size_t dialect = tape_pick(tape, 2 * dialects + 1);
    made->options.size = sizeof made->options;
    made->options.dialect = dialect < 2 * dialects ? warmring_dialect_name(dialect % dialects)
                                                   : read_text(tape, made->dialect, 4);
    made->options.points_per_weight =
        densities[tape_pick(tape, sizeof densities / sizeof densities[0])];
    made->options.max_points = 1 + 16u * tape_byte(tape) + tape_byte(tape) % 16u;
    made->options.hash = read_hash(tape, made->hash);
    made->options.hash_tag = tape_byte(tape) < 224 ? NULL : read_text(tape, made->tag, 2);
}

static void read_case(tape_t *tape, case_t *made) {
    memset(made, 0, sizeof *made);
    read_options(tape, made);
    while (made->count < MOST_SERVERS && tape->at < tape->end) {
        read_server(tape, made);
    }
}

/* ---- what must hold --------------------------------------------------------- */

static const char *key_of(char *text, size_t index) {
    snprintf(text, 24, index % 5 == 0 ? "a{k%zu}" : "key:%zu", index * 2654435761u);
    return text;
}

static uint32_t owner_of(const warmring_ring_t *ring, size_t key) {
    char text[24];
    key_of(text, key);
    return warmring_ring_locate(ring, text, strlen(text));
}

static void check_shares(const warmring_ring_t *ring, const case_t *made) {
    double sum = 0;
    uint64_t asked = 0;
    for (uint32_t i = 0; i < made->count; i++) {
        double share = warmring_ring_share(ring, i);
        must(share >= 0 && share <= 1);
        must(made->servers[i].weight > 0 || share <= 0);
        must(made->servers[i].weight > 0 || warmring_ring_server_points(ring, i) == 0);
        asked += warmring_ring_server_points(ring, i);
        sum += share;
    }
    must(fabs(sum - 1) < 1e-9 && warmring_ring_share(ring, (uint32_t)made->count) <= 0);
    must(warmring_ring_points(ring) <= asked && asked <= made->options.max_points);
    must(warmring_ring_servers(ring) == made->count);
    must(warmring_ring_bytes(ring) >= warmring_ring_points_bytes(ring));
}

static void check_walk(const warmring_ring_t *ring, const case_t *made, size_t key) {
    uint32_t owners[MOST_SERVERS + 1];
    uint8_t met[MOST_SERVERS] = {0};
    char text[24];
    key_of(text, key);
    size_t count = warmring_ring_walk(ring, text, strlen(text), owners, MOST_SERVERS + 1);
    must(count >= 1 && count <= made->count && owners[0] == owner_of(ring, key));
    for (size_t i = 0; i < count; i++) {
        must(owners[i] < made->count && made->servers[owners[i]].weight > 0 && !met[owners[i]]);
        met[owners[i]] = 1;
    }
}

static void check_owners(const warmring_ring_t *ring, const case_t *made) {
    char texts[KEYS][24];
    warmring_bytes_t keys[KEYS];
    uint32_t owners[KEYS];
    for (size_t i = 0; i < KEYS; i++) {
        keys[i].data = key_of(texts[i], i);
        keys[i].length = strlen(texts[i]);
    }
    warmring_ring_locate_many(ring, keys, KEYS, owners);
    for (size_t i = 0; i < KEYS; i++) {
        must(owners[i] < made->count && made->servers[owners[i]].weight > 0);
        must(owners[i] == owner_of(ring, i) && warmring_ring_share(ring, owners[i]) > 0);
    }
    must(warmring_ring_locate(ring, "", 0) < made->count);
    check_walk(ring, made, 3);
    check_walk(ring, made, 5);
}

static warmring_ring_t *make(const case_t *made) {
    warmring_ring_t *ring;
    must(warmring_ring_create(made->servers, made->count, &made->options, &ring) == WARMRING_OK);
    return ring;
}

static int order_counts(const warmring_ring_t *ring) {
    const char *dialect = warmring_ring_dialect(ring);
    return strcmp(dialect, "modula") == 0 || strncmp(dialect, "libmemcached", 12) == 0 ||
           strcmp(dialect, "twemproxy") == 0;
}

static void check_turned(const warmring_ring_t *ring, case_t *made) {
    for (size_t i = 0, j = made->count - 1; i < j; i++, j--) {
        warmring_server_t other = made->servers[i];
        made->servers[i] = made->servers[j];
        made->servers[j] = other;
    }
    warmring_ring_t *turned = make(made);
    must(warmring_ring_points(turned) == warmring_ring_points(ring));
    for (size_t i = 0; i < KEYS && !order_counts(ring); i++) {
        must(owner_of(turned, i) == made->count - 1 - owner_of(ring, i));
    }
    warmring_ring_free(turned);
}

/* One weight is made smaller: nobody but its server loses a key. */
static void check_weight(case_t *made) {
    warmring_ring_t *before = make(made);
    uint32_t changed = owner_of(before, 1);
    made->servers[changed].weight /= 3;
    warmring_ring_t *after = make(made);
    double moved;
    must(warmring_plan_moved(before, after, &moved) == WARMRING_OK && moved >= 0 && moved <= 1);
    for (size_t i = 0; i < KEYS; i++) {
        uint32_t owner = owner_of(after, i);
        must(owner == owner_of(before, i) || owner_of(before, i) == changed);
    }
    must(moved <= warmring_ring_share(before, changed) + 1e-9);
    warmring_ring_free(before);
    warmring_ring_free(after);
}

int ring_fuzz(const uint8_t *bytes, size_t length) {
    tape_t tape = {bytes, bytes + length};
    case_t made;
    warmring_ring_t *ring = (void *)&made;
    read_case(&tape, &made);
    warmring_status_t status = warmring_ring_create(made.servers, made.count, &made.options, &ring);
    if (status != WARMRING_OK) {
        must(status == WARMRING_BAD_SERVER || status == WARMRING_BAD_OPTION ||
             status == WARMRING_LIMIT_EXCEEDED);
        must(ring == NULL && warmring_error_detail()[0] != '\0');
        return 0;
    }
    check_shares(ring, &made);
    check_owners(ring, &made);
    check_turned(ring, &made);
    if (strcmp(warmring_ring_dialect(ring), "v2") == 0) {
        check_weight(&made);
    }
    warmring_ring_free(ring);
    return 0;
}
