#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shows a warm migration beside a cold flip, on memcached servers that it
# starts on loopback and ends again. Installs what is missing and builds in
# build/demo first. From any directory; options go to bench/migration:
#
#   scripts/demo.sh [-o SAMPLES] [-r RATE] [-t THREADS] [-k KEYS] [-x SPEED]

# The parts that are shared are written for bash, which Debian always has.
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

build_in demo bench/migration

# In the background, so that a signal to this script is passed on at once; the
# other script then ends the program and the servers.
runner=
end_runner() {
    [[ -z $runner ]] || { kill "$runner" && wait "$runner"; } 2>/dev/null || true
}
trap end_runner EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
sh "$source/examples/run.sh" with '4 + 2' "$build/bench/migration" "$@" &
runner=$!
wait "$runner"
runner=

cat <<END

Next: examples/warm_migration.c    the same in C, in less than 100 lines
      docs/migration.md            what each phase does, what to watch, when to roll back
      scripts/check.sh             builds everything and runs all tests
      make -C build/demo install   installs the library that was built here
END
