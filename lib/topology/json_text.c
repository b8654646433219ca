/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner. It keeps a depth instead of a stack: strings aside, a value
 * ends at the first comma or closing bracket on its own level.
 */
#include "topology/json_text.h"

#include <stdbool.h>
#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static wr_json_piece_t behind(wr_json_piece_t piece, size_t length) {
    return (wr_json_piece_t){piece.at + length, piece.length - length};
}

static wr_json_piece_t trim(wr_json_piece_t piece) {
    while (piece.length > 0 && is_blank(piece.at[0])) {
        piece = behind(piece, 1);
    }
    while (piece.length > 0 && is_blank(piece.at[piece.length - 1])) {
        piece.length--;
    }
    return piece;
}

/* The length of the string that piece starts with, its quotes included. */
static size_t string_length(wr_json_piece_t piece) {
    size_t i = 1;
    while (i < piece.length && piece.at[i] != '"') {
        i += piece.at[i] == '\\' ? 2 : 1;
    }
    return i < piece.length ? i + 1 : piece.length;
}

/* How many bytes stand before the first of `ends` on the level that piece
 * starts on. */
static size_t before(wr_json_piece_t piece, const char *ends) {
    size_t depth = 0, i = 0;
    while (i < piece.length) {
        char c = piece.at[i];
        if (depth == 0 && c != '\0' && strchr(ends, c) != NULL) {
            break;
        }
        depth += c == '{' || c == '[';
        depth -= (c == '}' || c == ']') && depth > 0;
        i += c == '"' ? string_length(behind(piece, i)) : 1;
    }
    return i;
}

wr_json_piece_t wr_json_whole(const char *text, size_t length) {
    return trim((wr_json_piece_t){text, length});
}

wr_json_piece_t wr_json_member(wr_json_piece_t value, size_t index) {
    if (value.length < 2) {
        return (wr_json_piece_t){value.at, 0};
    }
    bool has_keys = value.at[0] == '{';
    wr_json_piece_t rest = {value.at + 1, value.length - 2};
    for (; index > 0; index--) {
        size_t length = before(rest, ",");
        if (length == rest.length) {
            return (wr_json_piece_t){value.at, 0};
        }
        rest = behind(rest, length + 1);
    }
    rest.length = before(rest, ",");
    if (has_keys) {
        size_t key = before(rest, ":");
        rest = key < rest.length ? behind(rest, key + 1) : behind(rest, key);
    }
    return trim(rest);
}

size_t wr_json_line(const char *text, const char *at) {
    size_t line = 1;
    for (const char *c = text; c < at; c++) {
        line += *c == '\n';
    }
    return line;
}
