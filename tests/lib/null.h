/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL where a value is required: the status, and the text that names the
 * argument. A test of a header lists a call for every such argument of every
 * function there that returns a status; tests/structure/null.sh looks for
 * functions that no list has.
 */
#ifndef TESTS_NULL_H
#define TESTS_NULL_H

#include "tests/lib/tap.h"

/* One row of a list: X(the argument's name, the call with NULL there). */
#define NULL_CHECK(argument, call)                        \
    tap_status(call, WARMRING_BAD_ARGUMENT, "%s", #call); \
    tap_string(warmring_error_detail(), argument " is NULL", "which the text says");

#endif
