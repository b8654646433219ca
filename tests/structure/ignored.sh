#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A build in a checkout leaves nothing that git would show.

. "$(dirname "$0")/../lib/tap.sh"

if [ ! -e "$source/.git" ] || ! git -C "$source" status >/dev/null 2>&1; then
    tap_skip 'not a checkout'
    tap_done
fi

# The programs of all lists, the files that configure makes, and the manual.
{
    awk '/^[a-z_]+_(programs|PROGRAMS|bench) \+?=/ { on = 1 }
        on { for (i = 1; i <= NF; i++) if ($i ~ /^[a-z]+\/[a-z_\/.]+$/) print $i }
        !/\\$/ { on = 0 }' "$source/Makefile.am"
    sed -n 's/^AC_CONFIG_FILES(\[\(.*\)\])/\1/p' "$source/configure.ac" | tr ' ' '\n'
    echo docs/man/man3.stamp
    echo docs/man/man3/warmring_get.3
} >"$scratch/made"
for piece in tools/warmring bench/ring examples/hello warmring.pc; do
    grep -qx "$piece" "$scratch/made"
    tap_ok $? "$piece is among what is made"
done
(cd "$source" && git check-ignore --no-index --stdin <"$scratch/made") >"$scratch/ignored"
sort "$scratch/made" >"$scratch/sorted"
sort "$scratch/ignored" | comm -23 "$scratch/sorted" - >"$scratch/shown"
tap_empty "$scratch/shown" 'all of it is ignored'

tap_done
