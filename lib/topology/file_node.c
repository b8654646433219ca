/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading values, and saying where one is that is wrong.
 */
#include "topology/file_node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/fail.h"
#include "topology/file.h"
#include "topology/json_text.h"

enum { PATH_SIZE = 200, NAME_SHOWN = 160, PIECE_SHOWN = 60, REASON_SIZE = 320 };

/* ---- the document ------------------------------------------------------ */

/* The end of a long name is what tells files apart. */
static const char *short_name(const char *name) {
    size_t length = strlen(name);
    return length > NAME_SHOWN ? name + length - NAME_SHOWN : name;
}

/* jansson takes a token that it has no memory for as a bad one, but leaves
 * the allocator's errno as it is. */
static warmring_status_t refuse_text(const wr_document_t *document, const json_error_t *error,
                                     int reason) {
    if (error->text[0] == '\0' || reason == ENOMEM) {
        return wr_fail_memory();
    }
    return wr_fail(WARMRING_BAD_FILE, "%s:%d: %s", short_name(document->name),
                   error->line > 0 ? error->line : 1, error->text);
}

warmring_status_t wr_document_open(wr_document_t *document, const char *name, const char *text,
                                   size_t length) {
    *document = (wr_document_t){.name = name, .text = text, .length = length};
    if (length > WR_FILE_SIZE_MAX) {
        return wr_fail(WARMRING_BAD_FILE, "%s:1: %zu bytes: a topology file has at most %d",
                       short_name(name), length, WR_FILE_SIZE_MAX);
    }
    const char *nul = length > 0 ? memchr(text, '\0', length) : NULL;
    if (nul != NULL) {
        return wr_fail(WARMRING_BAD_FILE, "%s:%zu: a NUL byte", short_name(name),
                       wr_json_line(text, nul));
    }
    wr_c_locale_t locale;
    json_error_t error = {0};
    if (!wr_c_locale_enter(&locale)) {
        return wr_fail_memory();
    }
    errno = 0;
    document->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    int reason = errno;
    wr_c_locale_leave(&locale);
    return document->root != NULL ? WARMRING_OK : refuse_text(document, &error, reason);
}

void wr_document_close(wr_document_t *document) {
    json_decref(document->root);
    document->root = NULL;
}

wr_node_t wr_document_root(const wr_document_t *document) {
    return (wr_node_t){.document = document, .value = document->root};
}

/* ---- where it stands --------------------------------------------------- */

/* Iterating takes an object that could be changed. */
static json_t *changeable(const json_t *value) {
    return (json_t *)(uintptr_t)value;
}

/* Which of the parent's members it is: jansson keeps their order. */
static size_t ordinal(const wr_node_t *node) {
    if (node->key == NULL) {
        return node->index;
    }
    json_t *object = changeable(node->parent->value);
    size_t index = 0;
    for (void *i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
        if (strcmp(json_object_iter_key(i), node->key) == 0) {
            break;
        }
        index++;
    }
    return index;
}

static wr_json_piece_t piece_of(const wr_node_t *node) {
    return node->parent != NULL ? wr_json_member(piece_of(node->parent), ordinal(node))
                                : wr_json_whole(node->document->text, node->document->length);
}

static bool is_plain(const char *key) {
    return key[0] != '\0' && key[strspn(key, "abcdefghijklmnopqrstuvwxyz_0123456789")] == '\0';
}

/* Writes the path, such as `ring.servers[3].weight`, and returns its length:
 * less than PATH_SIZE. */
static size_t write_path(const wr_node_t *node, char *path) {
    if (node->parent == NULL) {
        path[0] = '\0';
        return 0;
    }
    size_t used = write_path(node->parent, path);
    int length;
    if (node->key == NULL) {
        length = snprintf(path + used, PATH_SIZE - used, "[%zu]", node->index);
    } else if (is_plain(node->key)) {
        length = snprintf(path + used, PATH_SIZE - used, "%s%s", used > 0 ? "." : "", node->key);
    } else {
        length = snprintf(path + used, PATH_SIZE - used, "[\"%s\"]", node->key);
    }
    used += length > 0 ? (size_t)length : 0;
    return used < PATH_SIZE ? used : PATH_SIZE - 1;
}

static warmring_status_t fail_at(const wr_node_t *node, wr_json_piece_t piece, const char *reason) {
    char path[PATH_SIZE];
    size_t length = write_path(node, path);
    return wr_fail(WARMRING_BAD_FILE, "%s:%zu: %s%s%s", short_name(node->document->name),
                   wr_json_line(node->document->text, piece.at), path, length > 0 ? ": " : "",
                   reason);
}

/* How much of a piece to quote; never a part of a UTF-8 sequence. */
static int quoted(wr_json_piece_t piece) {
    size_t length = piece.length;
    if (length > PIECE_SHOWN) {
        for (length = PIECE_SHOWN; ((unsigned char)piece.at[length] & 0xc0) == 0x80; length--) {
        }
    }
    return (int)length;
}

