/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad topology files: each is a good one with a piece replaced, and each error
 * has the file's name, the line and the path of what is wrong, and the piece.
 */
#include <stdlib.h>

#include "file_support.h"

typedef struct {
    const char *text; /* the good one */
    const char *piece, *by;
    int line;
    const char *path; /* "": of the whole file, or a text that is no JSON */
    const char *said;
} row_t;

#define STABLE stable_text
#define WARM warming_text

static const row_t rows[] = {
    /* no JSON */
    {STABLE, "\"epoch\"", "epoch", 4, "", "expected near 'epoch'"},
    {STABLE, "\"steps\": 12,", "\"steps\": 12", 6, "", "expected near '\"phase\"'"},
    {STABLE, "12,", "012,", 5, "", "invalid token near '0'"},
    {STABLE, "}\n}\n", "}\n", 23, "", "near end of file"},
    {STABLE, "}\n}\n", "}\n}\nx", 24, "", "end of file expected near 'x'"},
    {STABLE, "\"epoch\"", "\"steps\"", 5, "", "duplicate object key near '\"steps\"'"},
    {STABLE, "9007199254740993", "9223372036854775808", 4, "", "too big integer"},
    {STABLE, "12.5", "1e999", 13, "", "real number overflow near '1e999'"},
    {STABLE, "cache.example", "cache\\u0000example", 18, "", "\\u0000 is not allowed"},
    {STABLE, "cache.example", "cache\xff", 18, "", "unable to decode byte 0xff"},
    {STABLE, "{\n", "\xef\xbb\xbf{\n", 1, "", "expected near"},
    {STABLE, "5000", "nan", 9, "", "invalid token near 'nan'"},
    {STABLE, "\"weight\": 4}", "\"weight\": 4, \"weight\": 5}", 17, "", "duplicate object key"},
    /* the head */
    {STABLE, "\"epoch\"", "\"epok\"", 4, "epok", "unknown key"},
    {STABLE, "  \"lag_s\": 5,\n", "", 1, "", "\"lag_s\" is missing"},
    {STABLE, "\"warmring\": 1", "\"warmring\": 2", 2, "warmring", "2 is not from 1 to 1"},
    {STABLE, "\"0123456789abcdef\"", "\"0123456789ABCDEF\"", 3, "id",
     "\"0123456789ABCDEF\" is not a string of 16 digits"},
    {STABLE, "\"0123456789abcdef\"", "\"0123456789abcde\"", 3, "id", "\"0123456789abcde\" is not"},
    {STABLE, "\"0123456789abcdef\"", "123", 3, "id", "123 is not a string"},
    {STABLE, "9007199254740993", "0", 4, "epoch", "0 is not from 1 to 9223372036854775807"},
    {STABLE, "9007199254740993", "\"7\"", 4, "epoch", "\"7\" is not a whole number"},
    {STABLE, "12,", "-1,", 5, "steps", "-1 is not from 0"},
    {STABLE, "12,", "1.0,", 5, "steps", "1.0 is not a whole number"},
    {STABLE, "\"STABLE\"", "\"stable\"", 6, "phase", "\"stable\" is no phase"},
    {STABLE, "\"STABLE\"", "\"SETTLED\"", 6, "phase", "\"SETTLED\" is no phase"},
    {STABLE, "\"STABLE\"", "null", 6, "phase", "null is not a string"},
    {STABLE, "1700000000123", "9007199254740993", 7, "since", "9007199254740993 is not from 0"},
    {STABLE, "\"lag_s\": 5", "\"lag_s\": 0", 8, "lag_s", "0 is not from 1 to 86400"},
    {STABLE, "\"lag_s\": 5", "\"lag_s\": true", 8, "lag_s", "true is not a whole number"},
    {STABLE, "5000", "3600001", 9, "max_deadline_ms", "3600001 is not from 1 to 3600000"},
    {STABLE, "86400", "4000000001", 10, "max_ttl_s", "4000000001 is not from 0 to 4000000000"},
    /* a ring */
    {STABLE, "\"ring\": {", "\"ring\": 7, \"rings\": {", 11, "rings", "unknown key"},
    {STABLE, "\"servers\"", "\"server\"", 16, "ring.server", "unknown key"},
    {STABLE, "    \"dialect\": \"v2\",\n", "", 11, "ring", "\"dialect\" is missing"},
    {STABLE, "\"v2\"", "\"v3\"", 12, "ring.dialect", "unknown dialect \"v3\""},
    {STABLE, "\"v2\"", "[]", 12, "ring.dialect", "[] is not a string"},
    {STABLE, "12.5", "\"12\"", 13, "ring.points_per_weight", "\"12\" is not a number"},
    {STABLE, "12.5", "0", 13, "ring.points_per_weight", "0 is not above 0"},
    {STABLE, "12.5", "-3", 13, "ring.points_per_weight", "-3 is below 0"},
    {STABLE, "12.5", "4294967296", 13, "ring.points_per_weight", "4294967296: not above 0"},
    {STABLE, "12.5", "1e6", 11, "ring", "points, at most 1000000: use points_per_weight"},
    {STABLE, "1000000,", "0,", 14, "ring.max_points", "0 is not from 1 to 4294967295"},
    {STABLE, "\"{}\"", "\"{\"", 15, "ring.hash_tag", "hash_tag \"{\": not two characters"},
    {STABLE, "\"{}\"", "7", 15, "ring.hash_tag", "7 is not a string"},
    {STABLE, "\"hash_tag\": \"{}\"", "\"hash\": \"md5\"", 15, "ring.hash",
     "hash \"md5\": dialect v2"},
    /* servers */
    {STABLE, "\"address\": \"10.0.0.1:11211\", ", "", 17, "ring.servers[0]",
     "\"address\" is missing"},
    {STABLE, ", \"weight\": 4}", "}", 17, "ring.servers[0]", "\"weight\" is missing"},
    {STABLE, "\"weight\": 4", "\"weigth\": 4", 17, "ring.servers[0].weigth", "unknown key"},
    {STABLE, "\"weight\": 4", "\"weight\": \"x\"", 17, "ring.servers[0].weight",
     "\"x\" is not a number"},
    {STABLE, "\"weight\": 0.1", "\"weight\": -0.1", 18, "ring.servers[1].weight",
     "-0.1 is below 0"},
    {STABLE, "\"weight\": 0}", "\"weight\": null}", 19, "ring.servers[2].weight", "null is not a"},
    {STABLE, "{\"name\": \"a\", \"address\": \"10.0.0.1:11211\", \"weight\": 4}", "\"h1:1:4\"", 17,
     "ring.servers[0]", "\"h1:1:4\" is not an object"},
    {STABLE, "\"name\": \"a\"", "\"name\": \"a+b\"", 17, "ring.servers[0].name",
     "\"a+b\" is not a name"},
    {STABLE, "\"name\": \"a\"", "\"name\": \"\"", 17, "ring.servers[0].name", "\"\" is not a name"},
    {STABLE, "\"name\": \"a\"", "\"name\": 5", 17, "ring.servers[0].name", "5 is not a string"},
    {STABLE, "10.0.0.1:11211", "10.0.0.1:70000", 17, "ring.servers[0].address",
     "port \"70000\" in \"10.0.0.1:70000\""},
    {STABLE, "10.0.0.1:11211", "10.0.0.1:1:4", 17, "ring.servers[0].address",
     "\":4\" in \"10.0.0.1:1:4\": unexpected here"},
    {STABLE, "10.0.0.1:11211", "", 17, "ring.servers[0].address", "host \"\": it is empty"},
    {STABLE, "10.0.0.1:11211", "a=h:1", 17, "ring.servers[0].address", "host \"a=h\""},
    {STABLE, "[fd00::7]:11212", "fd00::7", 19, "ring.servers[2].address", "in brackets"},
    {STABLE, "[fd00::7]:11212", "[fd00::7", 19, "ring.servers[2].address", "is not closed"},
    {STABLE, "unix:/run/memcached.sock", "unix:/a b", 20, "ring.servers[3].address",
     "path \"/a b\" in \"unix:/a b\": blanks"},
    {STABLE, "cache.example", "c\xc3\xa9.example", 18, "ring.servers[1].address",
     "has other characters than ASCII"},
    {STABLE, "cache.example", "10.0.0.1", 18, "ring.servers[1]", "has the endpoint of servers[0]"},
    {STABLE, "\"name\": \"s\"", "\"name\": \"a\"", 20, "ring.servers[3]",
     "has the name of servers[0]"},
    {STABLE, "\"v2\"", "\"nginx\"", 15, "ring.hash_tag", "hash_tag \"{}\": dialect nginx has none"},
    {WARM, "\"weight\": 2}", "\"weight\": 2.5}", 15, "ring.servers[1]",
     "dialect nginx knows whole"},
    /* phase and migration */
    {STABLE, "\"STABLE\"", "\"WARMING\"", 1, "", "\"migration\" is missing in phase WARMING"},
    {WARM, "\"WARMING\"", "\"STABLE\"", 18, "migration", "there is none in phase STABLE"},
    {WARM, "\"WARMING\"", "\"PREPARED\"", 28, "migration.rollout",
     "500 belongs to phase WARMING, this is PREPARED"},
    {WARM, "\"rollout\": 500,", "\"backwards\": true,", 28, "migration.backwards",
     "true belongs to phase PREPARED or HANDOVER"},
    {WARM, "\"seed\"", "\"sed\"", 19, "migration.sed", "unknown key"},
    {WARM, "    \"seed\": \"fedcba9876543210\",\n", "", 18, "migration", "\"seed\" is missing"},
    {WARM, "\"fedcba9876543210\"", "\"0xfedcba98765432\"", 19, "migration.seed", "16 digits"},
    {WARM, "\"address\": \"10.0.0.9:11219\"", "\"address\": \"10.0.0.1\"", 25,
     "migration.ring.servers[1]", "has the endpoint of servers[0]"},
    {WARM, "\"weight\": 1.5", "\"weight\": []", 25, "migration.ring.servers[1].weight",
     "[] is not a number"},
    {WARM, "\"points_per_weight\": 20", "\"points_per_weight\": {}", 22,
     "migration.ring.points_per_weight", "{} is not a number"},
    /* rollouts */
    {WARM, "    \"rollout\": 500,\n", "", 18, "migration", "\"rollout\" is missing"},
    {WARM, "500,", "10001,", 28, "migration.rollout", "10001 is not from 0 to 10000"},
    {WARM, "500,", "0.5,", 28, "migration.rollout", "0.5 is not a whole number"},
    {WARM, "\"rome\": 2000", "\"rome\": 20000", 29, "migration.scopes.rome", "20000 is not from"},
    {WARM, "\"oslo\": 0", "\"o slo\": 0", 29, "migration.scopes[\"o slo\"]", "a scope is 1 to 63"},
    {WARM, "{\"rome\": 2000, \"oslo\": 0}", "[]", 29, "migration.scopes", "[] is not an object"},
    {WARM, "\"scope\": \"rome\"", "\"scope\": \"bonn\"", 32, "migration.ramps[1].scope",
     "\"bonn\" is none of the scopes"},
    {WARM, "\"scope\": \"rome\", ", "", 32, "migration.ramps[1]",
     "is the second ramp of its scope"},
    {WARM, "\"from\": 100,", "\"from\": 10001,", 31, "migration.ramps[0].from",
     "10001 is not from"},
    {WARM, "1700000060000", "1700000000000", 31, "migration.ramps[0].ends",
     "1700000000000 is not from 1700000000001"},
    {WARM, "\"from\": 100,", "\"from\": 100, \"to\": 9,", 31, "migration.ramps[0].to",
     "unknown key"},
    /* watermarks */
    {WARM, "\"10.0.0.9:11219\": {", "\"10.0.0.9:11218\": {", 34, "migration.watermarks",
     "\"10.0.0.9:11219\" is missing"},
    {WARM, "\"10.0.0.9:11219\": {", "\"10.0.0.5:1\": {\"cas\": 1},\n\"10.0.0.9:11219\": {", 36,
     "migration.watermarks[\"10.0.0.5:1\"]", "no server of the new ring has that address"},
    {WARM, "\"cas\": 0", "\"cas\": -1", 36, "migration.watermarks[\"10.0.0.9:11219\"].cas",
     "-1 is not from 0 to"},
    {WARM, "\"cas\": 9223372036854775807", "\"cas\": 9223372036854775808", 35, "", "too big"},
    {WARM, "{\"cas\": 0}", "{}", 36, "migration.watermarks[\"10.0.0.9:11219\"]",
     "\"cas\" is missing"},
    {WARM, "1690000000", "\"now\"", 35, "migration.watermarks[\"10.0.0.1:11211\"].started",
     "\"now\" is not a whole number"},
};

