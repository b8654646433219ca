#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what building and testing needs and is not there. With arguments
# only what these purposes need: build test clang dist.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

if [[ $# -eq 0 ]]; then
    set -- build test
fi
install_missing "$@"
