/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmemcached's configuration strings: words that begin with "--", in any
 * case, separated by blanks.
 *
 * Servers, distribution and hash make the ring. --SORT-HOSTS does too: the
 * order of servers decides under modula, and of ties. Where keys are hashed
 * with their namespace, owners depend on it; there is no such ring here. All
 * other words are about the client, and noted.
 *
 * libmemcached obeys each word as it comes, and the order of words shows (in
 * 1.1.4; tests/fleet/import_live.c asks it):
 *
 * - Under consistent, any weight above 1 makes points by weight, but
 *   --DISTRIBUTION turns that off again: only a weight behind it counts.
 * - Points without weights are made with the hash for keys, when a server comes
 *   or the distribution is set. A --HASH behind both is used for keys alone, so
 *   keys have one hash and points another. No ring here is so.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "fleet/import.h"
#include "topology/server_text.h"

enum { QUOTED = 60 };

/* A word, as in --HASH=md5: its name without dashes, and its value. */
typedef struct {
    const char *at;
    size_t length; /* of the whole */
    size_t name_length;
    const char *value; /* NULL: none */
    size_t value_length;
} word_t;

typedef struct {
    wr_import_t *import;
    bool sort;
    bool weighted;           /* a weight above 1 counts */
    const char *points_hash; /* when points were made last */
    bool hash_with_namespace;
    bool has_namespace;
} reading_t;

static int shown(size_t length) {
    return length < QUOTED ? (int)length : QUOTED;
}

static warmring_status_t refuse(const reading_t *reading, warmring_status_t status,
                                const word_t *word, const char *why) {
    return wr_import_fail(reading->import, status, wr_import_line(reading->import, word->at),
                          "word \"%.*s\": %s", shown(word->length), word->at, why);
}

/* ASCII letters alike in both cases, '_' and '-' alike. */
static bool is_word(const char *text, size_t length, const char *name) {
    size_t i = 0;
    for (; i < length && name[i] != '\0'; i++) {
        char c = text[i];
        c = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
        c = c == '_' && name[i] == '-' ? '-' : c;
        if (c != name[i]) {
            return false;
        }
    }
    return i == length && name[i] == '\0';
}

/* ---- words that make the ring -------------------------------------------------- */

static warmring_status_t take_server(reading_t *reading, const word_t *word) {
    char text[512];
    wr_server_list_t list;
    if (word->length >= sizeof text) {
        return refuse(reading, WARMRING_BAD_FILE, word, "too long");
    }
    memcpy(text, word->at, word->length);
    text[word->length] = '\0';
    warmring_status_t status = wr_server_parse(&list, text);
    if (status != WARMRING_OK) {
        return status == WARMRING_BAD_SERVER
                   ? wr_import_wrap(reading->import, WARMRING_BAD_FILE,
                                    wr_import_line(reading->import, word->at))
                   : status;
    }
    if (!(list.servers[0].weight > 0)) {
        list.servers[0].weight = 1; /* as libmemcached takes it */
    }
    reading->weighted = reading->weighted || list.servers[0].weight > 1;
    reading->points_hash = reading->import->ring.hash;
    status = wr_import_add(reading->import, &list.servers[0]);
    wr_server_list_free(&list);
    return status;
}

static warmring_status_t take_distribution(reading_t *reading, const word_t *word) {
    const char *comma = memchr(word->value, ',', word->value_length);
    size_t length = comma != NULL ? (size_t)(comma - word->value) : word->value_length;
    if (is_word(word->value, length, "RANDOM")) {
        return refuse(reading, WARMRING_NOT_SUPPORTED, word, "no key has an owner then");
    }
    if (is_word(word->value, length, "CONSISTENT")) {
        reading->import->ring.dialect = "libmemcached";
    } else if (is_word(word->value, length, "MODULA")) {
        reading->import->ring.dialect = "modula";
    } else {
        return refuse(reading, WARMRING_BAD_FILE, word, "not consistent, modula or random");
    }
    reading->weighted = false;
    reading->points_hash = reading->import->ring.hash;
    return WARMRING_OK; /* the hash behind a comma decides no owner */
}

static const struct {
    const char *word, *hash;
} hashes[] = {
    {"MD5", "md5"},           {"CRC", "crc32"},       {"FNV1-64", "fnv1_64"},
    {"FNV1A-64", "fnv1a_64"}, {"FNV1-32", "fnv1_32"}, {"FNV1A-32", "fnv1a_32"},
    {"HSIEH", "hsieh"},       {"MURMUR", "murmur"},   {"JENKINS", "jenkins"},
};

