/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as bytes, against lines written out by hand from memcached's
 * protocol description.
 */
#include "net/meta_encode.h"

#include <string.h>

#include "../lib/tap.h"

static const uint64_t seven = 7;

static const struct {
    wr_request_t request;
    const char *line;
} cases[] = {
    {{.verb = WR_GET}, "mg k v f c O5\r\n"},
    {{.verb = WR_GET, .wants_ttl = true}, "mg k v f c t O5\r\n"},
    {{.verb = WR_GET, .noreply = true}, "mg k v f c O5\r\n"},
    {{.verb = WR_SET, .value = {"abc", 3}}, "ms k 3 O5\r\n"},
    {{.verb = WR_SET, .flags = 4294967295u, .expiration = 60}, "ms k 0 F4294967295 T60 O5\r\n"},
    {{.verb = WR_SET, .noreply = true, .expiration = 2592001}, "ms k 0 T2592001 q\r\n"},
    {{.verb = WR_SET, .expiration = 4294967295u}, "ms k 0 T2147483647 O5\r\n"},
    {{.verb = WR_ADD, .value = {"abc", 3}, .flags = 1}, "ms k 3 ME F1 O5\r\n"},
    {{.verb = WR_REPLACE, .expiration = 9}, "ms k 0 MR T9 O5\r\n"},
    {{.verb = WR_APPEND, .value = {"x", 1}, .flags = 3, .expiration = 3}, "ms k 1 MA O5\r\n"},
    {{.verb = WR_PREPEND, .value = {"x", 1}}, "ms k 1 MP O5\r\n"},
    {{.verb = WR_CAS, .cas = 18446744073709551615u, .flags = 2, .expiration = 3},
     "ms k 0 F2 T3 C18446744073709551615 O5\r\n"},
    {{.verb = WR_DELETE}, "md k O5\r\n"},
    {{.verb = WR_DELETE, .noreply = true}, "md k q\r\n"},
    {{.verb = WR_UNLEASE, .cas = 12}, "md k C12 O5\r\n"},
    {{.verb = WR_LEASE, .flags = 1, .noreply = true}, "ms k 0 ME c T30 F77 O5\r\n"},
    {{.verb = WR_LEASE, .expiration = 9}, "ms k 0 ME c T9 F77 O5\r\n"},
    {{.verb = WR_APPEND, .cas = 7}, "ms k 0 MA C7 O5\r\n"},
    {{.verb = WR_SET, .cas = 7}, "ms k 0 O5\r\n"},
    {{.verb = WR_TOUCH}, "mg k T0 O5\r\n"},
    {{.verb = WR_TOUCH, .expiration = 50, .noreply = true}, "mg k T50 q\r\n"},
    {{.verb = WR_GET_AND_TOUCH, .expiration = 50}, "mg k v f c T50 O5\r\n"},
    {{.verb = WR_GET_AND_TOUCH, .wants_ttl = true}, "mg k v f c t T0 O5\r\n"},
    {{.verb = WR_INCREMENT, .delta = 1, .expiration = 60}, "ma k v D1 O5\r\n"},
    {{.verb = WR_INCREMENT, .delta = 3, .noreply = true}, "ma k D3 q\r\n"},
    {{.verb = WR_DECREMENT, .delta = 18446744073709551615u},
     "ma k M- v D18446744073709551615 O5\r\n"},
    {{.verb = WR_DECREMENT, .delta = 2, .initial = &seven, .expiration = 60},
     "ma k M- v D2 N60 J7 O5\r\n"},
    {{.verb = WR_FLUSH}, "flush_all\r\n"},
    {{.verb = WR_FLUSH, .noreply = true}, "flush_all noreply\r\n"},
};

static void test_lines(void) {
    static const wr_meta_stub_t stub = {77, 30};
    static const wr_meta_opaque_t five = {"5", 1};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[WR_META_HEAD_MAX];
        wr_request_t request = cases[i].request;
        request.key = (warmring_bytes_t){"k", 1};
        char *end = wr_meta_encode(out, &request, &five, &stub);
        tap_bytes(out, (size_t)(end - out), cases[i].line, strlen(cases[i].line), "%.*s",
                  (int)strcspn(cases[i].line, "\r"), cases[i].line);
    }
}

