#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library exports the functions of the public headers, the symbol map
# names each of them, and nothing else is visible.

. "$(dirname "$0")/../lib/tap.sh"

library=$build/.libs/libwarmring.so
[ -f "$library" ] || tap_bail "no $library"

cat "$source"/include/warmring/*.h | awk -f "$(dirname "$0")/functions.awk" | cut -d ' ' -f 1 |
    LC_ALL=C sort >"$scratch/headers"
sed -nE 's/^[ \t]*(warmring_[a-z0-9_]+);$/\1/p' "$source/lib/warmring.map" >"$scratch/map"
# What a build without libmemcached leaves out.
awk -f "$(dirname "$0")/functions.awk" "$source/include/warmring/libmemcached.h" |
    cut -d ' ' -f 1 >"$scratch/optional"
if [ "$with_libmemcached" = 1 ]; then
    cp "$scratch/headers" "$scratch/built"
else
    grep -vxFf "$scratch/optional" "$scratch/headers" >"$scratch/built"
fi
${NM:-nm} -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    LC_ALL=C sort >"$scratch/library"

for list in headers map library optional; do
    [ -s "$scratch/$list" ]
    tap_ok $? "functions are found: $list"
done

diff "$scratch/headers" "$scratch/map" >"$scratch/difference"
tap_empty "$scratch/difference" "the map lists the functions of the headers, sorted (<: headers, >: map)"
diff "$scratch/built" "$scratch/library" >"$scratch/difference"
tap_empty "$scratch/difference" "the library exports them and no others (<: headers, >: library)"
grep -n '\*;' "$source/lib/warmring.map" | grep -v '^[0-9]*:    \*;$' >"$scratch/wildcards"
tap_empty "$scratch/wildcards" "the map has no wildcard"

tap_done
