/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subcommand: what it is called, what it takes, and what it does.
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <stddef.h>

enum { MOST_OPTIONS = 16 };

/* `value` is what help calls its value; NULL: it takes none. */
typedef struct {
    const char *name;
    const char *value;
    const char *help;
} option_t;

typedef struct {
    const char *name;        /* of one word or two, as in "topology show" */
    const char *summary;     /* one line */
    const char *operands;    /* as --help has them, "FILE PERCENT"; NULL: none */
    int least, most;         /* how many operands there may be; most 0: as many as
                                `operands` has words, all of them */
    const char *text;        /* paragraphs below the options in --help */
    const option_t *options; /* the last one has no name */
    size_t needed;           /* how many of the first must be given */
    /* values[i] belongs to options[i]: NULL when it was not given, its name
     * when it takes no value. `operands` ends with NULL. Returns how the
     * program ends. */
    int (*run)(const char *const *values, const char *const *operands);
} command_t;

extern const command_t balance_command;
extern const command_t diff_command;
extern const command_t locate_command;
extern const command_t migrate_announce_command;
extern const command_t migrate_begin_command;
extern const command_t migrate_commit_command;
extern const command_t migrate_finish_command;
extern const command_t migrate_rollback_command;
extern const command_t migrate_status_command;
extern const command_t migrate_warm_command;
extern const command_t plan_command;
extern const command_t reweight_command;
extern const command_t stat_command;
extern const command_t sweep_command;
extern const command_t topology_check_command;
extern const command_t topology_import_command;
extern const command_t topology_init_command;
extern const command_t topology_show_command;

/*
 * Reads the arguments behind the command's name and runs it.
 */
int run_command(const command_t *command, char **arguments);

/*
 * Values: FAILED or MISUSED with a complaint, or ENDED_WELL. `option` is the
 * name for complaints. A NULL text leaves *value alone.
 */
int read_positive(const char *option, const char *text, double *value);
int read_share(const char *option, const char *text, double *value); /* "5%" or "0.05" */
int read_count(const char *option, const char *text, double least, double most, double *value);

#endif
