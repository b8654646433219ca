/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing a topology file.
 *
 * Readers take no lock: the new text is written to a file beside the old one,
 * synced, and renamed over it, so that every reader and every crash finds the
 * one or the other. Two writers are kept apart by a lock on the old file
 * itself. A rename leaves the lock on a file that has no name any more, so
 * whoever gets a lock looks whether the name still leads to the file he
 * locked; if not, somebody else has replaced it since he read it. A first file
 * is put in place by link(), which fails where there is one already.
 *
 * A path that is a symbolic link stays one: what it leads to is replaced.
 *
 * Mode and owner are carried over; where the system does not let us give the
 * owner back, nothing is replaced. Access lists and other attributes are not
 * carried over. Only a process that is killed between two calls can leave the
 * file beside (".NAME.XXXXXX") behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/memory.h"
#include "fleet/file.h"
#include "topology/file.h"

/* Where the file goes: links resolved, and its directory open. */
typedef struct {
    const char *path; /* as given, for texts */
    char *directory;
    const char *base; /* the name in it */
    int descriptor;   /* of the directory */
    int locked;       /* of the file that is replaced, locked; -1: there is none */
    struct stat stat; /* of that file */
    char temporary[256];
} place_t;

enum { NEW_FILE_MODE = 0644 };

/* ---- where ------------------------------------------------------------------- */

/* The path without links; as it is where there is no file yet. */
static char *resolve(const char *path) {
    char *real = realpath(path, NULL);
    char *copy = NULL;
    if (real != NULL || errno == ENOENT) {
        copy = real != NULL ? wr_copy(real, strlen(real)) : wr_copy(path, strlen(path));
        errno = ENOMEM;
    }
    free(real);
    return copy;
}

static warmring_status_t open_directory(place_t *place) {
    char *slash = strrchr(place->directory, '/');
    const char *name = ".";
    place->base = place->directory;
    if (slash != NULL) {
        place->base = slash + 1;
        *slash = '\0';
        name = slash == place->directory ? "/" : place->directory;
    }
    if (place->base[0] == '\0' || strlen(place->base) + 9 > sizeof place->temporary) {
        return wr_fail_file(place->path, "cannot write",
                            place->base[0] == '\0' ? EISDIR : ENAMETOOLONG);
    }
    place->descriptor = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return place->descriptor >= 0 ? WARMRING_OK
                                  : wr_fail_file(place->path, "cannot open its directory", errno);
}

static warmring_status_t find_place(place_t *place, const char *path) {
    *place = (place_t){.path = path, .descriptor = -1, .locked = -1};
    place->directory = resolve(path);
    return place->directory != NULL ? open_directory(place)
                                    : wr_fail_file(path, "cannot open", errno);
}

static void leave_place(place_t *place) {
    if (place->locked >= 0) {
        close(place->locked);
    }
    if (place->descriptor >= 0) {
        close(place->descriptor);
    }
    wr_free(place->directory);
}

/* ---- the file that is there ---------------------------------------------------- */

static warmring_status_t fail_changed(const place_t *place) {
    return wr_fail(WARMRING_TRY_AGAIN, "%s: somebody else has changed it since it was read",
                   place->path);
}

/* For writing if that is possible, which some file systems ask of a lock. */
static int open_to_lock(const place_t *place) {
    const int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
    int descriptor = openat(place->descriptor, place->base, O_RDWR | flags);
    if (descriptor < 0 && errno != ENOENT) {
        descriptor = openat(place->descriptor, place->base, O_RDONLY | flags);
    }
    return descriptor;
}

