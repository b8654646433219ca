/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of server strings.
 *
 * Reading goes over the caller's text, which stays whole so that errors can
 * quote it. The strings of the result lie in one copy of that text, each
 * ended where its piece ends: what follows a piece is always a delimiter.
 */
#include "topology/server_text.h"

#include <stdint.h>
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "base/number.h"
#include "topology/ipv6_text.h"

typedef struct {
    const char *at;
    size_t length;
} piece_t;

/* What one server string says. */
typedef struct {
    piece_t whole; /* for errors */
    piece_t name;
    piece_t host;
    uint16_t port;
    double weight;
} server_text_t;

/* ---- pieces ---------------------------------------------------------- */

static bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

bool wr_is_name(const char *text, size_t length, size_t limit) {
    for (size_t i = 0; i < length; i++) {
        if (!is_name_byte(text[i])) {
            return false;
        }
    }
    return length > 0 && length <= limit;
}

static piece_t first_of(piece_t piece, size_t length) {
    return (piece_t){piece.at, length};
}

static piece_t behind(piece_t piece, size_t length) {
    return (piece_t){piece.at + length, piece.length - length};
}

/* How many bytes stand before the first that is in `set`. */
static size_t before(piece_t piece, const char *set) {
    size_t i = 0;
    while (i < piece.length && strchr(set, piece.at[i]) == NULL) {
        i++;
    }
    return i;
}

static bool starts_with(piece_t piece, const char *text) {
    size_t length = strlen(text);
    return piece.length >= length && memcmp(piece.at, text, length) == 0;
}

/* Letters alike in both cases, as libmemcached takes its words. */
static bool starts_with_word(piece_t piece, const char *word) {
    for (size_t i = 0; word[i] != '\0'; i++) {
        if (i >= piece.length) {
            return false;
        }
        char c = piece.at[i];
        if ((c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) != word[i]) {
            return false;
        }
    }
    return true;
}

/* ---- refusing -------------------------------------------------------- */

/* How much of a piece to quote; never a part of a UTF-8 sequence. */
static int quoted(piece_t piece) {
    enum { QUOTED = 60 };
    if (piece.length <= QUOTED) {
        return (int)piece.length;
    }
    size_t length = QUOTED;
    while (length > 0 && ((unsigned char)piece.at[length] & 0xc0) == 0x80) {
        length--;
    }
    return (int)length;
}

static const char *dots(piece_t piece) {
    return (size_t)quoted(piece) < piece.length ? "..." : "";
}

static warmring_status_t refuse(piece_t whole, const char *what, piece_t bad, const char *why) {
    if (bad.length == whole.length) {
        return wr_fail(WARMRING_BAD_SERVER, "%s \"%.*s%s\": %s", what, quoted(bad), bad.at,
                       dots(bad), why);
    }
    return wr_fail(WARMRING_BAD_SERVER, "%s \"%.*s%s\" in \"%.*s%s\": %s", what, quoted(bad),
                   bad.at, dots(bad), quoted(whole), whole.at, dots(whole), why);
}

/* ---- one server ------------------------------------------------------ */

static warmring_status_t read_port(server_text_t *server, piece_t port) {
    if (port.length == 0) {
        return refuse(server->whole, "port", port, "it is empty, leave the ':' out too");
    }
    uint64_t number;
    if (port.at[0] == '0' || !wr_parse_uint(port.at, port.length, UINT16_MAX, &number)) {
        return refuse(server->whole, "port", port, "not a number from 1 to 65535");
    }
    server->port = (uint16_t)number;
    return WARMRING_OK;
}

/* What stands behind an address: nothing, or `mark` and a weight. NULL for
 * `mark` allows no weight. */
static warmring_status_t read_weight(server_text_t *server, piece_t rest, const char *mark) {
    if (rest.length == 0) {
        return WARMRING_OK;
    }
    if (mark == NULL || !starts_with(rest, mark)) {
        return refuse(server->whole, "text", rest, "unexpected here");
    }
    piece_t weight = behind(rest, strlen(mark));
    if (!wr_parse_real(weight.at, weight.length, &server->weight)) {
        return refuse(server->whole, "weight", weight, "not a decimal number from 0 up");
    }
    return WARMRING_OK;
}

static warmring_status_t read_path(server_text_t *server, piece_t path) {
    server->host = path;
    if (path.length == 0 || path.at[0] != '/') {
        return refuse(server->whole, "path", path, "not an absolute path");
    }
    if (path.length > WR_MAX_PATH) {
        return refuse(server->whole, "path", path, "longer than 107 bytes");
    }
    for (size_t i = 0; i < path.length; i++) {
        if ((unsigned char)path.at[i] <= 0x20 || path.at[i] == 0x7f) {
            return refuse(server->whole, "path", path, "blanks and control bytes cannot be in it");
        }
    }
    return WARMRING_OK;
}

