/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `warmring`: a table of subcommands.
 *
 * Every subcommand prints its answer to standard output and its complaints to
 * standard error. A reader that goes away is a failed write like any other,
 * hence no SIGPIPE.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <warmring/common.h>

#include "command.h"
#include "report.h"

static const command_t *const commands[] = {
    &locate_command,         &plan_command,
    &diff_command,           &balance_command,
    &topology_init_command,  &topology_show_command,
    &topology_check_command, &topology_import_command,
    &reweight_command,       &migrate_begin_command,
    &migrate_warm_command,   &migrate_commit_command,
    &migrate_finish_command, &migrate_rollback_command,
    &migrate_status_command, &migrate_announce_command,
    &sweep_command,          &stat_command,
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_commands(FILE *stream) {
    fputs("Usage: warmring COMMAND [OPTION]...\n\n", stream);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(stream, "  %-16s %s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("\nwarmring COMMAND --help tells more of each, and so does man warmring-COMMAND, "
          "where\nCOMMAND is the first word.\n",
          stream);
}

static int print_help(void) {
    puts("warmring: plans and questions about memcached rings\n");
    print_commands(stdout);
    puts("warmring --version prints the version.\n\n"
         "Ends with 0 when all went well, 1 when something failed, 2 when it was used\n"
         "wrongly.");
    return ENDED_WELL;
}

/* How many arguments name this command; 0: they do not. */
static size_t names(char **arguments, const char *name) {
    const char *second = strchr(name, ' ');
    size_t length = second != NULL ? (size_t)(second - name) : strlen(name);
    if (strlen(arguments[0]) != length || memcmp(arguments[0], name, length) != 0) {
        return 0;
    }
    if (second == NULL) {
        return 1;
    }
    return arguments[1] != NULL && strcmp(arguments[1], second + 1) == 0 ? 2 : 0;
}

/* The commands of two words that begin with this one; false: there are none. */
static bool print_group(FILE *stream, const char *first) {
    size_t length = strlen(first), found = 0;
    for (size_t i = 0; i < COMMANDS; i++) {
        const char *name = commands[i]->name;
        if (strncmp(name, first, length) == 0 && name[length] == ' ') {
            fprintf(stream, "%s  %-16s %s\n",
                    found++ == 0 ? "Usage: warmring COMMAND [OPTION]...\n\n" : "", name,
                    commands[i]->summary);
        }
    }
    return found > 0;
}

static int dispatch_group(char **arguments) {
    const char *name = arguments[0], *second = arguments[1];
    bool help = second != NULL && (strcmp(second, "--help") == 0 || strcmp(second, "-h") == 0);
    if (help && print_group(stdout, name)) {
        return ENDED_WELL;
    }
    if ((second == NULL || second[0] == '-') && print_group(stderr, name)) {
        return MISUSED;
    }
    if (second != NULL && print_group(stderr, name)) {
        return misuse("unknown command \"%s %s\"", name, second);
    }
    return misuse("unknown %s \"%s\"", name[0] == '-' ? "option" : "command", name);
}

static int dispatch(char **arguments) {
    const char *name = arguments[0];
    if (name == NULL) {
        print_commands(stderr);
        return MISUSED;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        return print_help();
    }
    if (strcmp(name, "--version") == 0) {
        printf("warmring %s\n", warmring_version());
        return ENDED_WELL;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        size_t words = names(arguments, commands[i]->name);
        if (words > 0) {
            return run_command(commands[i], arguments + words);
        }
    }
    return dispatch_group(arguments);
}

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    return finish_output(dispatch(arguments + (count > 0)));
}
