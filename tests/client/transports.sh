#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests of phases, of rollbacks and of failures again, on the transport
# that clients do not choose by themselves.

. "${srcdir:-.}/tests/lib/tap.sh"

TEST_TRANSPORT=libmemcached
export TEST_TRANSPORT
for name in apply apply_live apply_wait availability_phases bad_input bad_input_keys \
    fork phases phases_fill phases_modify rollback rollback_ghosts; do
    "$build/tests/client/$name.t" >"$scratch/output" 2>&1
    tap_ok $? "$name over $TEST_TRANSPORT"
    grep -A4 -e '^not ok' -e '^Bail out' "$scratch/output" | sed 's/^/#   /'
done
tap_done
