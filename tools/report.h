/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command says: complaints, numbers for people, and the end of its
 * output.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* How the program ends. */
enum { ENDED_WELL = 0, FAILED = 1, MISUSED = 2 };

/* The command that complaints are of, as in "warmring plan". */
void report_as(const char *command);

/* Prints a complaint to standard error and returns FAILED; the same with a
 * pointer to --help, and MISUSED. */
__attribute__((format(printf, 1, 2))) int fail(const char *format, ...);
__attribute__((format(printf, 1, 2))) int misuse(const char *format, ...);

/* Prints a line to standard error that changes nothing else. */
__attribute__((format(printf, 1, 2))) void warn(const char *format, ...);

/* Writes out what standard output holds; false, with one complaint in all,
 * when anything was lost. */
bool flush_output(void);

/* The same at the end: `result`, or FAILED when anything was lost. */
int finish_output(int result);

/* Prints the value and gives it up; FAILED with a complaint when it is NULL. */
int print_json(json_t *value);

/* A number that has no ".0" when it is whole; null for one that is not finite,
 * which JSON cannot tell. */
json_t *json_number(double value);

/* A text; NULL with a complaint when it is not UTF-8. */
json_t *json_text(const char *text);

/* Appends an element. When the list or the element is NULL, or memory is out,
 * the list becomes NULL: it would not be all of it. */
void json_add(json_t **list, json_t *element);

/* The width of a column that has to hold the text as well. */
int wider(int width, const char *text);

/* A number for people; `text` is what is returned. */
typedef struct {
    char text[40];
} text_t;

const char *percent(text_t *text, double share);       /* "4.990 %" */
const char *plain_percent(text_t *text, double share); /* "5 %" */
const char *bytes(text_t *text, double count);         /* "6.8 KiB" */
const char *number(text_t *text, double value);        /* up to 9 digits */

#endif
