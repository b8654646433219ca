/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers by one table, from a command's first word.
 */
#include "fake_memcached.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 256, LINE_SIZE = 8192 };

typedef struct {
    char line[LINE_SIZE];
    const char *word[WORDS];
    size_t count;
} command_t;

typedef struct {
    char *bytes;
    size_t length, capacity;
} text_t;

__attribute__((format(printf, 2, 3))) static void put(text_t *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text->bytes + text->length, text->capacity - text->length, format, list);
    va_end(list);
    size_t left = text->capacity - text->length;
    text->length += (size_t)length < left ? (size_t)length : left - 1;
}

static void split(command_t *command, const char *line) {
    char *rest = NULL;
    snprintf(command->line, sizeof command->line, "%s", line);
    command->count = 0;
    for (char *word = strtok_r(command->line, " ", &rest); word != NULL && command->count < WORDS;
         word = strtok_r(NULL, " ", &rest)) {
        command->word[command->count++] = word;
    }
}

/* ---- the answers ------------------------------------------------------------- */

typedef void reply_t(const command_t *command, const char *fixed, text_t *text);

static void say(const command_t *command, const char *fixed, text_t *text) {
    (void)command;
    put(text, "%s\r\n", fixed);
}

static void get(const command_t *command, const char *fixed, text_t *text) {
    for (size_t i = 1; i < command->count; i++) {
        if (strncmp(command->word[i], "warmring:", 9) != 0) {
            put(text, "VALUE %s 0 %zu%s\r\n" FAKE_VALUE "\r\n", command->word[i],
                sizeof FAKE_VALUE - 1, fixed);
        }
    }
    put(text, "END\r\n");
}

/* The flags a meta command asks for, in its order. */
static void put_flags(const command_t *command, size_t first, text_t *text) {
    static const char known[] = "fcst";
    static const char *const values[] = {"0", "1", "5", "-1"};
    for (size_t i = first; i < command->count; i++) {
        const char *word = command->word[i];
        const char *at = word[1] == '\0' ? strchr(known, word[0]) : NULL;
        if (word[0] == 'O') {
            put(text, " %s", word);
        } else if (at != NULL) {
            put(text, " %c%s", word[0], values[at - known]);
        }
    }
    put(text, "\r\n");
}

static void meta_get(const command_t *command, const char *fixed, text_t *text) {
    put(text, "VA %zu", strlen(fixed));
    put_flags(command, 2, text);
    put(text, "%s\r\n", fixed);
}

static void meta_do(const command_t *command, const char *fixed, text_t *text) {
    put(text, "%s", fixed);
    put_flags(command, 2, text);
}

static const struct {
    const char *word;
    reply_t *reply;
    const char *fixed;
} table[] = {
    {"mn", say, "MN"},          {"mg", meta_get, FAKE_VALUE}, {"ms", meta_do, "HD"},
    {"md", meta_do, "HD"},      {"ma", meta_get, "7"},        {"get", get, ""},
    {"gets", get, " 1"},        {"set", say, "STORED"},       {"add", say, "STORED"},
    {"replace", say, "STORED"}, {"append", say, "STORED"},    {"prepend", say, "STORED"},
    {"cas", say, "STORED"},     {"delete", say, "DELETED"},   {"touch", say, "TOUCHED"},
    {"incr", say, "7"},         {"decr", say, "7"},           {"flush_all", say, "OK"},
};

size_t fake_memcached(void *data, const char *line, char *answer, size_t capacity) {
    command_t command;
    text_t text = {answer, 0, capacity};
    split(&command, line);
    const char *word = command.count > 0 ? command.word[0] : "";
    if (strcmp(word, "version") == 0) {
        put(&text, "VERSION %s\r\n", data != NULL ? (const char *)data : "1.6.18");
        return text.length;
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(word, table[i].word) == 0) {
            table[i].reply(&command, table[i].fixed, &text);
            return text.length;
        }
    }
    put(&text, "ERROR\r\n");
    return text.length;
}

size_t fake_memcached_until(void *data, const char *line, char *answer, size_t capacity) {
    command_t command;
    split(&command, line);
    for (size_t i = 1; i < command.count; i++) {
        if (strcmp(command.word[i], data) == 0) {
            return FAKE_NO_ANSWER;
        }
    }
    return fake_memcached(NULL, line, answer, capacity);
}

static bool is_greeting(const char *line) {
    return strcmp(line, "version") == 0 || strcmp(line, "mn") == 0 ||
           strstr(line, " warmring:hello") != NULL;
}

size_t fake_memcached_greets(void *data, const char *line, char *answer, size_t capacity) {
    return is_greeting(line) ? fake_memcached(data, line, answer, capacity) : FAKE_NO_ANSWER;
}
