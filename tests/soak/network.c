/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of the loopback, by tc: all packets go through a class without limit,
 * and those that a filter finds by their port through another, whose queue is
 * what the fault is. netem is what one would use; where the kernel lacks it, a
 * queue that drops everything is a partition too, and one that lets bytes out
 * slowly a delay.
 */
#include "tests/soak/network.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAYS = 2 };

/* In the order in which they are tried. */
static const char *const queues[NETWORK_FAULTS][WAYS] = {
    [NETWORK_DELAY] = {"netem delay 20ms 15ms", "tbf rate 2mbit burst 4000 limit 60000"},
    [NETWORK_PARTITION] = {"netem loss 100%", "blackhole"},
};

static const char *chosen[NETWORK_FAULTS];
static const char *lack = "network_isolate() has not been called";

static bool tc(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool tc(const char *format, ...) {
    char command[256] = "tc ", *arguments = command + strlen(command);
    size_t room = sizeof command - strlen(command);
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, room, format, list);
    va_end(list);
    strncat(command, " >/dev/null 2>&1", sizeof command - strlen(command) - 1);
    return system(command) == 0;
}

static bool raise_loopback(void) {
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool done = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
    done = done && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

static bool make_classes(void) {
    return tc("qdisc add dev lo root handle 1: htb default 1") &&
           tc("class add dev lo parent 1: classid 1:1 htb rate 100gbit quantum 60000") &&
           tc("class add dev lo parent 1: classid 1:2 htb rate 100gbit quantum 60000");
}

static bool put_queue(const char *queue) {
    return tc("qdisc add dev lo parent 1:2 handle 2: %s", queue);
}

static bool take_queue(void) {
    return tc("qdisc del dev lo parent 1:2 handle 2:");
}

static bool set_filter(const char *port, uint16_t number) {
    return tc("filter add dev lo parent 1: protocol ip prio 1 u32 match ip protocol 6 0xff "
              "match ip %s %u 0xffff flowid 1:2",
              port, number);
}

static void choose_queues(void) {
    for (int fault = 0; fault < NETWORK_FAULTS; fault++) {
        for (int way = 0; way < WAYS && chosen[fault] == NULL; way++) {
            if (put_queue(queues[fault][way]) && take_queue()) {
                chosen[fault] = queues[fault][way];
            }
        }
    }
}

/* Into a new namespace, or nothing. */
static bool enter_namespace(void) {
    int before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    bool entered = before >= 0 && unshare(CLONE_NEWNET) == 0;
    if (entered && !raise_loopback()) {
        setns(before, CLONE_NEWNET);
        entered = false;
    }
    if (before >= 0) {
        close(before);
    }
    return entered;
}

bool network_isolate(void) {
    if (system("tc -V >/dev/null 2>&1") != 0) {
        lack = "there is no tc; on Debian: apt-get install iproute2";
        return false;
    }
    if (!enter_namespace()) {
        lack = "a network namespace takes root";
        return false;
    }
    lack = "";
    if (!make_classes() || !set_filter("dport", 1) || !network_end()) {
        lack = "the kernel has no classes or filters for tc (htb, u32)";
    } else {
        choose_queues();
    }
    return true;
}

const char *network_lack(network_fault_t fault) {
    return *lack != '\0' || chosen[fault] != NULL ? lack : "the kernel has no queue for it";
}

const char *network_means(network_fault_t fault) {
    return chosen[fault] != NULL ? chosen[fault] : "none";
}

bool network_begin(network_fault_t fault, uint16_t port) {
    return put_queue(chosen[fault]) && set_filter("dport", port) && set_filter("sport", port);
}

bool network_end(void) {
    bool filters = tc("filter del dev lo parent 1: prio 1");
    take_queue();
    return filters;
}