static warmring_status_t lock(place_t *place) {
    struct stat named;
    place->locked = open_to_lock(place);
    if (place->locked < 0) {
        return errno == ENOENT ? fail_changed(place)
                               : wr_fail_file(place->path, "cannot open", errno);
    }
    while (flock(place->locked, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return wr_fail(WARMRING_TRY_AGAIN, "%s: somebody else is changing it", place->path);
        }
        if (errno != EINTR) {
            return wr_fail_file(place->path, "cannot lock", errno);
        }
    }
    if (fstat(place->locked, &place->stat) != 0) {
        return wr_fail_file(place->path, "cannot read", errno);
    }
    bool same = fstatat(place->descriptor, place->base, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                named.st_ino == place->stat.st_ino && named.st_dev == place->stat.st_dev;
    return same ? WARMRING_OK : fail_changed(place);
}

/* What was written by hand may be laid out otherwise than we do. */
static warmring_status_t compare_content(const place_t *place, const wr_content_t *content,
                                         const warmring_file_t *expected) {
    warmring_file_t *present;
    if (strcmp(content->bytes, expected->text) == 0) {
        return WARMRING_OK;
    }
    wr_file_rings_t rings = {.like = expected->topology};
    warmring_status_t status =
        wr_file_parse(&present, content->bytes, content->length, place->path, &rings);
    if (status != WARMRING_OK) {
        return status == WARMRING_OUT_OF_MEMORY ? status : fail_changed(place);
    }
    bool same = strcmp(present->text, expected->text) == 0;
    warmring_file_free(present);
    return same ? WARMRING_OK : fail_changed(place);
}

static warmring_status_t check_present(place_t *place, const warmring_file_t *expected) {
    wr_content_t content;
    warmring_status_t status = lock(place);
    if (status == WARMRING_OK) {
        status =
            wr_content_read_from(&content, place->locked, place->path, WARMRING_FILE_ANY_WRITER);
    }
    if (status == WARMRING_OK) {
        status = compare_content(place, &content, expected);
        wr_free(content.bytes);
    }
    return status;
}

/* ---- the new one ---------------------------------------------------------------- */

static bool write_all(int descriptor, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t done = write(descriptor, bytes, length);
        if (done < 0 && errno != EINTR) {
            return false;
        }
        bytes += done > 0 ? done : 0;
        length -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* Makes the file beside; its name is in place->temporary from then on. */
static int create_temporary(place_t *place) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    int descriptor = -1;
    for (unsigned attempt = 0; attempt < 100 && descriptor < 0; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        uint64_t number = (uint64_t)now.tv_nsec * 2654435761u + (uint64_t)getpid() + attempt;
        char suffix[7] = {0};
        for (size_t i = 0; i < sizeof suffix - 1; i++, number >>= 5) {
            suffix[i] = letters[number % 32];
        }
        snprintf(place->temporary, sizeof place->temporary, ".%s.%s", place->base, suffix);
        descriptor = openat(place->descriptor, place->temporary,
                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (descriptor < 0 && errno != EEXIST) {
            break;
        }
    }
    return descriptor;
}

/* Owner first: changing it may take mode bits away. */
static bool give_owner_and_mode(const place_t *place, int descriptor) {
    mode_t mode = NEW_FILE_MODE;
    if (place->locked >= 0) {
        struct stat made;
        mode = place->stat.st_mode & 07777;
        if (fstat(descriptor, &made) != 0) {
            return false;
        }
        bool same = made.st_uid == place->stat.st_uid && made.st_gid == place->stat.st_gid;
        if (!same && fchown(descriptor, place->stat.st_uid, place->stat.st_gid) != 0) {
            return false;
        }
    }
    return fchmod(descriptor, mode) == 0;
}

static warmring_status_t fill_temporary(const place_t *place, int descriptor, const char *text) {
    if (!write_all(descriptor, text, strlen(text))) {
        return wr_fail_file(place->path, "cannot write beside it", errno);
    }
    if (!give_owner_and_mode(place, descriptor)) {
        return wr_fail_file(place->path, "cannot give the new file its owner and mode", errno);
    }
    return fsync(descriptor) == 0 ? WARMRING_OK : wr_fail_file(place->path, "cannot sync", errno);
}

static warmring_status_t write_temporary(place_t *place, const char *text) {
    int descriptor = create_temporary(place);
    if (descriptor < 0) {
        int error = errno;
        place->temporary[0] = '\0';
        return wr_fail_file(place->path, "cannot write beside it", error);
    }
    warmring_status_t status = fill_temporary(place, descriptor, text);
    if (close(descriptor) != 0 && errno != EINTR && status == WARMRING_OK) {
        status = wr_fail_file(place->path, "cannot write beside it", errno);
    }
    return status;
}

/* Gives it the name. The temporary one is gone afterwards if OK. */
static warmring_status_t put_in_place(place_t *place) {
    int directory = place->descriptor;
    if (place->locked >= 0) {
        if (renameat(directory, place->temporary, directory, place->base) != 0) {
            return wr_fail_file(place->path, "cannot replace", errno);
        }
        place->temporary[0] = '\0';
        return WARMRING_OK;
    }
    if (linkat(directory, place->temporary, directory, place->base, 0) == 0) {
        return WARMRING_OK;
    }
    return errno == EEXIST ? wr_fail(WARMRING_TRY_AGAIN, "%s: there is one already", place->path)
                           : wr_fail_file(place->path, "cannot create", errno);
}

/* Some file systems know no such thing as syncing a directory. */
static warmring_status_t sync_directory(const place_t *place) {
    if (fsync(place->descriptor) == 0 || errno == EINVAL || errno == EBADF) {
        return WARMRING_OK;
    }
    return wr_fail_file(place->path, "in place, but its directory cannot be synced", errno);
}

static warmring_status_t replace(place_t *place, const char *text) {
    warmring_status_t status = write_temporary(place, text);
    if (status == WARMRING_OK) {
        status = put_in_place(place);
    }
    if (place->temporary[0] != '\0') {
        unlinkat(place->descriptor, place->temporary, 0);
    }
    return status == WARMRING_OK ? sync_directory(place) : status;
}

warmring_status_t warmring_file_replace(const warmring_file_t *file, const char *path,
                                        const warmring_file_t *expected) {
    place_t place;
    if (WR_HAS_NULL(file, path)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = find_place(&place, path);
    if (status == WARMRING_OK && expected != NULL) {
        status = check_present(&place, expected);
    }
    if (status == WARMRING_OK) {
        status = replace(&place, file->text);
    }
    leave_place(&place);
    return status;
}
