#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public function has a comment that says since when there is it.

. "$(dirname "$0")/../lib/tap.sh"

list=$(dirname "$0")/functions.awk

cat "$source"/include/warmring/*.h | awk -f "$list" | sort >"$scratch/functions"
[ -s "$scratch/functions" ]
tap_ok $? "functions are found"
grep ' ' "$scratch/functions" >"$scratch/undocumented"
tap_empty "$scratch/undocumented" "all of them are documented"

# What the list must find.
cat >"$scratch/planted.h" <<'END'
/* Good. Since 0.1. */
WARMRING_API int good(void);
WARMRING_API WARMRING_MUST_CHECK int
good_too(int (*callback)(int), void *argument);

WARMRING_API int bare(void);

/*
 * Says nothing of versions.
 */
WARMRING_API const char *timeless(void);
END
printf '%s\n' 'good' 'good_too' 'bare has no comment' 'timeless does not say since when' \
    >"$scratch/expected"
awk -f "$list" "$scratch/planted.h" | diff "$scratch/expected" - >"$scratch/difference"
tap_empty "$scratch/difference" "an undocumented function would be found"

tap_done
