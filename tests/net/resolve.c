/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses: numbers, paths, names, and what cannot be resolved.
 */
#include "net.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "net/address.h"

static wr_address_t addresses[8];
static size_t count;

static warmring_status_t resolve(const char *host, uint32_t deadline_ms) {
    return wr_resolve("label", host, 11211, wr_deadline_in_ms(deadline_ms), addresses, 8, &count);
}

static size_t threads(void) {
    DIR *directory = opendir("/proc/self/task");
    size_t number = 0;
    while (readdir(directory) != NULL) {
        number++;
    }
    closedir(directory);
    return number;
}

static void check_numbers(void) {
    size_t before = threads();
    struct in6_addr six;
    tap_status(resolve("192.0.2.7", 0), WARMRING_OK, "an IPv4 address, no time at all");
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addresses[0].storage;
    tap_int((int64_t)count, 1, "is one");
    tap_int(v4->sin_family, AF_INET, "of its family");
    tap_int(ntohl(v4->sin_addr.s_addr), 0xc0000207, "the address");
    tap_int(ntohs(v4->sin_port), 11211, "the port");
    tap_int(addresses[0].port, 11211, "told twice");
    tap_string(addresses[0].text, "192.0.2.7", "and as text");

    tap_status(resolve("2001:db8::7", 0), WARMRING_OK, "an IPv6 address");
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addresses[0].storage;
    inet_pton(AF_INET6, "2001:db8::7", &six);
    tap_int(v6->sin6_family, AF_INET6, "of its family");
    tap_bytes(&v6->sin6_addr, 16, &six, 16, "the address");
    tap_string(addresses[0].text, "2001:db8::7", "as text");

    tap_status(resolve("/run/x.sock", 0), WARMRING_OK, "a path");
    const struct sockaddr_un *local = (const struct sockaddr_un *)&addresses[0].storage;
    tap_int(local->sun_family, AF_UNIX, "of its family");
    tap_string(local->sun_path, "/run/x.sock", "the path");
    tap_int((int64_t)threads(), (int64_t)before, "all without a thread");

    char path[200];
    memset(path, 'p', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    tap_status(resolve(path, 1000), WARMRING_RESOLVE_FAILED, "a path that is too long");
    tap_contains(warmring_error_detail(), "label: ", "starts with the label");
}

static void check_names(void) {
    tap_status(resolve("localhost", 5000), WARMRING_OK, "localhost");
    bool loopback = false;
    for (size_t i = 0; i < count; i++) {
        loopback |= strcmp(addresses[i].text, "127.0.0.1") == 0;
    }
    tap_ok(loopback, "is 127.0.0.1 among others");
    wr_time_t start = wr_now();
    warmring_status_t status = resolve("no-such-host.invalid", 1000);
    tap_ok(status == WARMRING_RESOLVE_FAILED || status == WARMRING_TIMEOUT, "a name nobody has: %s",
           warmring_error_detail());
    tap_ok(net_ms_since(start) <= 1000 + tap_slack_ms(), "in time");
    tap_ok(strncmp(warmring_error_detail(), "label: ", 7) == 0, "starts with the label");
    status = resolve("localhost", 0);
    tap_ok(status == WARMRING_OK || status == WARMRING_TIMEOUT, "a name, and no time");
}

static void check_server_by_name(void) {
    wr_net_config_t config = net_config(NULL);
    fixture_t *fixture = fixture_start(1, NULL);
    wr_server_t *server = wr_server_create("localhost", fixture_port(fixture, 0), &config);
    net_call_t call;
    char before[512];
    strncpy(before, warmring_error_detail(), sizeof before - 1);
    tap_status(net_do(&call, server, WR_SET, "k", "v"), WARMRING_OK, "a server by its name");
    tap_string(warmring_error_detail(), before, "whichever address it was, no detail is left");
    fixture_restart(fixture, 0);
    tap_status(net_do(&call, server, WR_SET, "k", "v"), WARMRING_OK, "after a restart");
    wr_server_release(server);

    server = wr_server_create("no-such-host.invalid", 11211, &config);
    net_call(&call, server, WR_SET, "k", "v");
    warmring_status_t status = net_run(&call, 300);
    tap_ok(status == WARMRING_RESOLVE_FAILED || status == WARMRING_TIMEOUT, "nobody's name");
    tap_ok(!call.request.sent, "nothing was sent");
    tap_contains(warmring_error_detail(), "no-such-host.invalid:11211: ", "names it");
    wr_server_release(server);

    server = wr_server_create("::1", 11211, &config);
    tap_string(wr_server_address(server), "[::1]:11211", "brackets around IPv6");
    wr_server_release(server);
    server = wr_server_create("/run/m.sock", 0, &config);
    tap_string(wr_server_address(server), "unix:/run/m.sock", "a unix socket");
    tap_string(wr_server_host(server), "/run/m.sock", "its host");
    tap_int(wr_server_port(server), 0, "its port");
    tap_status(net_do(&call, server, WR_SET, "k", "v"), WARMRING_CONNECT_FAILED,
               "a socket that is not there");
    tap_contains(warmring_error_detail(), "No such file", "says so");
    wr_server_release(server);
    fixture_free(fixture);
    net_free(&config);
}

int main(void) {
    check_numbers();
    check_names();
    test_transports(check_server_by_name);
    return tap_done();
}
