/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology files on disk: what is read, what is refused, and how one is
 * replaced by another, whoever else is at it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <warmring/fleet.h>

#include "tests/lib/child.h"
#include "tests/lib/tap.h"

static char directory[] = "/tmp/warmring-file-XXXXXX";
static char path[64], other[64];

static const char *at(const char *name) {
    static char text[128];
    snprintf(text, sizeof text, "%s/%s", directory, name);
    return text;
}

static void write_file(const char *where, const char *text, mode_t mode) {
    FILE *file = fopen(where, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || chmod(where, mode) != 0) {
        tap_bail("cannot write %s", where);
    }
}

/* How many files there are: nothing else may be left behind. */
static int files(void) {
    DIR *list = opendir(directory);
    int count = -2; /* . and .. */
    while (readdir(list) != NULL) {
        count++;
    }
    closedir(list);
    return count;
}

static warmring_file_t *create(const char *servers) {
    warmring_topology_t *topology;
    warmring_file_t *file;
    if (warmring_topology_parse(&topology, servers, NULL, 10) != WARMRING_OK ||
        warmring_file_create(&file, topology, NULL, 1000) != WARMRING_OK) {
        tap_bail("cannot create: %s", warmring_error_detail());
    }
    warmring_topology_release(topology);
    return file;
}

static warmring_file_t *edited(const warmring_file_t *file, double weight) {
    warmring_topology_t *topology;
    warmring_file_t *next;
    const warmring_topology_t *now = warmring_file_topology(file);
    if (warmring_topology_set_weight(now, "a", weight, &topology) != WARMRING_OK ||
        warmring_file_edit(file, topology, 2000, &next) != WARMRING_OK) {
        tap_bail("cannot edit: %s", warmring_error_detail());
    }
    warmring_topology_release(topology);
    return next;
}

static void check_content(const warmring_file_t *file, const char *what) {
    warmring_file_t *read;
    tap_status(warmring_file_read(&read, path, 0), WARMRING_OK, "%s: it can be read", what);
    tap_string(read != NULL ? warmring_file_text(read) : NULL, warmring_file_text(file),
               "%s: it is the one", what);
    warmring_file_free(read);
}

static mode_t mode_of(const char *where) {
    struct stat stat_;
    return stat(where, &stat_) == 0 ? stat_.st_mode & 07777 : 0;
}

static void test_create(void) {
    warmring_file_t *a = create("a=h1"), *b = create("a=h1");
    tap_ok(strcmp(warmring_file_text(a), warmring_file_text(b)) != 0, "each has its identity");
    umask(077);
    tap_status(warmring_file_replace(a, path, NULL), WARMRING_OK, "a first file");
    umask(022);
    tap_int(mode_of(path), 0644, "that all may read, whatever the umask");
    check_content(a, "created");
    tap_status(warmring_file_replace(b, path, NULL), WARMRING_TRY_AGAIN, "a second first file");
    tap_contains(warmring_error_detail(), "fleet.json: there is one already", "is refused");
    check_content(a, "still");
    tap_int(files(), 1, "and nothing is left behind");
    warmring_file_free(a);
    warmring_file_free(b);
}

static void check_read(const char *where, uint32_t mode, const char *said) {
    warmring_file_t *file = (void *)&file;
    tap_status(warmring_file_read(&file, where, mode), WARMRING_BAD_FILE, "refused: %s", said);
    tap_ok(file == NULL, "no file");
    tap_contains(warmring_error_detail(), said, "with the reason");
    tap_contains(warmring_error_detail(), where, "and the path");
}

static void test_read(void) {
    warmring_file_t *file;
    check_read(at("none"), 0, "cannot open: No such file or directory");
    check_read(directory, 0, "cannot read: Is a directory");
    mkfifo(at("fifo"), 0600);
    check_read(at("fifo"), 0,
               "cannot read: it is a device, FIFO or socket"); /* and does not wait */
    unlink(at("fifo"));
    write_file(other, "{\n\"epoch\": x}", 0644);
    check_read(other, 0, "other.json:2: invalid token near 'x'");
    write_file(other, "", 0644);
    check_read(other, 0, "other.json:1: ");
    if (truncate(other, (64 << 20) + 1) == 0) {
        check_read(other, 0, "67108865 bytes");
    }
    unlink(other);
    chmod(path, 0664);
    check_read(path, 0, "mode 0664: its group may write to it");
    chmod(path, 0666);
    check_read(path, 0, "mode 0666: everybody may write to it");
    tap_status(warmring_file_read(&file, path, WARMRING_FILE_ANY_WRITER), WARMRING_OK, "allowed");
    warmring_file_free(file);
    tap_status(warmring_file_read(&file, path, 6), WARMRING_BAD_ARGUMENT, "an unknown mode");
    chmod(path, 0644);
}

