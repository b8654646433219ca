/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No memory for files on disk and for imports: every operation with its first,
 * second, third ... allocation failing until it succeeds. Each failure is
 * OUT_OF_MEMORY, gives nothing, keeps nothing and changes no file. (What
 * jansson and libyaml take is another matter: tests/topology/file_memory.c.)
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <warmring/fleet.h>
#include <warmring/memory.h>

#include "../lib/scarce.h"
#include "../lib/tap.h"

static char directory[] = "/tmp/warmring-memory-XXXXXX";
static char path[64];
static const warmring_file_t *present, *next;

static warmring_status_t import(const char *format, const char *text) {
    warmring_import_t *result = (void *)&result;
    warmring_status_t status = warmring_import(&result, format, text, strlen(text), NULL);
    if ((status == WARMRING_OK) != (result != NULL)) {
        tap_ok(false, "an import exactly when OK");
    }
    warmring_import_free(status == WARMRING_OK ? result : NULL);
    return status;
}

static warmring_status_t do_read(void) {
    warmring_file_t *file = (void *)&file;
    warmring_status_t status = warmring_file_read(&file, path, 0);
    if ((status == WARMRING_OK) != (file != NULL)) {
        tap_ok(false, "a file exactly when OK");
    }
    warmring_file_free(status == WARMRING_OK ? file : NULL);
    return status;
}
/* There and back, so that it can be repeated. */
static warmring_status_t do_replace(void) {
    warmring_status_t status = warmring_file_replace(next, path, present);
    if (status == WARMRING_OK) {
        status = warmring_file_replace(present, path, next);
        if (status != WARMRING_OK) {
            long left = countdown;
            bool had_failed = failed;
            countdown = -1;
            if (warmring_file_replace(present, path, next) != WARMRING_OK) {
                tap_bail("cannot go back: %s", warmring_error_detail());
            }
            countdown = left;
            failed = had_failed;
        }
    }
    return status;
}
static warmring_status_t do_list(void) {
    return import("list", "a=h1,h2:2:3");
}
static warmring_status_t do_nginx(void) {
    return import("nginx", "upstream u { hash $uri consistent; server h1; server h2 down; }");
}
#if WR_WITH_LIBMEMCACHED
static warmring_status_t do_libmemcached(void) {
    return import("libmemcached", "--SERVER=h1 --SERVER=h2 --NAMESPACE=\"x\" --SORT-HOSTS");
}
#if WR_WITH_LIBYAML
static warmring_status_t do_twemproxy(void) {
    return import("twemproxy", "p:\n hash: md5\n timeout: 3\n servers: [\"h:1:1 a\", \"i:2:2\"]\n");
}
#endif
#endif

static const struct {
    warmring_status_t (*run)(void);
    const char *name;
    long at_least;
} operations[] = {
    {do_read, "read", 10},
    {do_replace, "replace", 4},
    {do_list, "list", 10},
    {do_nginx, "nginx", 10},
#if WR_WITH_LIBMEMCACHED
    {do_libmemcached, "libmemcached", 10},
#if WR_WITH_LIBYAML
    {do_twemproxy, "twemproxy", 10},
#endif
#endif
};

static void check_operation(size_t index) {
    enum { LIMIT = 1000 };
    const char *name = operations[index].name;
    long before = live, tries = 0, wrong = 0;
    for (; tries < LIMIT; tries++) {
        countdown = tries;
        failed = false;
        warmring_status_t status = operations[index].run();
        countdown = -1;
        if (!failed) {
            tap_status(status, WARMRING_OK, "%s: succeeds with %ld allocations", name, tries);
            break;
        }
        if (status != WARMRING_OUT_OF_MEMORY || live != before) {
            tap_ok(false, "%s: allocation %ld fails: %s, %ld blocks", name, tries + 1,
                   warmring_status_name(status), live - before);
            live = before;
            wrong++;
        }
    }
    tap_int(wrong, 0, "%s: each failure is OUT_OF_MEMORY and leaks nothing", name);
    tap_ok(tries >= operations[index].at_least && tries < LIMIT, "%s: %ld allocations were failed",
           name, tries);
    tap_int(live, before, "%s: nothing leaks", name);
}

int main(void) {
    warmring_topology_t *topology, *other;
    warmring_file_t *file, *edited;
    countdown = -1;
    warmring_set_memory_functions(allocate, resize, release);
    if (mkdtemp(directory) == NULL) {
        tap_bail("no temporary directory");
    }
    snprintf(path, sizeof path, "%s/f.json", directory);
    if (warmring_topology_parse(&topology, "a=h1,h2:2:3", NULL, 10) != WARMRING_OK ||
        warmring_topology_set_weight(topology, "a", 2, &other) != WARMRING_OK ||
        warmring_file_create(&file, topology, NULL, 0) != WARMRING_OK ||
        warmring_file_edit(file, other, 0, &edited) != WARMRING_OK ||
        warmring_file_replace(file, path, NULL) != WARMRING_OK) {
        tap_bail("no file: %s", warmring_error_detail());
    }
    present = file;
    next = edited;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        check_operation(i);
    }
    warmring_topology_release(topology);
    warmring_topology_release(other);
    warmring_file_free(file);
    warmring_file_free(edited);
    unlink(path);
    tap_int(rmdir(directory), 0, "no file is left behind");
    tap_int(live, 0, "in the end nothing is left");
    return tap_done();
}
