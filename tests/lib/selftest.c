/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test library tested: tap's output and exit codes, seen from outside by
 * running this program again with the name of a case; then the fixture.
 */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "tap.h"

enum { OUTPUT_SIZE = 4096 };

/* ---- the cases ---- */

static int all_hold(void) {
    tap_ok(true, "sums of %d", 2);
    tap_int(6, 6, "products");
    tap_string("a", "a", "strings");
    tap_string(NULL, NULL, "no strings");
    tap_bytes("a\0b", 3, "a\0b", 3, "bytes");
    tap_near(1.0, 1.1, 0.2, "about");
    tap_status(WARMRING_OK, WARMRING_OK, "statuses");
    tap_contains("haystack", "stack", "pieces");
    tap_note("a note");
    return tap_done();
}

static int none_holds(void) {
    tap_ok(false, "sums");
    tap_int(5, -6, "products");
    tap_string("a\r\nb", "c", "strings");
    tap_string(NULL, "c", "no string");
    tap_bytes("abcd", 4, "abXd", 4, "bytes");
    tap_bytes("ab", 2, "abc", 3, "shorter");
    tap_near(1.0, 1.5, 0.2, "about");
    tap_near(0.0 / (double)strlen(""), 1.5, 100, "no number");
    tap_status(WARMRING_NOT_FOUND, WARMRING_OK, "statuses");
    tap_contains("haystack", "needle", "pieces");
    return tap_done();
}

static int odd_words(void) {
    tap_ok(true, "one\ntwo # TODO no directive");
    tap_skip("no %s", "luck");
    return tap_done();
}

static int bails(void) {
    tap_ok(true, "first");
    tap_bail("no %s left", "air");
}

static int skips_all(void) {
    tap_skip_all("nothing to do");
}

static int skips_late(void) {
    tap_ok(true, "first");
    tap_skip_all("nothing to do");
}

static int does_nothing(void) {
    return tap_done();
}

/* A server that must not outlive its test, however that ends. */
static int crashes(void) {
    fixture_t *fixture = fixture_start(0, NULL);
    fixture_add_unix(fixture);
    tap_note("pid=%d", (int)fixture_pid(fixture, 0));
    tap_note("%s", fixture_address(fixture, 0));
    kill(getpid(), SIGKILL);
    return 0;
}

static int bails_with_server(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    tap_note("pid=%d", (int)fixture_pid(fixture, 0));
    tap_bail("on purpose");
}

static int fails_with_server(void) {
    static const char *const verbose[] = {"-vv", NULL};
    fixture_t *fixture = fixture_start(1, verbose);
    tap_ok(false, "on purpose");
    fixture_free(fixture);
    return tap_done();
}

static int finds_no_memcached(void) {
    setenv("PATH", "/nonexistent", 1);
    fixture_free(fixture_start(1, NULL));
    return tap_done();
}