warmring_status_t wr_node_refuse(const wr_node_t *node, const char *format, ...) {
    wr_json_piece_t piece = piece_of(node);
    char reason[REASON_SIZE];
    int shown = quoted(piece);
    int used = snprintf(reason, sizeof reason, "%.*s%s ", shown, piece.at,
                        (size_t)shown < piece.length ? "..." : "");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason + used, sizeof reason - (size_t)used, format, arguments);
    va_end(arguments);
    return fail_at(node, piece, reason);
}

warmring_status_t wr_node_blame(const wr_node_t *node, const char *format, ...) {
    char reason[REASON_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return fail_at(node, piece_of(node), reason);
}

warmring_status_t wr_node_wrap(const wr_node_t *node, warmring_status_t status) {
    char reason[REASON_SIZE];
    if (status == WARMRING_OUT_OF_MEMORY) {
        return status;
    }
    snprintf(reason, sizeof reason, "%s", warmring_error_detail());
    return fail_at(node, piece_of(node), reason);
}

/* ---- objects and arrays ------------------------------------------------ */

warmring_status_t wr_node_container(const wr_node_t *node, json_type type) {
    if (json_typeof(node->value) == type) {
        return WARMRING_OK;
    }
    return wr_node_refuse(node, "is not %s", type == JSON_ARRAY ? "an array" : "an object");
}

static bool is_one_of(const char *key, const char *const *keys) {
    while (*keys != NULL && strcmp(*keys, key) != 0) {
        keys++;
    }
    return *keys != NULL;
}

warmring_status_t wr_node_object(const wr_node_t *node, const char *const *keys) {
    warmring_status_t status = wr_node_container(node, JSON_OBJECT);
    void *iterator = NULL;
    wr_node_t member;
    while (status == WARMRING_OK && wr_node_next(node, &iterator, &member)) {
        if (!is_one_of(member.key, keys)) {
            status = wr_node_blame(&member, "unknown key");
        }
    }
    return status;
}

size_t wr_node_size(const wr_node_t *node) {
    return json_is_array(node->value) ? json_array_size(node->value)
                                      : json_object_size(node->value);
}

bool wr_node_next(const wr_node_t *object, void **iterator, wr_node_t *member) {
    json_t *value = changeable(object->value);
    *iterator =
        *iterator != NULL ? json_object_iter_next(value, *iterator) : json_object_iter(value);
    if (*iterator == NULL) {
        return false;
    }
    *member = (wr_node_t){object->document, object, json_object_iter_key(*iterator), 0,
                          json_object_iter_value(*iterator)};
    return true;
}

bool wr_node_find(const wr_node_t *object, const char *key, wr_node_t *member) {
    const json_t *value = json_object_get(object->value, key);
    *member = (wr_node_t){object->document, object, key, 0, value};
    return value != NULL;
}

warmring_status_t wr_node_member(const wr_node_t *object, const char *key, wr_node_t *member) {
    return wr_node_find(object, key, member) ? WARMRING_OK
                                             : wr_node_blame(object, "\"%s\" is missing", key);
}

wr_node_t wr_node_element(const wr_node_t *array, size_t index) {
    return (wr_node_t){array->document, array, NULL, index, json_array_get(array->value, index)};
}

/* ---- scalars ----------------------------------------------------------- */

warmring_status_t wr_node_uint(const wr_node_t *node, uint64_t least, uint64_t most,
                               uint64_t *number) {
    json_int_t value = json_integer_value(node->value);
    if (!json_is_integer(node->value)) {
        return wr_node_refuse(node, "is not a whole number");
    }
    if (value < 0 || (uint64_t)value < least || (uint64_t)value > most) {
        return wr_node_refuse(node, "is not from %llu to %llu", (unsigned long long)least,
                              (unsigned long long)most);
    }
    *number = (uint64_t)value;
    return WARMRING_OK;
}

warmring_status_t wr_node_real(const wr_node_t *node, double *number) {
    if (!json_is_number(node->value)) {
        return wr_node_refuse(node, "is not a number");
    }
    double value = json_number_value(node->value);
    if (value < 0) {
        return wr_node_refuse(node, "is below 0");
    }
    *number = value + 0.0; /* -0 is 0 */
    return WARMRING_OK;
}

warmring_status_t wr_node_string(const wr_node_t *node, const char **string) {
    if (!json_is_string(node->value)) {
        return wr_node_refuse(node, "is not a string");
    }
    *string = json_string_value(node->value);
    return WARMRING_OK;
}

warmring_status_t wr_node_hex(const wr_node_t *node, uint64_t *number) {
    static const char digits[] = "0123456789abcdef";
    const char *text = json_string_value(node->value);
    size_t length = text != NULL ? strspn(text, digits) : 0;
    if (length != 16 || text[length] != '\0') {
        return wr_node_refuse(node, "is not a string of 16 digits 0-9 and a-f");
    }
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        *number = *number << 4 | (uint64_t)(strchr(digits, text[i]) - digits);
    }
    return WARMRING_OK;
}

warmring_status_t wr_node_bool(const wr_node_t *node, bool *flag) {
    if (!json_is_boolean(node->value)) {
        return wr_node_refuse(node, "is neither true nor false");
    }
    *flag = json_is_true(node->value);
    return WARMRING_OK;
}
