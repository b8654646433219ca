#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The fleet test on real servers, long: fleets of processes that share nothing
# but a topology file go through migrations, to the end and back, with a lag of
# three seconds and copies of the file that come up to a second late. Everything
# they saw is judged. A cycle takes about a minute. Builds in build/race first.
# From any directory:
#
#   scripts/fleet.sh [CYCLES] [SEED]

# The parts that are shared are written for bash, which Debian always has.
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

build_in race tests/fleet/fleet.t

export FLEET_CYCLES=${1:-5} FLEET_LAG_S=${FLEET_LAG_S:-3} FLEET_LATE_MS=${FLEET_LATE_MS:-1000}
[[ $# -lt 2 ]] || export TEST_SEED=$2
exec "$build/tests/fleet/fleet.t"
