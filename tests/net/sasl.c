/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SASL, which libmemcached has: credentials of a memcached_st, against a
 * `memcached -S` with a user database of its own. Needs a memcached that was
 * built with SASL, and libsasl2's plugins PLAIN and sasldb; on Debian these are
 * memcached, libsasl2-modules and libsasl2-modules-db. Skipped without them, and
 * a failure if CI is set.
 */
#include "net.h"

#include <warmring/libmemcached.h>
#include <warmring/warmring.h>

#include <dlfcn.h>
#include <limits.h>
#include <pwd.h>
#include <sasl/sasl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 128, WAIT_MS = 10000 };

static char directory[] = "/tmp/warmring-sasl-XXXXXX";
static char database[PATH_SIZE];
static pid_t pid;

static void path_of(char path[PATH_SIZE], const char *name) {
    snprintf(path, PATH_SIZE, "%s/%s", directory, name);
}

/* libsasl2 asks for its options: where the database is. */
static int get_option(void *context, const char *plugin, const char *option, const char **result,
                      unsigned *length) {
    (void)context;
    (void)plugin;
    if (strcmp(option, "sasldb_path") != 0) {
        return SASL_FAIL;
    }
    *result = database;
    if (length != NULL) {
        *length = (unsigned)strlen(database);
    }
    return SASL_OK;
}

/* Fills the database; libsasl2 is here because libmemcached needs it. */
static bool add_user(const char *name, const char *password) {
    void *library = dlopen("libsasl2.so.2", RTLD_NOW);
    if (library == NULL) {
        return false;
    }
    __typeof__(sasl_server_init) *init;
    __typeof__(sasl_server_new) *new;
    __typeof__(sasl_setpass) *set;
    __typeof__(sasl_dispose) *dispose;
    *(void **)&init = dlsym(library, "sasl_server_init");
    *(void **)&new = dlsym(library, "sasl_server_new");
    *(void **)&set = dlsym(library, "sasl_setpass");
    *(void **)&dispose = dlsym(library, "sasl_dispose");
    static sasl_callback_t callbacks[] = {{SASL_CB_GETOPT, NULL, NULL},
                                          {SASL_CB_LIST_END, NULL, NULL}};
    callbacks[0].proc = (int (*)(void))(intptr_t)get_option;
    sasl_conn_t *connection = NULL;
    bool done = init(callbacks, "memcached") == SASL_OK &&
                new ("memcached", NULL, NULL, NULL, NULL, NULL, 0, &connection) ==
                    SASL_OK &&set(connection, name, password, (unsigned)strlen(password), NULL, 0,
                                  SASL_SET_CREATE) == SASL_OK;
    if (connection != NULL) {
        dispose(&connection);
    }
    return done && access(database, R_OK) == 0;
}

static void write_configuration(void) {
    char path[PATH_SIZE];
    path_of(path, "memcached.conf");
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        tap_bail("cannot write %s", path);
    }
    fprintf(file, "mech_list: plain\nauxprop_plugin: sasldb\nsasldb_path: %s\n", database);
    fclose(file);
}

static void start_server(const char *port_path) {
    fflush(stdout);
    pid = fork();
    if (pid != 0) {
        return;
    }
    const struct passwd *user = getpwuid(geteuid());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("MEMCACHED_PORT_FILENAME", port_path, 1);
    setenv("SASL_CONF_PATH", directory, 1);
    if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL) {
        _exit(126);
    }
    const char *memcached = getenv("MEMCACHED");
    execlp(memcached != NULL ? memcached : "memcached", "memcached", "-S", "-p", "-1", "-U", "0",
           "-l", "127.0.0.1", "-u", user != NULL ? user->pw_name : "root", (char *)NULL);
    _exit(127);
}

/* The port, once the server listens; 0 when it does not. */
static uint16_t await_port(const char *port_path) {
    for (int waited = 0; waited < WAIT_MS; waited += 10) {
        unsigned port = 0;
        FILE *file = fopen(port_path, "r");
        if (file != NULL) {
            int read = fscanf(file, "TCP INET: %u", &port);
            fclose(file);
            return read == 1 ? (uint16_t)port : 0;
        }
        if (waitpid(pid, NULL, WNOHANG) == pid) {
            pid = 0;
            return 0;
        }
        usleep(10000);
    }
    return 0;
}

static void clean_up(void) {
    static const char *const names[] = {"memcached.conf", "port", "users"};
    char path[PATH_SIZE];
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        path_of(path, names[i]);
        unlink(path);
    }
    rmdir(directory);
}

static void check(uint16_t port, const char *password, warmring_status_t expected) {
    memcached_st *memc = memcached_create(NULL);
    memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1);
    if (password != NULL) {
        memcached_set_sasl_auth_data(memc, "ann", password);
    }
    wr_net_config_t config = net_config(memc);
    memcached_free(memc);
    wr_server_t *server = wr_server_create("127.0.0.1", port, &config);
    net_call_t call;
    const char *what = password != NULL ? password : "no password";
    tap_status(net_do(&call, server, WR_SET, "k", "v"), expected, "%s: set", what);
    if (expected == WARMRING_OK) {
        tap_status(net_do(&call, server, WR_GET, "k", NULL), WARMRING_OK, "%s: get", what);
        tap_bytes(call.request.value_out, call.request.value_length, "v", 1, "%s: value", what);
    } else {
        tap_ok(!call.request.sent, "%s: nothing was sent", what);
        tap_contains(warmring_error_detail(), "refused the credentials", "%s: says so", what);
    }
    wr_server_release(server);
    net_free(&config);
}

/* The same through a client. */
static void check_client(uint16_t port, const char *password, warmring_status_t expected) {
    char servers[64];
    memcached_st *memc = memcached_create(NULL);
    memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1);
    memcached_set_sasl_auth_data(memc, "ann", password);
    snprintf(servers, sizeof servers, "127.0.0.1:%u", (unsigned)port);
    warmring_t *client;
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_open_from(&client, memc, servers, NULL), WARMRING_OK, "%s: open", password);
    memcached_free(memc);
    tap_status(warmring_set(client, "c", 1, "client", 6, 0, 0, NULL), expected, "%s: client's set",
               password);
    tap_status(warmring_get(client, "c", 1, &item, NULL), expected, "%s: client's get", password);
    if (expected == WARMRING_OK) {
        tap_bytes(item.value.data, item.value.length, "client", 6, "%s: client's value", password);
    }
    warmring_item_clear(&item);
    warmring_close(client);
}

/* Whatever is missing; in CI nothing may be. */
_Noreturn static void give_up(const char *what) {
    clean_up();
    if (getenv("CI") != NULL) {
        tap_bail("%s", what);
    }
    tap_skip_all("%s", what);
}

int main(void) {
    char port_path[PATH_SIZE];
    if (mkdtemp(directory) == NULL) {
        tap_bail("no temporary directory");
    }
    path_of(database, "users");
    path_of(port_path, "port");
    if (!add_user("ann", "right")) {
        give_up("libsasl2 makes no user database here: libsasl2-modules-db");
    }
    write_configuration();
    start_server(port_path);
    uint16_t port = await_port(port_path);
    if (port == 0) {
        give_up("memcached -S does not start here");
    }
    check(port, "right", WARMRING_OK);
    check(port, "wrong", WARMRING_AUTH_FAILED);
    check(port, NULL, WARMRING_AUTH_FAILED);
    check_client(port, "right", WARMRING_OK);
    check_client(port, "wrong", WARMRING_AUTH_FAILED);
    clean_up();
    return tap_done();
}
