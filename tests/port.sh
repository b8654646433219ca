#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The service in examples/port, on libmemcached and on warmring. `build` has
# the programs; see tests/port.py.

source=${srcdir:-$(dirname "$0")/..}
build=${top_builddir:-.}
if ! command -v python3 >/dev/null; then
    [ -z "${CI:-}" ] || echo "Bail out! python3 is not installed"
    echo "1..0 # SKIP python3 is not installed"
    exit 0
fi
if [ "$with_libmemcached" = 0 ]; then
    echo "1..0 # SKIP built without libmemcached, which knows the ring it has had"
    exit 0
fi
exec sh "$source/examples/run.sh" with '2 unnamed' \
    python3 "$source/tests/port.py" "$build/examples/port" libmemcached,warmring
