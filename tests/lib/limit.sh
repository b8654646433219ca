#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# limit.sh PROGRAM [ARGUMENT...]
#
# Runs a test, and ends it with all that it started after TEST_LIMIT seconds
# (600): one that hangs fails by its name and holds up no other. The program
# has a process group of its own, and gets what ends this script.
limit=${TEST_LIMIT:-600}
if ! command -v timeout >/dev/null; then
    exec "$@"
fi
set -m # a group of its own, its signals and input as they are
timeout --kill-after=10 "$limit" "$@" &
child=$!
trap 'kill -TERM "$child"' HUP INT TERM
wait "$child"
status=$?
while kill -0 "$child" 2>/dev/null; do # a signal came between
    wait "$child"
    status=$?
done
if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    printf 'Bail out! not done after %s s (TEST_LIMIT)\n' "$limit"
fi
exit "$status"