static void check(const char *text, size_t length, int line, const char *path, const char *said) {
    warmring_file_t *file = (void *)&file;
    char start[200];
    snprintf(start, sizeof start, "fleet.json:%d: %s%s", line, path, path[0] != '\0' ? ": " : "");
    tap_status(warmring_file_parse(&file, text, length, "fleet.json"), WARMRING_BAD_FILE,
               "refused: %s%s%s", path, path[0] != '\0' ? ": " : "", said);
    tap_ok(file == NULL, "no file");
    tap_ok(strncmp(warmring_error_detail(), start, strlen(start)) == 0, "%s: \"%s\"", start,
           warmring_error_detail());
    tap_contains(warmring_error_detail(), said, "the piece");
}

static void test_table(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row_t *row = &rows[i];
        const char *text = replaced(row->text, row->piece, row->by);
        check(text, strlen(text), row->line, row->path, row->said);
    }
    tap_ok(sizeof rows / sizeof rows[0] >= 60, "%zu rows", sizeof rows / sizeof rows[0]);
}

/* What no replacement in a string makes. */
static void test_bytes(void) {
    static const char nul[] = "{\n\"warmring\": 1\0}";
    check(nul, sizeof nul - 1, 2, "", "a NUL byte");
    check("", 0, 1, "", "expected near end of file");
    check("\n\n[]", 4, 3, "", "[] is not an object");
    check("7", 1, 1, "", "expected near '7'");
    size_t length = strlen(stable_text);
    check(stable_text, length - 3, 22, "", "near end of file");
    char *cut = malloc(length + 1);
    for (size_t i = 0; i < length - 2; i++) { /* the last brace and its line end */
        warmring_file_t *file;
        memcpy(cut, stable_text, i);
        if (warmring_file_parse(&file, cut, i, "f") != WARMRING_BAD_FILE) {
            tap_ok(false, "refused when cut at byte %zu", i);
        }
    }
    free(cut);
}

