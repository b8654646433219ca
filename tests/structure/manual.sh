#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual of the library: each public function has a page, each page is one
# that troff takes without a complaint, and says what the header says.

. "$(dirname "$0")/../lib/tap.sh"

pages=$scratch/man3
mkdir "$pages"

# make_pages HEADER...
make_pages() {
    for header in "$@"; do
        ${AWK:-awk} -v version=1.2.3 -v directory="$pages" -f "$source/docs/man/pages.awk" \
            "$header"
    done
}

make_pages "$source"/include/warmring/*.h
cat "$source"/include/warmring/*.h | awk -f "$source/tests/structure/functions.awk" |
    sed 's/ .*//' | sort -u >"$scratch/functions"

while read -r name; do
    page=$pages/$name.3
    if [ ! -s "$page" ]; then
        echo "$name has no page"
        continue
    fi
    target=$(sed -n 's,^\.so man3/,,p' "$page")
    grep -q "^\.SS .*$name()" "$pages/${target:-$name.3}" || echo "$name is not on its page"
done <"$scratch/functions" >"$scratch/missing"
[ "$(wc -l <"$scratch/functions")" -gt 50 ]
tap_ok $? "functions are found"
tap_empty "$scratch/missing" "each has a page that tells of it"

if command -v groff >/dev/null; then
    for page in "$pages"/*.3 "$source"/docs/man/*.[1-8]; do
        grep -q '^\.so ' "$page" || groff -ww -man -Tascii "$page" 2>&1 >/dev/null
    done >"$scratch/complaints"
    tap_empty "$scratch/complaints" "troff has no complaint"
elif [ -n "${CI:-}" ]; then
    tap_ok 1 "groff is installed"
else
    tap_skip "groff is not installed"
fi

# What a page must show of a header.
cat >"$scratch/planted.h" <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted: a header.
 *
 * .A line that starts with a dot, and a back\slash.
 */
#include <stddef.h>

/* ---- some calls ---- */

/*
 * Does this:
 *
 *   one   - two
 *
 * - an item
 *   of two lines
 */
WARMRING_API WARMRING_MUST_CHECK int
warmring_one(int (*callback)(int), void *argument);
WARMRING_API const char *warmring_two(void);

/* Alone. */
WARMRING_API void warmring_three(void);
END
make_pages "$scratch/planted.h"
page=$pages/warmring_planted_some_calls.3
grep -qx '.TH WARMRING_PLANTED_SOME_CALLS 3 "" "warmring 1.2.3" "Library Functions"' "$page" &&
    grep -qxF 'warmring_one, warmring_two, warmring_three \- some calls' "$page"
tap_ok $? "a part of a header is a page with its functions"
grep -qx '.SS warmring_one(), warmring_two()' "$page" && grep -qx '.SS warmring_three()' "$page"
tap_ok $? "functions under one comment are told of together"
grep -qxF '  one   \- two' "$page" && grep -qx 'warmring_one(int (\*callback)(int), void \*argument);' "$page" &&
    grep -qxF '.IP \(bu 2' "$page" && grep -qx 'of two lines' "$page"
tap_ok $? "tables, declarations and items are as in the header"
grep -qx '.so man3/warmring_planted_some_calls.3' "$pages/warmring_two.3"
tap_ok $? "a function's name leads there"
grep -qxF '\&.A line that starts with a dot, and a back\eslash.' "$pages/warmring_planted.3"
tap_ok $? "text stays text"

tap_done