static void test_replace(void) {
    warmring_file_t *a, *stranger = create("a=h9");
    if (warmring_file_read(&a, path, 0) != WARMRING_OK) {
        tap_bail("cannot read: %s", warmring_error_detail());
    }
    warmring_file_t *b = edited(a, 2), *c = edited(b, 3);
    chmod(path, 0640);
    tap_status(warmring_file_replace(b, path, a), WARMRING_OK, "a by b");
    tap_int(mode_of(path), 0640, "the mode stays");
    check_content(b, "replaced");
    tap_status(warmring_file_replace(c, path, a), WARMRING_TRY_AGAIN, "who has not seen b");
    tap_contains(warmring_error_detail(), "somebody else has changed it", "is told");
    check_content(b, "still b");
    tap_status(warmring_file_replace(c, path, stranger), WARMRING_TRY_AGAIN, "another fleet's");
    tap_status(warmring_file_replace(c, other, b), WARMRING_TRY_AGAIN, "where there is none");
    tap_status(warmring_file_replace(c, at("none/x.json"), NULL), WARMRING_BAD_FILE, "nowhere");
    tap_contains(warmring_error_detail(), "x.json: cannot open its directory", "is told");
    tap_status(warmring_file_replace(c, directory, NULL), WARMRING_TRY_AGAIN, "a directory");
    write_file(path, "{}", 0640);
    tap_status(warmring_file_replace(c, path, b), WARMRING_TRY_AGAIN, "over a bad one");
    write_file(path, warmring_file_text(b), 0640);
    tap_int(files(), 1, "nothing is left behind");

    int held = open(path, O_RDONLY | O_CLOEXEC);
    flock(held, LOCK_EX);
    tap_status(warmring_file_replace(c, path, b), WARMRING_TRY_AGAIN, "while it is locked");
    tap_contains(warmring_error_detail(), "somebody else is changing it", "is told");
    close(held);
    tap_status(warmring_file_replace(c, path, b), WARMRING_OK, "afterwards");
    tap_int(files(), 1, "nothing is left behind");
    warmring_file_free(a);
    warmring_file_free(b);
    warmring_file_free(c);
    warmring_file_free(stranger);
}

/* Laid out by hand it is still what was read. */
static void test_layout(void) {
    warmring_file_t *a = create("a=h1"), *read;
    char text[4096];
    snprintf(text, sizeof text, "\n%s\n\n", warmring_file_text(a));
    write_file(path, text, 0644);
    tap_status(warmring_file_read(&read, path, 0), WARMRING_OK, "read");
    warmring_file_t *b = edited(read, 2);
    tap_status(warmring_file_replace(b, path, read), WARMRING_OK, "replaced");
    check_content(b, "by hand");
    warmring_file_free(a);
    warmring_file_free(b);
    warmring_file_free(read);
}

static void test_link(void) {
    warmring_file_t *a = create("a=h1"), *b = edited(a, 2);
    char link_text[16] = {0};
    write_file(path, warmring_file_text(a), 0644);
    if (symlink("fleet.json", other) != 0) {
        tap_bail("cannot link");
    }
    tap_status(warmring_file_replace(b, other, a), WARMRING_OK, "through a link");
    tap_ok(readlink(other, link_text, sizeof link_text - 1) == 10, "the link stays a link");
    check_content(b, "what it leads to");
    if (chdir(directory) != 0) {
        tap_bail("cannot change the directory");
    }
    tap_status(warmring_file_replace(a, "fleet.json", b), WARMRING_OK, "a name without a path");
    check_content(a, "relative");
    tap_int(files(), 2, "nothing is left behind");
    unlink(other);
    if (chdir("/") != 0) {
        tap_bail("cannot change the directory");
    }
    warmring_file_free(a);
    warmring_file_free(b);
}

/* What the system refuses changes nothing. */
static void test_refused(void) {
    warmring_file_t *a = create("a=h1"), *b = edited(a, 2);
    write_file(path, warmring_file_text(a), 0644);
    pid_t child = child_fork(20);
    if (child == 0) {
        /* Not as root, and in a directory that is not ours. */
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(3);
        }
        _exit(warmring_file_replace(b, path, a) == WARMRING_BAD_FILE &&
                      strstr(warmring_error_detail(), "Permission denied") != NULL
                  ? 0
                  : 1);
    }
    chmod(directory, 0555);
    int status = child_wait(child);
    chmod(directory, 0755);
    tap_int(status, 0, "a directory that cannot be written to");
    check_content(a, "unchanged");
    tap_int(files(), 1, "nothing is left behind");
    warmring_file_free(a);
    warmring_file_free(b);
}

