/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that speaks to a memcached: what the other ways are measured by.
 *
 * Blocking sockets, no deadlines, no pool, no recovery: any surprise ends the
 * bench. Owners are known beforehand, or looked up on the ring. It does parse what is
 * answered, take flags and cas, and copy values out, since whoever wants a
 * value must. A batch is sent to all servers before the first is read from.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ways.h"

enum { BUFFER = 65536 };

typedef struct {
    uint32_t flags;
    uint64_t cas;
    size_t length;
    char value[VALUE_SIZE + 1];
} raw_item_t;

typedef struct {
    const setup_t *setup;
    const warmring_ring_t *ring; /* NULL: owners are known */
    int sockets[MAX_SERVERS];
    unsigned next;
    raw_item_t items[BATCH_KEYS];
    unsigned count[MAX_SERVERS]; /* of a batch: keys of each server, and which */
    unsigned char batch[MAX_SERVERS][BATCH_KEYS];
    char buffer[BUFFER];
} raw_t;

static int connect_to(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, opened = socket(AF_INET, SOCK_STREAM, 0);

    if (opened >= 0 && (connect(opened, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
                        setsockopt(opened, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)) {
        close(opened);
        return -1;
    }
    return opened;
}

void *open_raw(const void *setup, unsigned thread) {
    raw_t *raw = calloc(1, sizeof(*raw));

    if (raw == NULL)
        return NULL;
    raw->setup = setup;
    raw->next = thread * 97;
    for (unsigned i = 0; i < raw->setup->server_count; i++) {
        raw->sockets[i] = connect_to(raw->setup->ports[i]);
        if (raw->sockets[i] < 0)
            return NULL;
    }
    return raw;
}

void *open_raw_on_ring(const void *setup, unsigned thread) {
    raw_t *raw = open_raw(setup, thread);

    if (raw != NULL)
        raw->ring = raw->setup->ring;
    return raw;
}

void close_raw(void *state) {
    raw_t *raw = state;

    for (unsigned i = 0; i < raw->setup->server_count; i++)
        close(raw->sockets[i]);
    free(raw);
}

static char *put(char *out, const char *bytes, size_t length) {
    memcpy(out, bytes, length);
    return out + length;
}

static char *put_number(char *out, size_t number) {
    char digits[20], *first = digits + sizeof(digits);

    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    return put(out, first, (size_t)(digits + sizeof(digits) - first));
}

static const char *read_number(const char *at, uint64_t *number) {
    for (*number = 0; *at >= '0' && *at <= '9'; at++)
        *number = *number * 10 + (uint64_t)(*at - '0');
    return at;
}

static bool send_all(int socket, const char *bytes, size_t length) {
    return send(socket, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* Receives until what came ends with `end`; its length, 0 after a fault. */
static size_t receive_until(raw_t *raw, int socket, const char *end) {
    size_t length = 0, ending = strlen(end);

    do {
        ssize_t more = recv(socket, raw->buffer + length, BUFFER - 1 - length, 0);
        if (more <= 0)
            return 0;
        length += (size_t)more;
    } while (length < ending || memcmp(raw->buffer + length - ending, end, ending) != 0);
    raw->buffer[length] = '\0';
    return length;
}

/* LENGTH and a line's rest are read: the value, its CR LF skipped. */
static const char *take_value(const char *at, raw_item_t *item) {
    if (item->length > VALUE_SIZE)
        return NULL;
    memcpy(item->value, at, item->length);
    item->value[item->length] = '\0';
    return memcmp(at + item->length, "\r\n", 2) == 0 ? at + item->length + 2 : NULL;
}

/* ---- one key ---- */

static int socket_of(const raw_t *raw, unsigned key) {
    unsigned owner = raw->ring != NULL ? warmring_ring_locate(raw->ring, names[key], lengths[key])
                                       : raw->setup->owners[key];

    return raw->sockets[owner];
}

bool get_raw(void *state) {
    raw_t *raw = state;
    unsigned key = raw->next++ % KEYS;
    int socket = socket_of(raw, key);
    raw_item_t *item = &raw->items[0];
    uint64_t number;
    char *out = put(raw->buffer, "mg ", 3);

    out = put(out, names[key], lengths[key]);
    out = put(out, " v f c\r\n", 8);
    if (!send_all(socket, raw->buffer, (size_t)(out - raw->buffer)) ||
        receive_until(raw, socket, "\r\n") == 0 || memcmp(raw->buffer, "VA ", 3) != 0)
        return false;
    const char *at = read_number(raw->buffer + 3, &number);
    item->length = number;
    if (memcmp(at, " f", 2) != 0)
        return false;
    at = read_number(at + 2, &number);
    item->flags = (uint32_t)number;
    if (memcmp(at, " c", 2) != 0)
        return false;
    at = read_number(at + 2, &item->cas);
    return memcmp(at, "\r\n", 2) == 0 && take_value(at + 2, item) != NULL &&
           item->length == VALUE_SIZE;
}

bool set_raw(void *state) {
    raw_t *raw = state;
    unsigned key = raw->next++ % KEYS;
    int socket = socket_of(raw, key);
    char *out = put(raw->buffer, "ms ", 3);

    out = put(out, names[key], lengths[key]);
    *out++ = ' ';
    out = put_number(out, VALUE_SIZE);
    out = put(out, "\r\n", 2);
    out = put(out, value, VALUE_SIZE);
    out = put(out, "\r\n", 2);
    return send_all(socket, raw->buffer, (size_t)(out - raw->buffer)) &&
           receive_until(raw, socket, "\r\n") != 0 && memcmp(raw->buffer, "HD\r\n", 4) == 0;
}

/* ---- many keys ---- */

static void find_owners(const raw_t *raw, unsigned first, uint32_t *owners) {
    warmring_bytes_t keys[BATCH_KEYS];

    for (unsigned i = 0; i < BATCH_KEYS; i++) {
        unsigned key = (first + i) % KEYS;
        keys[i] = (warmring_bytes_t){names[key], lengths[key]};
        owners[i] = raw->setup->owners[key];
    }
    if (raw->ring != NULL)
        warmring_ring_locate_many(raw->ring, keys, BATCH_KEYS, owners);
}

static bool ask_server(raw_t *raw, unsigned server, unsigned first) {
    char *out = put(raw->buffer, "gets", 4);

    for (unsigned i = 0; i < raw->count[server]; i++) {
        unsigned key = (first + raw->batch[server][i]) % KEYS;
        *out++ = ' ';
        out = put(out, names[key], lengths[key]);
    }
    out = put(out, "\r\n", 2);
    return send_all(raw->sockets[server], raw->buffer, (size_t)(out - raw->buffer));
}

/* VALUE KEY FLAGS LENGTH CAS: its end; NULL when it is another key's. */
static const char *read_item(const char *at, unsigned key, raw_item_t *item) {
    uint64_t number;

    if (memcmp(at, "VALUE ", 6) != 0 || memcmp(at + 6, names[key], lengths[key]) != 0)
        return NULL;
    at = read_number(at + 6 + lengths[key] + 1, &number);
    item->flags = (uint32_t)number;
    at = read_number(at + 1, &number);
    item->length = number;
    at = read_number(at + 1, &item->cas);
    return memcmp(at, "\r\n", 2) == 0 ? take_value(at + 2, item) : NULL;
}

static bool read_server(raw_t *raw, unsigned server, unsigned first) {
    const char *at = raw->buffer;

    if (receive_until(raw, raw->sockets[server], "END\r\n") == 0)
        return false;
    for (unsigned i = 0; i < raw->count[server] && at != NULL; i++) {
        unsigned place = raw->batch[server][i];
        at = read_item(at, (first + place) % KEYS, &raw->items[place]);
    }
    return at != NULL && memcmp(at, "END\r\n", 5) == 0;
}

bool get_many_raw(void *state) {
    raw_t *raw = state;
    unsigned first = raw->next, servers = raw->setup->server_count;
    uint32_t owners[BATCH_KEYS];
    bool good = true;

    raw->next += BATCH_KEYS;
    memset(raw->count, 0, sizeof(raw->count));
    find_owners(raw, first, owners);
    for (unsigned i = 0; i < BATCH_KEYS; i++)
        raw->batch[owners[i]][raw->count[owners[i]]++] = (unsigned char)i;
    for (unsigned i = 0; i < servers; i++)
        good = good && (raw->count[i] == 0 || ask_server(raw, i, first));
    for (unsigned i = 0; i < servers; i++)
        good = good && (raw->count[i] == 0 || read_server(raw, i, first));
    return good;
}