static warmring_status_t check_host(const server_text_t *server, piece_t host) {
    if (host.length == 0) {
        return refuse(server->whole, "host", host, "it is empty");
    }
    if (host.at[0] == '/') {
        return refuse(server->whole, "host", host, "write a socket as unix:/PATH");
    }
    if (host.length > WR_MAX_HOST) {
        return refuse(server->whole, "host", host, "longer than 250 bytes");
    }
    if (!wr_is_name(host.at, host.length, WR_MAX_HOST)) {
        return refuse(server->whole, "host", host,
                      "only letters, digits, '.', '_' and '-' can be in a host name");
    }
    return WARMRING_OK;
}

/* [V6]; stores what follows the bracket in *rest. */
static warmring_status_t read_bracketed(server_text_t *server, piece_t text, piece_t *rest) {
    size_t close = before(text, "]");
    if (close == text.length) {
        return refuse(server->whole, "address", text, "the bracket is not closed");
    }
    server->host = behind(first_of(text, close), 1);
    *rest = behind(text, close + 1);
    if (!wr_is_ipv6(server->host.at, server->host.length)) {
        return refuse(server->whole, "address", server->host, "not an IPv6 address");
    }
    return WARMRING_OK;
}

/* HOST; `ends` are the bytes it ends before. */
static warmring_status_t read_host(server_text_t *server, piece_t text, const char *ends,
                                   piece_t *rest) {
    piece_t host = first_of(text, before(text, ends));
    if (wr_looks_like_ipv6(text.at, before(text, "/"))) {
        return refuse(server->whole, "address", text, "write an IPv6 address in brackets, [V6]");
    }
    server->host = host;
    *rest = behind(text, host.length);
    return check_host(server, host);
}

/* HOST[:PORT] or [V6][:PORT], then the weight. */
static warmring_status_t read_tcp(server_text_t *server, piece_t text, const char *mark) {
    const char ends[] = {':', mark != NULL ? mark[0] : ':', '\0'};
    piece_t rest = {text.at, 0};
    warmring_status_t status = starts_with(text, "[") ? read_bracketed(server, text, &rest)
                                                      : read_host(server, text, ends, &rest);
    if (status != WARMRING_OK) {
        return status;
    }
    if (starts_with(rest, ":")) {
        piece_t port = behind(rest, 1);
        port.length = before(port, ends);
        rest = behind(rest, 1 + port.length);
        status = read_port(server, port);
    }
    return status == WARMRING_OK ? read_weight(server, rest, mark) : status;
}

/* An address in our own words, then the weight. */
static warmring_status_t read_address(server_text_t *server, piece_t text, const char *mark) {
    if (!starts_with(text, "unix:/")) {
        return read_tcp(server, text, mark);
    }
    piece_t path = behind(text, strlen("unix:"));
    piece_t rest = behind(path, before(path, ":"));
    warmring_status_t status = read_path(server, first_of(path, path.length - rest.length));
    return status == WARMRING_OK ? read_weight(server, rest, mark) : status;
}

/* NAME= where there is one. */
static warmring_status_t read_name(server_text_t *server, piece_t *text) {
    size_t length = before(*text, "=:[/");
    if (length == text->length || text->at[length] != '=') {
        return WARMRING_OK;
    }
    server->name = first_of(*text, length);
    *text = behind(*text, length + 1);
    if (length > WR_MAX_NAME) {
        return refuse(server->whole, "name", server->name, "longer than 250 bytes");
    }
    if (!wr_is_name(server->name.at, length, WR_MAX_NAME)) {
        return refuse(server->whole, "name", server->name,
                      "a name is letters, digits, '.', '_' and '-'");
    }
    return WARMRING_OK;
}

/* The rest of --SOCKET="PATH"[/?WEIGHT]. */
static warmring_status_t read_socket_word(server_text_t *server, piece_t text) {
    if (!starts_with(text, "\"")) {
        return refuse(server->whole, "path", text, "it has to be in double quotes");
    }
    piece_t path = behind(text, 1);
    path.length = before(path, "\"");
    if (path.length + 1 == text.length) {
        return refuse(server->whole, "path", text, "the quotes are not closed");
    }
    for (size_t i = 0; i + 1 < path.length; i++) {
        if (starts_with(behind(path, i), "/?")) {
            return refuse(server->whole, "path", path, "the weight goes behind the quotes");
        }
    }
    warmring_status_t status = read_path(server, path);
    return status == WARMRING_OK ? read_weight(server, behind(text, path.length + 2), "/?")
                                 : status;
}