/* Owner and mode of somebody else's file, which only root can keep. */
static void test_owner(void) {
    if (geteuid() != 0) {
        tap_skip("only root can tell who keeps a file's owner");
        return;
    }
    warmring_file_t *a = create("a=h1"), *b = edited(a, 2);
    struct stat after;
    write_file(path, warmring_file_text(a), 0644);
    if (chown(path, 65534, 65533) != 0 || chmod(path, 0604) != 0) {
        tap_bail("cannot give the file away");
    }
    tap_status(warmring_file_replace(b, path, a), WARMRING_OK, "somebody else's file");
    tap_ok(stat(path, &after) == 0 && after.st_uid == 65534 && after.st_gid == 65533 &&
               (after.st_mode & 07777) == 0604,
           "stays his, with its mode");
    unlink(path);
    warmring_file_free(a);
    warmring_file_free(b);
}

/* ---- many at once -------------------------------------------------------- */

enum { WRITERS = 4, ROUNDS = 25 };

static int done, torn, ending;

/* Each raises the weight of what it reads, until it has done so ROUNDS times. */
static void *write_often(void *unused) {
    (void)unused;
    for (int round = 0; round < ROUNDS;) {
        warmring_file_t *now;
        if (warmring_file_read(&now, path, 0) != WARMRING_OK) {
            __atomic_fetch_add(&torn, 1, __ATOMIC_RELAXED);
            break;
        }
        double weight =
            warmring_topology_server(warmring_file_topology(now), WARMRING_OLD_RING, 0)->weight;
        warmring_file_t *next = edited(now, weight + 1);
        warmring_status_t status = warmring_file_replace(next, path, now);
        if (status == WARMRING_OK) {
            round++;
            __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
        } else if (status != WARMRING_TRY_AGAIN) {
            __atomic_fetch_add(&torn, 1, __ATOMIC_RELAXED);
            round = ROUNDS;
        }
        warmring_file_free(now);
        warmring_file_free(next);
    }
    return NULL;
}

static void *read_often(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&ending, __ATOMIC_RELAXED)) {
        warmring_file_t *now;
        if (warmring_file_read(&now, path, 0) != WARMRING_OK) {
            __atomic_fetch_add(&torn, 1, __ATOMIC_RELAXED);
        }
        warmring_file_free(now);
    }
    return NULL;
}

/* No change is lost, and nobody reads a half. */
static void test_race(void) {
    warmring_file_t *first = create("a=h1:1:1"), *last;
    pthread_t writers[WRITERS], reader;
    write_file(path, warmring_file_text(first), 0644);
    for (int i = 0; i < WRITERS; i++) {
        pthread_create(&writers[i], NULL, write_often, NULL);
    }
    pthread_create(&reader, NULL, read_often, NULL);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i], NULL);
    }
    __atomic_store_n(&ending, 1, __ATOMIC_RELAXED);
    pthread_join(reader, NULL);
    tap_int(torn, 0, "every read is of a whole file");
    tap_int(done, WRITERS * ROUNDS, "every writer gets through");
    if (warmring_file_read(&last, path, 0) != WARMRING_OK) {
        tap_bail("cannot read: %s", warmring_error_detail());
    }
    const warmring_topology_t *topology = warmring_file_topology(last);
    tap_near(warmring_topology_server(topology, WARMRING_OLD_RING, 0)->weight, 1 + WRITERS * ROUNDS,
             0, "no change is lost");
    tap_int((int64_t)warmring_topology_epoch(topology), 1 + WRITERS * ROUNDS, "the epoch says so");
    tap_int(files(), 1, "nothing is left behind");
    warmring_file_free(first);
    warmring_file_free(last);
}

int main(void) {
    if (mkdtemp(directory) == NULL || chmod(directory, 0755) != 0) {
        tap_bail("no temporary directory");
    }
    snprintf(path, sizeof path, "%s/fleet.json", directory);
    snprintf(other, sizeof other, "%s/other.json", directory);
    test_create();
    test_read();
    test_replace();
    test_layout();
    test_link();
    test_refused();
    test_owner();
    test_race();
    unlink(path);
    tap_int(rmdir(directory), 0, "the directory is empty in the end");
    return tap_done();
}