static void test_limits(void) {
    enum { DEEP = 100000 };
    char *text = malloc((size_t)WR_FILE_SIZE_MAX + 1);
    if (text == NULL) {
        tap_bail("no memory for a large file");
    }
    memset(text, '[', DEEP);
    check(text, DEEP, 1, "", "maximum parsing depth");
    memset(text, ' ', (size_t)WR_FILE_SIZE_MAX + 1);
    check(text, (size_t)WR_FILE_SIZE_MAX + 1, 1, "", "67108865 bytes");
    free(text);
}

/* Long names, paths and pieces are cut, and the reason is still there. */
static void test_long(void) {
    char name[3000], key[400], text[12000], by[500];
    warmring_file_t *file;
    memset(name, 'd', sizeof name);
    memcpy(name + sizeof name - 12, "/fleet.json", 12);
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = '\0';
    snprintf(text, sizeof text, "%s",
             replaced(stable_text, "\"STABLE\"",
                      "\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\""));
    tap_status(warmring_file_parse(&file, text, strlen(text), name), WARMRING_BAD_FILE, "long");
    tap_contains(warmring_error_detail(), "/fleet.json:6: phase: \"\xc3\xa9",
                 "the end of the name");
    tap_contains(warmring_error_detail(), "\xc3\xa9... is no phase", "and whole characters");
    snprintf(by, sizeof by, "\"%s\": 20000", key);
    snprintf(text, sizeof text, "%s", replaced(warming_text, "\"oslo\": 0", by));
    tap_status(warmring_file_parse(&file, text, strlen(text), name), WARMRING_BAD_FILE, "a key");
    tap_contains(warmring_error_detail(), "/fleet.json:29: migration.scopes.kkkkk", "is named");
    tap_contains(warmring_error_detail(), ": a scope is 1 to 63 letters", "with the reason");
}

int main(void) {
    test_table();
    test_bytes();
    test_limits();
    test_long();
    return tap_done();
}