static warmring_status_t take_hash(reading_t *reading, const word_t *word) {
    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++) {
        if (is_word(word->value, word->value_length, hashes[i].word)) {
            reading->import->ring.hash = hashes[i].hash;
            return WARMRING_OK;
        }
    }
    return refuse(reading, WARMRING_BAD_FILE, word, "not a hash that libmemcached knows");
}

static warmring_status_t take_sort(reading_t *reading, const word_t *word) {
    (void)word;
    reading->sort = true;
    reading->points_hash = reading->import->ring.hash;
    return wr_import_note(reading->import,
                          "--SORT-HOSTS: the servers are in the order of their names here; one "
                          "that is added later has to be put where it belongs");
}

/* ---- words about the client ----------------------------------------------------- */

static warmring_status_t take_namespace(reading_t *reading, const word_t *word) {
    const char *value = word->value;
    size_t length = word->value_length;
    if (length >= 2 && value[0] == '"' && value[length - 1] == '"') {
        value++;
        length -= 2;
    }
    reading->has_namespace = length > 0;
    return wr_import_note(reading->import, "--NAMESPACE: give clients the option prefix=%.*s",
                          shown(length), value);
}

static warmring_status_t take_hash_with_namespace(reading_t *reading, const word_t *word) {
    (void)word;
    reading->hash_with_namespace = true;
    return WARMRING_OK;
}

static warmring_status_t note_ejection(reading_t *reading, const word_t *word) {
    return wr_import_note(reading->import,
                          "%.*s: not carried over; keys of a server that is down stay its keys",
                          shown(word->length), word->at);
}

static warmring_status_t note_replicas(reading_t *reading, const word_t *word) {
    return wr_import_note(reading->import,
                          "%.*s: not carried over; each key has one owner, the first that "
                          "libmemcached writes to",
                          shown(word->length), word->at);
}

static warmring_status_t note_secret(reading_t *reading, const word_t *word) {
    return wr_import_note(reading->import, "%.*s: not carried over, give it to clients",
                          (int)word->name_length + 2, word->at);
}

static warmring_status_t note_client(reading_t *reading, const word_t *word) {
    return wr_import_note(reading->import, "%.*s: not carried over, it concerns the client",
                          shown(word->length), word->at);
}

static warmring_status_t refuse_file(reading_t *reading, const word_t *word) {
    return refuse(reading, WARMRING_NOT_SUPPORTED, word,
                  "it replaces all the rest; import what is in that file");
}

enum { NO_VALUE, VALUE, EITHER };

static const struct {
    const char *name;
    int value;
    warmring_status_t (*take)(reading_t *reading, const word_t *word);
} words[] = {
    {"SERVER", VALUE, take_server},
    {"SOCKET", VALUE, take_server},
    {"DISTRIBUTION", VALUE, take_distribution},
    {"HASH", VALUE, take_hash},
    {"SORT-HOSTS", NO_VALUE, take_sort},
    {"NAMESPACE", VALUE, take_namespace},
    {"HASH-WITH-NAMESPACE", NO_VALUE, take_hash_with_namespace},
    {"CONFIGURE-FILE", VALUE, refuse_file},
    {"REMOVE-FAILED-SERVERS", EITHER, note_ejection},
    {"AUTO-EJECT-HOSTS", EITHER, note_ejection},
    {"NUMBER-OF-REPLICAS", EITHER, note_replicas},
    {"RANDOMIZE-REPLICA-READ", EITHER, note_replicas},
    {"USERNAME", EITHER, note_secret},
    {"PASSWORD", EITHER, note_secret},
    {"BINARY-PROTOCOL", EITHER, note_client},
    {"BUFFER-REQUESTS", EITHER, note_client},
    {"CONNECT-TIMEOUT", EITHER, note_client},
    {"FETCH-VERSION", EITHER, note_client},
    {"IO-BYTES-WATERMARK", EITHER, note_client},
    {"IO-KEY-PREFETCH", EITHER, note_client},
    {"IO-MSG-WATERMARK", EITHER, note_client},
    {"NOREPLY", EITHER, note_client},
    {"POLL-TIMEOUT", EITHER, note_client},
    {"POOL-MAX", EITHER, note_client},
    {"POOL-MIN", EITHER, note_client},
    {"RCV-TIMEOUT", EITHER, note_client},
    {"RETRY-TIMEOUT", EITHER, note_client},
    {"SERVER-FAILURE-LIMIT", EITHER, note_client},
    {"SND-TIMEOUT", EITHER, note_client},
    {"SOCKET-RECV-SIZE", EITHER, note_client},
    {"SOCKET-SEND-SIZE", EITHER, note_client},
    {"SUPPORT-CAS", EITHER, note_client},
    {"TCP-KEEPALIVE", EITHER, note_client},
    {"TCP-KEEPIDLE", EITHER, note_client},
    {"TCP-NODELAY", EITHER, note_client},
    {"USE-UDP", EITHER, note_client},
    {"USER-DATA", EITHER, note_client},
    {"VERIFY-KEY", EITHER, note_client},
};