/* The longest line of each verb fits, whatever the numbers. */
static void test_room(void) {
    static const wr_meta_stub_t stub = {UINT32_MAX, UINT32_MAX};
    static const wr_meta_opaque_t last = {"999", 3};
    static const uint64_t most = UINT64_MAX;
    char key[WR_META_KEY_MAX];
    memset(key, 'k', sizeof key);
    size_t longest = 0;
    for (int verb = 0; verb < WR_VERBS; verb++) {
        char out[2 * WR_META_HEAD_MAX];
        wr_request_t request = {.verb = (wr_verb_t)verb,
                                .wants_ttl = true,
                                .key = {key, sizeof key},
                                .value = {NULL, SIZE_MAX},
                                .flags = UINT32_MAX,
                                .expiration = UINT32_MAX,
                                .cas = UINT64_MAX,
                                .delta = UINT64_MAX,
                                .initial = &most};
        char *end = wr_meta_encode(out, &request, &last, &stub);
        size_t length = (size_t)(end - out);
        longest = length > longest ? length : longest;
    }
    tap_ok(longest <= WR_META_HEAD_MAX, "the longest line has %zu bytes", longest);
}

static void test_opaques(void) {
    wr_meta_opaque_t opaque = WR_META_OPAQUE_FIRST;
    unsigned wrong = 0;
    for (unsigned i = 0; i < 2100; i++, wr_meta_next_opaque(&opaque)) {
        char text[8];
        int length = snprintf(text, sizeof text, "%u", i % 1000);
        wrong += !wr_meta_is_opaque(&opaque, (warmring_bytes_t){text, (size_t)length});
        wrong += wr_meta_is_opaque(&opaque, (warmring_bytes_t){text, (size_t)length - 1});
        length = snprintf(text, sizeof text, "%u", (i + 1) % 1000);
        wrong += wr_meta_is_opaque(&opaque, (warmring_bytes_t){text, (size_t)length});
    }
    tap_int(wrong, 0, "opaque numbers count from 0 to 999, and again");
}

static void test_refusals(void) {
    static char key[WR_META_KEY_MAX + 1];
    wr_request_t request = {.verb = WR_GET, .key = {key, 250}};
    tap_status(wr_meta_refusal(&request), WARMRING_OK, "a key of 250 bytes");
    request.key.length = 251;
    tap_status(wr_meta_refusal(&request), WARMRING_BAD_KEY, "a key of 251 bytes");
    request.key.length = 0;
    tap_status(wr_meta_refusal(&request), WARMRING_BAD_KEY, "an empty key");
    request.verb = WR_FLUSH;
    tap_status(wr_meta_refusal(&request), WARMRING_OK, "no key to flush");
    request.key.length = 1;
    request.verb = WR_UNLEASE;
    tap_status(wr_meta_refusal(&request), WARMRING_BAD_ARGUMENT, "md C0 would delete anything");
    request.verb = WR_CAS;
    tap_status(wr_meta_refusal(&request), WARMRING_BAD_ARGUMENT, "ms C0 is not bound");
}

static void test_lists(void) {
    static char key[WR_META_KEY_MAX];
    memset(key, 'k', sizeof key);
    wr_request_t plain = {.verb = WR_GET, .key = {"ab", 2}};
    wr_request_t with_ttl = {.verb = WR_GET, .wants_ttl = true, .key = {"ab", 2}};
    wr_request_t *mixed[] = {&plain, &plain, &with_ttl, &plain};
    tap_ok(wr_meta_joins(mixed, 4), "two plain reads are joined");
    tap_ok(!wr_meta_joins(mixed + 1, 3), "not one with TTL");
    tap_ok(!wr_meta_joins(mixed + 2, 2), "which begins no list");
    tap_ok(!wr_meta_joins(mixed, 1), "nor does one alone");

    char out[WR_META_GETS_MAX];
    char *end = out;
    tap_int((int64_t)wr_meta_encode_gets(&end, mixed, 4), 2, "a list ends before a read with TTL");
    tap_bytes(out, (size_t)(end - out), "gets ab ab\r\n", 12, "gets of two keys");

    wr_request_t large = {.verb = WR_GET, .key = {key, sizeof key}};
    wr_request_t *many[64];
    for (size_t i = 0; i < 64; i++) {
        many[i] = &large;
    }
    end = out;
    size_t length = wr_meta_encode_gets(&end, many, 64);
    tap_int((int64_t)length, (WR_META_GETS_MAX - 6) / 251, "long keys cut a list");
    tap_int(end - out, 6 + (int64_t)length * 251, "so that it fits");
}

int main(void) {
    test_lines();
    test_room();
    test_opaques();
    test_refusals();
    test_lists();
    return tap_done();
}
