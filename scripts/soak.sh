#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The soak and the churn, long. Processes on both transports read and write in
# one cluster of real servers while migrations go forward and back and servers,
# connections and the network are at fault; everything they saw is judged, and
# what they use stays flat. Then servers come and go and change their weights,
# CHURN_CYCLES times (10000; 0: not at all) with each transport. Builds in
# build/race first. From any directory:
#
#   scripts/soak.sh [SECONDS] [SEED]
#
# Packets are lost and delayed in a network namespace of the test's own, which
# takes root and tc (iproute2); without them that is skipped, and said.

# The parts that are shared are written for bash, which Debian always has.
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

build_in race tests/soak/churn.t tests/soak/soak.t

export SOAK_SECONDS=${1:-1800} CHURN_CYCLES=${CHURN_CYCLES:-10000}
[[ $# -lt 2 ]] || export TEST_SEED=$2
failed=0
"$build/tests/soak/soak.t" || failed=1
if [[ $CHURN_CYCLES -ne 0 ]]; then
    "$build/tests/soak/churn.t" || failed=1
fi
exit "$failed"
