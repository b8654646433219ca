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
    &locate_command,
    &plan_command,
    &diff_command,
    &balance_command,
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_commands(FILE *stream) {
    fputs("Usage: warmring COMMAND [OPTION]...\n\n", stream);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(stream, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("\nwarmring COMMAND --help tells more of each, and so does man warmring-COMMAND.\n",
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
        if (strcmp(commands[i]->name, name) == 0) {
            return run_command(commands[i], arguments + 1);
        }
    }
    return misuse("unknown %s \"%s\"", name[0] == '-' ? "option" : "command", name);
}

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    return finish_output(dispatch(arguments + (count > 0)));
}
