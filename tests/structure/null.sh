#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every function of the public headers that returns a status is called with
# NULL by the test of its header.

. "$(dirname "$0")/../lib/tap.sh"

# functions HEADER: those that return a status, one a line.
functions() {
    tr '\n' ' ' <"$1" | grep -oE 'warmring_status_t +warmring_[a-z_]+\(' |
        sed 's/.* //;s/($//' | sort -u
}

# missing HEADER TEST
missing() {
    functions "$1" | while read -r function; do
        grep -q "X(.*[ (]$function(" "$2" || echo "$function"
    done >"$scratch/missing"
}

for layer in ring plan topology client fleet; do
    header=$source/include/warmring/$layer.h
    missing "$header" "$source/tests/$layer/null.c"
    tap_empty "$scratch/missing" "$layer.h: all of $(functions "$header" | wc -l) functions"
done

missing "$source/include/warmring/admin.h" "$source/tests/fleet/null_admin.c"
tap_empty "$scratch/missing" "admin.h: all of its functions"

# It would tell.
sed '/warmring_tick/d' "$source/tests/client/null.c" >"$scratch/null.c"
missing "$source/include/warmring/client.h" "$scratch/null.c"
tap_ok "$([ "$(cat "$scratch/missing")" = warmring_tick ]; echo $?)" "one that is not called is found"

tap_done