static const struct {
    const char *name;
    int (*run)(void);
    int exit_code;      /* -1: killed */
    const char *output; /* the whole of it; NULL: checked elsewhere */
} cases[] = {
    {"all hold", all_hold, 0,
     "ok 1 - sums of 2\nok 2 - products\nok 3 - strings\nok 4 - no strings\nok 5 - bytes\n"
     "ok 6 - about\nok 7 - statuses\nok 8 - pieces\n# a note\n1..8\n"},
    {"none holds", none_holds, 1, NULL},
    {"odd words", odd_words, 0,
     "ok 1 - one\\ntwo \\# TODO no directive\nok 2 # SKIP no luck\n1..2\n"},
    {"bails", bails, 255, "ok 1 - first\nBail out! no air left\n"},
    {"skips all", skips_all, 0, "1..0 # SKIP nothing to do\n"},
    {"skips late", skips_late, 255, "ok 1 - first\nBail out! tap_skip_all() after 1 tests\n"},
    {"does nothing", does_nothing, 255, "Bail out! no test ran\n"},
    {"crashes", crashes, -1, NULL},
    {"bails with server", bails_with_server, 255, NULL},
    {"fails with server", fails_with_server, 1, NULL},
    {"finds no memcached", finds_no_memcached, 0,
     "1..0 # SKIP memcached is missing; on Debian: apt-get install memcached\n"},
    {"finds no memcached in CI", finds_no_memcached, 255,
     "Bail out! memcached is missing; on Debian: apt-get install memcached\n"},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- running them ---- */

static size_t read_all(int fd, char *output) {
    size_t length = 0;
    for (;;) {
        ssize_t got = read(fd, output + length, OUTPUT_SIZE - 1 - length);
        if (got <= 0 && errno != EINTR) {
            break;
        }
        length += got > 0 ? (size_t)got : 0;
    }
    output[length] = '\0';
    return length;
}

/* Runs one case in a program of its own; returns its exit code. */
static int run_case(const char *name, char output[OUTPUT_SIZE]) {
    int ends[2];
    if (pipe(ends) != 0) {
        tap_bail("pipe: %s", strerror(errno));
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        unsetenv("CI");
        unsetenv("MEMCACHED");
        if (strstr(name, "in CI") != NULL) {
            setenv("CI", "true", 1);
        }
        execl("/proc/self/exe", "selftest", name, (char *)NULL);
        _exit(126);
    }
    close(ends[1]);
    errno = 0;
    read_all(ends[0], output);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A crash leaves its directory, with a socket and a log. */
static void remove_directory(const char *output) {
    char path[256] = "";
    const char *address = strstr(output, "unix:");
    if (address != NULL && sscanf(address, "unix:%200s", path) == 1) {
        unlink(path);
        strcat(path, ".log");
        unlink(path);
        *strrchr(path, '/') = '\0';
        rmdir(path);
    }
}

static void test_cases(void) {
    char output[OUTPUT_SIZE];
    for (size_t i = 0; i < CASES; i++) {
        int code = run_case(cases[i].name, output);
        tap_int(code, cases[i].exit_code, "exit code: %s", cases[i].name);
        if (cases[i].output != NULL) {
            tap_string(output, cases[i].output, "output: %s", cases[i].name);
        }
        remove_directory(output);
    }
}

static void test_failures_explain(void) {
    static const char *const pieces[] = {
        "not ok 1 - sums\n#   at ",
        "selftest.c:",
        "not ok 2 - products\n",
        "got 5, expected -6\n",
        "got \"a\\r\\nb\", expected \"c\"\n",
        "got \"(null)\", expected \"c\"\n",
        "got 4 bytes, expected 4; from byte 2 on: 63 64; expected: 58 64\n",
        "got 2 bytes, expected 3; from byte 2 on:; expected: 63\n",
        "got 1, expected 1.5 within 0.2\n",
        "got NOT_FOUND, expected OK;",
        "no \"needle\" in \"haystack\"\n",
        "# 10 of 10 failed\n1..10\n",
    };
    char output[OUTPUT_SIZE];
    run_case("none holds", output);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        tap_contains(output, pieces[i], "a failure tells: %s", pieces[i]);
    }
}

/* Whether a process is gone, zombies of others included, within 5 seconds. */
static bool is_gone(pid_t pid) {
    for (int i = 0; i < 500; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
        char first = '\0';
        FILE *file = fopen(path, "re");
        size_t got = file != NULL ? fread(&first, 1, 1, file) : 0;
        if (file != NULL) {
            fclose(file);
        }
        if (got == 0) { /* a zombie's is empty */
            return true;
        }
        usleep(10000);
    }
    return false;
}

static void test_servers_die_with_test(const char *name) {
    char output[OUTPUT_SIZE];
    run_case(name, output);
    const char *pid = strstr(output, "pid=");
    tap_ok(pid != NULL && atoi(pid + 4) > 0 && is_gone((pid_t)atoi(pid + 4)),
           "no server is left: %s", name);
    remove_directory(output);
}

static void test_failed_shows_log(void) {
    char output[OUTPUT_SIZE];
    run_case("fails with server", output);
    tap_contains(output, "# log of 127.0.0.1:", "a failed test shows the servers' logs");
    tap_contains(output, "#   slab class ", "with their lines");
}

/* ---- the fixture ---- */

static const char *ask(const fixture_t *fixture, size_t index, const char *command,
                       const char *until) {
    static char reply[OUTPUT_SIZE];
    fixture_raw(fixture, index, command, until, reply, sizeof reply);
    return reply;
}

static void test_three_servers(fixture_t *fixture) {
    char expected[256];
    snprintf(expected, sizeof expected, "%s,%s,%s", fixture_address(fixture, 0),
             fixture_address(fixture, 1), fixture_address(fixture, 2));
    tap_string(fixture_servers(fixture), expected, "all addresses");
    *strrchr(expected, ',') = '\0';
    tap_string(fixture_first_servers(fixture, 2), expected, "the first two");
    snprintf(expected, sizeof expected, "127.0.0.1:%u", (unsigned)fixture_port(fixture, 2));
    tap_string(fixture_address(fixture, 2), expected, "one address");

    for (size_t i = 0; i < 3; i++) {
        tap_string(ask(fixture, i, "set k 0 0 1\r\nx\r\n", "\r\n"), "STORED\r\n", "stores");
    }
    tap_string(ask(fixture, 1, "get k\r\n", "END\r\n"), "VALUE k 0 1\r\nx\r\nEND\r\n", "reads");
    fixture_flush(fixture);
    tap_string(ask(fixture, 1, "get k\r\n", "END\r\n"), "END\r\n", "flushed");
}

static void test_restart(fixture_t *fixture) {
    uint16_t port = fixture_port(fixture, 0);
    pid_t before = fixture_pid(fixture, 0);
    ask(fixture, 0, "set k 0 0 1\r\nx\r\n", "\r\n");
    fixture_kill(fixture, 0);
    tap_int(fixture_pid(fixture, 0), 0, "killed: no pid");
    tap_ok(kill(before, 0) != 0 && errno == ESRCH, "killed: waited for");
    fixture_restart(fixture, 0);
    tap_int(fixture_port(fixture, 0), port, "restarted on its port");
    tap_ok(fixture_pid(fixture, 0) > 0 && fixture_pid(fixture, 0) != before, "as a new process");
    tap_string(ask(fixture, 0, "get k\r\n", "END\r\n"), "END\r\n", "and empty");
    before = fixture_pid(fixture, 0);
    fixture_restart(fixture, 0);
    tap_ok(kill(before, 0) != 0, "a running server is killed first");
}

/* How many threads of a process are not stopped; -1 when there is none. */
static int running_threads(pid_t pid) {
    char pattern[64];
    snprintf(pattern, sizeof pattern, "/proc/%d/task/*/stat", (int)pid);
    glob_t threads;
    if (glob(pattern, 0, NULL, &threads) != 0) {
        return -1;
    }
    int running = 0;
    for (size_t i = 0; i < threads.gl_pathc; i++) {
        char state = '?';
        FILE *file = fopen(threads.gl_pathv[i], "re");
        if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1 || state != 'T') {
            running++;
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    globfree(&threads);
    return running;
}

static void test_stop(fixture_t *fixture) {
    for (int i = 0; i < 20; i++) {
        fixture_stop(fixture, 1);
        tap_int(running_threads(fixture_pid(fixture, 1)), 0, "stopped at once, all of it");
        fixture_continue(fixture, 1);
    }
    tap_string(ask(fixture, 1, "mn\r\n", "\r\n"), "MN\r\n", "answers when continued");
    fixture_stop(fixture, 1);
    fixture_stop(fixture, 1);
    fixture_restart(fixture, 1);
    tap_string(ask(fixture, 1, "mn\r\n", "\r\n"), "MN\r\n", "a stopped one restarts");
}

static void test_more_servers(fixture_t *fixture) {
    static const char *const no_cas[] = {"-C", NULL};
    size_t local = fixture_add_unix(fixture);
    tap_int((int64_t)local, 3, "a unix socket is one more");
    tap_contains(fixture_address(fixture, local), "unix:/", "its address");
    tap_int(fixture_port(fixture, local), 0, "has no port");
    tap_string(ask(fixture, local, "mn\r\n", "\r\n"), "MN\r\n", "and answers");
    fixture_restart(fixture, local);
    tap_string(ask(fixture, local, "mn\r\n", "\r\n"), "MN\r\n", "and restarts");

    size_t without = fixture_add(fixture, no_cas);
    ask(fixture, without, "set k 0 0 1\r\nx\r\n", "\r\n");
    tap_string(ask(fixture, without, "mg k c\r\n", "\r\n"), "HD c0\r\n", "arguments are passed on");
    fixture_restart(fixture, without);
    ask(fixture, without, "set k 0 0 1\r\nx\r\n", "\r\n");
    tap_string(ask(fixture, without, "mg k c\r\n", "\r\n"), "HD c0\r\n", "by a restart too");
}

static void test_fixture(void) {
    fixture_t *fixture = fixture_start(3, NULL);
    test_three_servers(fixture);
    test_restart(fixture);
    test_stop(fixture);
    test_more_servers(fixture);

    pid_t pids[5];
    char directory[256];
    for (size_t i = 0; i < 5; i++) {
        pids[i] = fixture_pid(fixture, i);
    }
    snprintf(directory, sizeof directory, "%s", fixture_address(fixture, 3) + strlen("unix:"));
    *strrchr(directory, '/') = '\0';
    tap_int(access(directory, F_OK), 0, "the directory is there");
    fixture_stop(fixture, 2);
    fixture_free(fixture);
    for (size_t i = 0; i < 5; i++) {
        tap_ok(kill(pids[i], 0) != 0 && errno == ESRCH, "freed: server %zu is gone", i);
    }
    tap_ok(access(directory, F_OK) != 0, "freed: the directory is gone");
    fixture_free(NULL);
}

int main(int count, char **arguments) {
    for (size_t i = 0; count == 2 && i < CASES; i++) {
        if (strcmp(arguments[1], cases[i].name) == 0) {
            return cases[i].run();
        }
    }
    test_cases();
    test_failures_explain();
    test_fixture();
    test_failed_shows_log();
    test_servers_die_with_test("crashes");
    test_servers_die_with_test("bails with server");
    return tap_done();
}
