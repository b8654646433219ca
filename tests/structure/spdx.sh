#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source file says under which license it is, in its first five lines.

. "$(dirname "$0")/../lib/tap.sh"

# Sources by their names, and scripts by their first line; not what tools
# make, nor data, which has its recipe beside it.
sources() {
    (
        cd "$source" || exit
        find bootstrap configure.ac Makefile.am warmring.pc.in lib include tests scripts .ci \
            tools examples bench spec -name data -prune -o -type f -print 2>/dev/null
    ) | while read -r file; do
        case $file in
        *.c | *.h | *.sh | *.awk | *.py | *.map | *.supp | *.am | *.ac | *.in | *.mk) echo "$file" ;;
        */.libs/* | *.o | *.t) ;;
        *) # but libtool's own, of a build in the source tree
            head -c 2 "$source/$file" | grep -q '^#!' &&
                ! head -n 5 "$source/$file" | grep -q 'wrapper script for' && echo "$file"
            ;;
        esac
    done
}

sources >"$scratch/sources"
[ "$(wc -l <"$scratch/sources")" -gt 30 ]
tap_ok $? "sources are found"
while read -r file; do
    head -n 5 "$source/$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' || echo "$file"
done <"$scratch/sources" >"$scratch/without"
tap_empty "$scratch/without" "each has its SPDX line"

tap_done
