#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How much of lib/ the tests run, by gcov: builds in build/coverage, runs the
# suite, and prints a table by layer, which functions no test ran, and which
# files have the most lines left. From any directory:
#
#   scripts/coverage.sh
#
# From the environment:
#
#   TESTS  these instead of the whole suite, as for make check
#
# Ends with the line "lines N %, branches N %". Fails below 92 and 80, or when a
# test failed. Processes that are killed, or leave by _exit(), count for nothing.

# The parts that are shared are written for bash, which Debian always has.
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

build=$source/build/coverage
log=$build/coverage.log
mkdir -p "$build"
: >"$log"
export TEST_SLACK_MS=${TEST_SLACK_MS:-500}

suite() {
    make -C "$build" -j "$(nproc)" -k check AM_COLOR_TESTS=no ${TESTS:+TESTS="$TESTS"}
}

echo "coverage: gcc --coverage"
[[ -z $(missing_packages build test) ]] || step 'install packages' install_missing build test
bootstrap_if_needed
configure_in "$build" \
    'CFLAGS=-O0 -g --coverage -fprofile-update=atomic -DNDEBUG' 'LDFLAGS=--coverage'
step compile make -C "$build" -j "$(nproc)" compile-checks
find "$build" -name '*.gcda' -delete
failed=0
step test suite || failed=1
(cd "$build" && find lib -name '*.gcno' -print0 | LC_ALL=C sort -z |
    xargs -0 gcov --branch-probabilities --json-format --stdout) >"$build/gcov.json" 2>>"$log"
python3 "$source/scripts/coverage.py" "$source/lib/" <"$build/gcov.json" || failed=1
exit "$failed"