static warmring_status_t take_word(reading_t *reading, const word_t *word) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!is_word(word->at + 2, word->name_length, words[i].name)) {
            continue;
        }
        if (words[i].value == VALUE && word->value_length == 0) {
            return refuse(reading, WARMRING_BAD_FILE, word, "it needs a value");
        }
        if (words[i].value == NO_VALUE && word->value != NULL) {
            return refuse(reading, WARMRING_BAD_FILE, word, "it takes no value");
        }
        return words[i].take(reading, word);
    }
    return refuse(reading, WARMRING_BAD_FILE, word, "unknown");
}

/* ---- the string ------------------------------------------------------------------- */

static const char blanks[] = " \t\r\n\v\f";

/* The word at `text`, which is not empty: up to a blank outside of quotes. */
static word_t next_word(const char *text) {
    word_t word = {.at = text};
    bool in_quotes = false;
    for (; text[word.length] != '\0'; word.length++) {
        char c = text[word.length];
        in_quotes ^= c == '"';
        if (!in_quotes && strchr(blanks, c) != NULL) {
            break;
        }
    }
    const char *equals = memchr(text, '=', word.length);
    size_t dashes = word.length >= 2 ? 2 : word.length;
    word.name_length = (equals != NULL ? (size_t)(equals - text) : word.length) - dashes;
    if (equals != NULL) {
        word.value = equals + 1;
        word.value_length = word.length - (size_t)(word.value - text);
    }
    return word;
}

/* By name, then by port. Equal ones are refused later. */
static int compare_servers(const void *left, const void *right) {
    const warmring_server_t *a = left, *b = right;
    int port_a = a->port != 0 ? a->port : (int)WARMRING_DEFAULT_PORT;
    int port_b = b->port != 0 ? b->port : (int)WARMRING_DEFAULT_PORT;
    int order = strcmp(a->host, b->host);
    return order != 0 ? order : port_a - port_b;
}

/* What the order of words made of a ring with points. */
static warmring_status_t apply_order(reading_t *reading) {
    wr_import_t *import = reading->import;
    bool ignored = false;
    if (strcmp(import->ring.dialect, "modula") == 0 || reading->weighted) {
        return WARMRING_OK;
    }
    if (reading->points_hash != import->ring.hash) {
        return wr_import_fail(import, WARMRING_NOT_SUPPORTED, 1,
                              "--HASH behind the servers and --DISTRIBUTION: libmemcached has made "
                              "its points with another hash by then; no ring here is so");
    }
    for (size_t i = 0; i < import->count; i++) {
        ignored = ignored || import->servers[i].weight > 1;
        import->servers[i].weight = 1;
    }
    return ignored ? wr_import_note(import, "weights before --DISTRIBUTION: libmemcached ignores "
                                            "them, every server has weight 1 here")
                   : WARMRING_OK;
}

static warmring_status_t finish(reading_t *reading) {
    if (reading->hash_with_namespace && reading->has_namespace) {
        return wr_import_fail(reading->import, WARMRING_NOT_SUPPORTED, 1,
                              "--HASH-WITH-NAMESPACE: no ring here hashes a key with its namespace "
                              "as libmemcached does");
    }
    if (reading->sort && reading->import->count > 0) {
        qsort(reading->import->servers, reading->import->count, sizeof *reading->import->servers,
              compare_servers);
    }
    return apply_order(reading);
}

static warmring_status_t read_words(wr_import_t *import) {
    reading_t reading = {.import = import};
    warmring_status_t status = WARMRING_OK;
    const char *text = import->text;
    import->ring.dialect = "modula";
    for (text += strspn(text, blanks); *text != '\0' && status == WARMRING_OK;
         text += strspn(text, blanks)) {
        word_t word = next_word(text);
        if (text[0] != '-' || text[1] != '-') {
            status = refuse(&reading, WARMRING_BAD_FILE, &word, "not one that begins with --");
        } else {
            status = take_word(&reading, &word);
        }
        text += word.length;
    }
    return status == WARMRING_OK ? finish(&reading) : status;
}

const wr_importer_t wr_import_libmemcached = {"libmemcached", read_words};
