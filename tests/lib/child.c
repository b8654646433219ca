/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/tap.h"

pid_t child_fork(unsigned seconds) {
    pid_t parent = getpid();
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) {
        tap_bail("fork: %s", strerror(errno));
    }
    if (child == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
            _exit(125);
        }
        alarm(seconds);
    }
    return child;
}

int child_wait(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

bool child_may_allocate(void) {
#if defined(__SANITIZE_ADDRESS__) || CHILD_HAS_FEATURE(address_sanitizer)
    return false;
#else
    return true;
#endif
}