static warmring_status_t read_server(server_text_t *server) {
    static const char server_word[] = "--SERVER=";
    static const char socket_word[] = "--SOCKET=";
    piece_t text = server->whole;
    if (starts_with_word(text, server_word)) {
        return read_tcp(server, behind(text, strlen(server_word)), "/?");
    }
    if (starts_with_word(text, socket_word)) {
        return read_socket_word(server, behind(text, strlen(socket_word)));
    }
    if (starts_with(text, "--")) {
        return refuse(text, "word", first_of(text, before(text, "=")),
                      "only --SERVER= and --SOCKET= are known");
    }
    warmring_status_t status = read_name(server, &text);
    return status == WARMRING_OK ? read_address(server, text, ":") : status;
}

/* ---- the list -------------------------------------------------------- */

static const char separators[] = ", \t\r\n\v\f";

/* The length of the server string that text starts with: up to a separator
 * or a comment, outside of quotes. */
static size_t token_length(const char *text) {
    bool in_quotes = false;
    size_t length = 0;
    for (; text[length] != '\0'; length++) {
        if (text[length] == '"') {
            in_quotes = !in_quotes;
        } else if (!in_quotes && (text[length] == '#' || strchr(separators, text[length]))) {
            break;
        }
    }
    return length;
}

/* Skips separators and comments. */
static const char *next_token(const char *text) {
    for (;;) {
        text += strspn(text, separators);
        if (*text != '#') {
            return text;
        }
        text += strcspn(text, "\n");
    }
}

static size_t count_tokens(const char *text) {
    size_t count = 0;
    for (text = next_token(text); *text != '\0'; text = next_token(text + token_length(text))) {
        count++;
    }
    return count;
}

static warmring_status_t allocate(wr_server_list_t *list, const char *text, size_t count) {
    *list = (wr_server_list_t){0};
    list->text = wr_copy(text, strlen(text));
    list->servers = wr_calloc(count, sizeof *list->servers);
    if (list->text == NULL || list->servers == NULL) {
        wr_server_list_free(list);
        return wr_fail_memory();
    }
    return WARMRING_OK;
}

/* The piece of the caller's text as a string in the list's copy. */
static const char *keep(wr_server_list_t *list, const char *original, piece_t piece) {
    if (piece.length == 0) {
        return NULL;
    }
    char *string = list->text + (piece.at - original);
    string[piece.length] = '\0';
    return string;
}

static void append(wr_server_list_t *list, const char *original, const server_text_t *server) {
    list->servers[list->count++] = (warmring_server_t){
        .size = sizeof(warmring_server_t),
        .name = keep(list, original, server->name),
        .host = keep(list, original, server->host),
        .port = server->port,
        .weight = server->weight,
    };
}

static server_text_t begin(const char *text, size_t length) {
    return (server_text_t){.whole = {text, length}, .weight = 1};
}

warmring_status_t wr_server_list_parse(wr_server_list_t *list, const char *servers) {
    const char *text = servers != NULL ? servers : "";
    size_t count = count_tokens(text);
    if (count == 0) {
        *list = (wr_server_list_t){0};
        return wr_fail(WARMRING_BAD_SERVER, "the list of servers is empty");
    }
    warmring_status_t status = allocate(list, text, count);
    for (const char *at = next_token(text); status == WARMRING_OK && *at != '\0';) {
        server_text_t server = begin(at, token_length(at));
        status = read_server(&server);
        if (status == WARMRING_OK) {
            append(list, text, &server);
        }
        at = next_token(at + server.whole.length);
    }
    if (status != WARMRING_OK) {
        wr_server_list_free(list);
    }
    return status;
}

warmring_status_t wr_server_parse(wr_server_list_t *list, const char *server) {
    warmring_status_t status = wr_server_list_parse(list, server);
    if (status == WARMRING_OK && list->count != 1) {
        piece_t text = {server, strlen(server)};
        status = refuse(text, "text", text, "more than one server");
        wr_server_list_free(list);
    }
    return status;
}

warmring_status_t wr_address_parse(wr_server_list_t *list, const char *address) {
    const char *text = address != NULL ? address : "";
    server_text_t server = begin(text, strlen(text));
    *list = (wr_server_list_t){0};
    warmring_status_t status = read_address(&server, server.whole, NULL);
    if (status == WARMRING_OK) {
        status = allocate(list, text, 1);
    }
    if (status == WARMRING_OK) {
        append(list, text, &server);
    }
    return status;
}

void wr_server_list_free(wr_server_list_t *list) {
    wr_free(list->servers);
    wr_free(list->text);
    *list = (wr_server_list_t){0};
}
