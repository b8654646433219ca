/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading options by a command's table, and its --help.
 */
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static int print_help(const command_t *command) {
    const char *operands = command->operands != NULL ? command->operands : "";
    printf("warmring %s: %s\n\nUsage: warmring %s%s%s [OPTION]...\n\n", command->name,
           command->summary, command->name, operands[0] != '\0' ? " " : "", operands);
    for (const option_t *option = command->options; option->name != NULL; option++) {
        char left[40];
        snprintf(left, sizeof left, "%s%s%s", option->name, option->value != NULL ? " " : "",
                 option->value != NULL ? option->value : "");
        printf("  %-20s %s\n", left, option->help);
    }
    printf("  %-20s %s\n\n%s", "--help", "print this text", command->text);
    return ENDED_WELL;
}

/* The option that `argument` begins with, up to its end or a '='; the number
 * of options when there is none. */
static size_t find_option(const command_t *command, const char *argument) {
    size_t length = strcspn(argument, "="), i = 0;
    for (; command->options[i].name != NULL; i++) {
        const char *name = command->options[i].name;
        if (strlen(name) == length && memcmp(name, argument, length) == 0) {
            break;
        }
    }
    return i;
}

/* Takes one option; `*arguments` is left at the last argument it used. */
static int take_option(const command_t *command, char ***arguments, const char **values) {
    const char *argument = **arguments;
    size_t i = find_option(command, argument);
    const option_t *option = &command->options[i];
    const char *value = strchr(argument, '=');
    if (argument[0] != '-' || argument[1] != '-') { /* an operand too many, or "-s" */
        return misuse("unexpected argument \"%s\"", argument);
    }
    if (option->name == NULL) {
        return misuse("unknown option \"%.*s\"", (int)strcspn(argument, "="), argument);
    }
    if (values[i] != NULL) {
        return misuse("option \"%s\" is given twice", option->name);
    }
    if (option->value == NULL) {
        values[i] = option->name;
        return value == NULL ? ENDED_WELL : misuse("option \"%s\" takes no value", option->name);
    }
    if (value == NULL) {
        value = *++*arguments;
    } else {
        value++;
    }
    if (value == NULL || value[0] == '\0') {
        return misuse("option \"%s\" needs a value, %s", option->name, option->value);
    }
    values[i] = value;
    return ENDED_WELL;
}

/* ---- operands ---- */

static size_t count_words(const char *text) {
    size_t count = 0;
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        text += strcspn(text, " ");
        count++;
    }
    return count;
}

/* Word `index` of the operands, or the last. */
static const char *word_at(const char *text, size_t index, int *length) {
    for (; index > 0 && text[strcspn(text, " ")] != '\0'; index--) {
        text += strcspn(text, " ") + 1;
    }
    *length = (int)strcspn(text, " ");
    return text;
}

static int check_operands(const command_t *command, size_t count) {
    size_t least = command->most > 0 ? (size_t)command->least : count_words(command->operands);
    if (count < least) {
        int length;
        const char *word = word_at(command->operands, count, &length);
        return misuse("%.*s is missing", length, word);
    }
    return ENDED_WELL;
}

/* How many operands there may be. */
static size_t most_operands(const command_t *command) {
    if (command->operands == NULL) {
        return 0;
    }
    return command->most > 0 ? (size_t)command->most : count_words(command->operands);
}

/* Splits the arguments into options and operands; "--" ends the options. */
static int sort_arguments(const command_t *command, char **arguments, const char **values,
                          const char **operands) {
    size_t count = 0;
    bool options_end = false;
    for (; *arguments != NULL; arguments++) {
        const char *argument = *arguments;
        bool is_option = !options_end && argument[0] == '-' && argument[1] != '\0';
        int result = ENDED_WELL;
        if (is_option && strcmp(argument, "--") == 0) {
            options_end = true;
        } else if (!is_option && count < most_operands(command)) {
            operands[count++] = argument;
        } else {
            result = take_option(command, &arguments, values);
        }
        if (result != ENDED_WELL) {
            return result;
        }
    }
    return command->operands != NULL ? check_operands(command, count) : ENDED_WELL;
}

static int check_needed(const command_t *command, const char *const *values) {
    for (size_t i = 0; i < command->needed; i++) {
        if (values[i] == NULL) {
            return misuse("%s %s is missing", command->options[i].name, command->options[i].value);
        }
    }
    return ENDED_WELL;
}

int run_command(const command_t *command, char **arguments) {
    const char *values[MOST_OPTIONS] = {NULL};
    static char name[40];
    snprintf(name, sizeof name, "warmring %s", command->name);
    report_as(name);
    size_t count = 0;
    for (; arguments[count] != NULL && strcmp(arguments[count], "--") != 0; count++) {
        if (strcmp(arguments[count], "--help") == 0 || strcmp(arguments[count], "-h") == 0) {
            return print_help(command);
        }
    }
    while (arguments[count] != NULL) {
        count++;
    }
    const char **operands = calloc(count + 1, sizeof *operands);
    if (operands == NULL) {
        return fail("out of memory: %zu arguments", count);
    }
    int result = sort_arguments(command, arguments, values, operands);
    if (result == ENDED_WELL) {
        result = check_needed(command, values);
    }
    if (result == ENDED_WELL) {
        result = command->run(values, operands);
    }
    free(operands);
    return result;
}

/* ---- values ---- */

/* DIGITS[.DIGITS], no more than `length` bytes, all of them. */
static bool parse_real(const char *text, size_t length, double *value) {
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > length) {
        return false;
    }
    if (text[digits] == '.') {
        size_t decimals = strspn(text + digits + 1, "0123456789");
        digits += decimals > 0 ? 1 + decimals : 0;
    }
    *value = strtod(text, NULL);
    return digits == length && isfinite(*value);
}

int read_positive(const char *option, const char *text, double *value) {
    if (text == NULL || (parse_real(text, strlen(text), value) && *value > 0)) {
        return ENDED_WELL;
    }
    return misuse("%s \"%s\": not a decimal number above 0", option, text);
}

int read_share(const char *option, const char *text, double *value) {
    if (text == NULL) {
        return ENDED_WELL;
    }
    size_t length = strlen(text);
    bool in_percent = length > 0 && text[length - 1] == '%';
    if (!parse_real(text, length - in_percent, value) || *value <= 0) {
        return misuse("%s \"%s\": not a share, as 5%% or 0.05", option, text);
    }
    if (!in_percent && *value >= 1) {
        return misuse("%s \"%s\": a share of 1 or more; did you mean \"%s%%\"?", option, text,
                      text);
    }
    *value /= in_percent ? 100 : 1;
    return ENDED_WELL;
}

int read_count(const char *option, const char *text, double least, double most, double *value) {
    text_t low, high;
    if (text == NULL || (parse_real(text, strlen(text), value) && *value >= least &&
                         *value <= most && *value <= floor(*value))) {
        return ENDED_WELL;
    }
    return misuse("%s \"%s\": not a whole number from %s to %s", option, text, number(&low, least),
                  number(&high, most));
}
