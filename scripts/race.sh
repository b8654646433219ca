#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The race on real servers, long: processes and threads on both transports go
# through migrations and back, with evictions, restarts and stopped servers,
# and everything they saw is judged. Builds in build/race first. From any
# directory:
#
#   scripts/race.sh [SECONDS] [SEED]

# The parts that are shared are written for bash, which Debian always has.
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

build_in race tests/race/race.t

export RACE_SECONDS=${1:-60}
[[ $# -lt 2 ]] || export TEST_SEED=$2
exec "$build/tests/race/race.t"
