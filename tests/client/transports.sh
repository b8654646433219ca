#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests that know only the transport that clients choose by themselves, on
# the other one.

. "${srcdir:-.}/tests/lib/tap.sh"

TEST_TRANSPORT=libmemcached
export TEST_TRANSPORT
for name in apply apply_live apply_wait availability_phases bad_input bad_input_keys fork; do
    "$build/tests/client/$name.t" >"$scratch/output" 2>&1
    tap_ok $? "$name over $TEST_TRANSPORT"
    grep -A4 -e '^not ok' -e '^Bail out' "$scratch/output" | sed 's/^/#   /'
done
tap_done
