/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spoiling by text: an answer is a head line and perhaps a value behind it.
 */
#include "mangle.h"

#include <stdio.h>
#include <string.h>

enum { ANSWER_SIZE = 8192, LONG_KEY = 10240, HALF_VALUE = 2 };

/* "VA " or "VALUE KEY FLAGS ": how long the text before the length is; 0: the
 * answer has none. */
static size_t before_length(const char *answer) {
    if (strncmp(answer, "VA ", 3) == 0) {
        return 3;
    }
    int length = 0;
    return sscanf(answer, "VALUE %*s %*s %n", &length) == 0 ? (size_t)length : 0;
}

static size_t true_answer(const char *command, char *answer) {
    size_t length = fake_memcached(NULL, command, answer, ANSWER_SIZE - 1);
    answer[length] = '\0';
    return length;
}

size_t mangle_half(void *data, const char *command, char *answer, size_t capacity) {
    char whole[ANSWER_SIZE];
    (void)data;
    (void)capacity;
    true_answer(command, whole);
    const char *value = before_length(whole) > 0 ? strstr(whole, "\r\n") + 2 : whole;
    size_t length = (size_t)(value - whole) + (value != whole ? HALF_VALUE : 1);
    memcpy(answer, whole, length);
    return length;
}

size_t mangle_length(void *data, const char *command, char *answer, size_t capacity) {
    char whole[ANSWER_SIZE];
    true_answer(command, whole);
    size_t before = before_length(whole);
    const char *after = whole + before + strcspn(whole + before, " \r");
    return (size_t)snprintf(answer, capacity, "%.*s%s%s", (int)before, whole, (const char *)data,
                            after);
}

/* "VALUE KEY ..." gets `key`; a meta answer another opaque token. */
static size_t with_key(const char *command, const char *key, char *answer, size_t capacity) {
    char whole[ANSWER_SIZE];
    true_answer(command, whole);
    char *opaque = strstr(whole, " O");
    if (strncmp(whole, "VALUE ", 6) == 0) {
        const char *after = whole + 6 + strcspn(whole + 6, " ");
        return (size_t)snprintf(answer, capacity, "VALUE %s%s", key, after);
    }
    if (opaque != NULL) {
        const char *after = opaque + strcspn(opaque, "\r");
        return (size_t)snprintf(answer, capacity, "%.*s O%s%s", (int)(opaque - whole), whole, key,
                                after);
    }
    return (size_t)snprintf(answer, capacity, "VALUE %s 0 5\r\nvalue\r\nEND\r\n", key);
}

size_t mangle_other(void *data, const char *command, char *answer, size_t capacity) {
    (void)data;
    return with_key(command, "999999", answer, capacity);
}

size_t mangle_long_key(void *data, const char *command, char *answer, size_t capacity) {
    char key[LONG_KEY + 1];
    (void)data;
    memset(key, 'k', LONG_KEY);
    key[LONG_KEY] = '\0';
    return with_key(command, key, answer, capacity);
}

size_t mangle_extra_end(void *data, const char *command, char *answer, size_t capacity) {
    size_t length = fake_memcached(data, command, answer, capacity);
    memcpy(answer + length, "END\r\n", 5);
    return length + 5;
}
