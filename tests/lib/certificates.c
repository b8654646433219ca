/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates by the openssl command.
 */
#include "certificates.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "tap.h"

enum { PATHS = 8, PATH_SIZE = 128 };

static char directory[] = "/tmp/warmring-tls-XXXXXX";
static pid_t owner;

static const char recipe[] =
    "command -v openssl >/dev/null || exit 77\n"
    "exec >log 2>&1\n"
    "set -e\n"
    "ec='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'\n"
    "openssl req -x509 $ec -keyout ca.key -out ca.pem -subj /CN=ca -days 30\n"
    "openssl req -x509 $ec -keyout other-key.pem -out other-ca.pem -subj /CN=other -days 30\n"
    "openssl req -new $ec -keyout key.pem -out request -subj /CN=test\n"
    "make() {\n"
    "    echo \"subjectAltName=$2\" >extension\n"
    "    openssl x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial \\\n"
    "        -days $3 -extfile extension -out $1.pem\n"
    "}\n"
    "make good DNS:localhost,IP:127.0.0.1 30\n"
    "make named DNS:cache.example 30\n"
    "make expired DNS:localhost,IP:127.0.0.1 -1\n"
    "make client DNS:client.example 30\n"
    "cat key.pem >>client.pem\n"
    "openssl ec -in key.pem -aes128 -passout pass:secret -out locked.pem\n"
    "chmod 644 *\n";

static void clean_up(void) {
    char command[sizeof directory + 16];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    if (getpid() == owner && system(command) != 0) {
        tap_note("%s is left", directory);
    }
}

static void make_all(void) {
    char command[sizeof recipe + sizeof directory + 16];
    if (mkdtemp(directory) == NULL) {
        tap_bail("no directory for certificates");
    }
    owner = getpid();
    atexit(clean_up);
    snprintf(command, sizeof command, "cd %s\n%s", directory, recipe);
    int status = system(command);
    if (status == 77 << 8 && getenv("CI") == NULL) {
        tap_skip_all("openssl is missing; on Debian: apt-get install openssl");
    }
    if (status != 0) {
        snprintf(command, sizeof command, "cat %s/log >&2", directory);
        tap_bail("openssl made no certificates: %#x, %d", (unsigned)status, system(command));
    }
}

const char *certificate_path(const char *name) {
    static char paths[PATHS][PATH_SIZE];
    static unsigned next;
    if (owner == 0) {
        make_all();
    }
    char *path = paths[next++ % PATHS];
    snprintf(path, PATH_SIZE, "%s/%s", directory, name);
    return path;
}
