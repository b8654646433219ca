#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What README.md and docs/ say is so: the program on top is examples/hello.c,
# which tests/examples.sh compiles and runs; every status is explained; every
# file that is named exists. (tests/tools/documents.sh runs the code in them.)

. "$(dirname "$0")/../lib/tap.sh"

# block FILE LANGUAGE NUMBER: the lines of that fenced block.
block() {
    awk -v language="$2" -v wanted="$3" '
        /^```/ && inside { inside = 0; next }
        /^```/ { inside = 1; show = ($0 == "```" language && ++seen == wanted); next }
        inside && show' "$1"
}

# The comment on top of an example, without its marks, from "Output:" on.
output_of() {
    sed -n '/^ \* Output:$/,/^ \*\/$/p' "$1" | sed '1,2d;$d;s/^ \*$//;s/^ \*   //'
}

readme=$source/README.md
block "$readme" c 1 >"$scratch/program"
sed -n '/^#include/,$p' "$source/examples/hello.c" >"$scratch/hello"
diff "$scratch/hello" "$scratch/program" >"$scratch/difference"
tap_empty "$scratch/difference" "README: the program is examples/hello.c"
block "$readme" text 1 >"$scratch/printed"
output_of "$source/examples/hello.c" | diff - "$scratch/printed" >"$scratch/difference"
tap_empty "$scratch/difference" "README: and prints what stands below it"

sed -n 's/^    X(\([A-Z_]*\), ".*/\1/p' "$source/include/warmring/status.h" >"$scratch/statuses"
sed -n 's/^| \([A-Z_]*\) | .*/\1/p' "$source/docs/statuses.md" >"$scratch/explained"
[ "$(wc -l <"$scratch/statuses")" -gt 20 ] && diff "$scratch/statuses" "$scratch/explained" \
    >"$scratch/difference"
tap_ok $? "docs/statuses.md: all statuses are explained, in their order"
sed 's/^/#   /' "$scratch/difference"

sed -n '/X(STABLE)/s/X(\([A-Z]*\)) */\1 /gp' "$source/include/warmring/topology.h" |
    tr -s ' ' '\n' | grep -v '^$' >"$scratch/phases"
sed -n '/^## The phases/,/^## The steps/s/^| \([A-Z][A-Z]*\).*/\1/p' "$source/docs/migration.md" |
    awk '!seen[$0]++' | diff "$scratch/phases" - >"$scratch/difference"
tap_empty "$scratch/difference" "docs/migration.md: all phases are in the table, in their order"

for path in "$source"/README.md "$source"/SECURITY.md "$source"/docs/*.md; do
    file=${path#"$source/"}
    # Paths in links and in backquotes, but not commands with blanks.
    grep -oE '\]\([a-zA-Z0-9_./-]+|`(sh )?(scripts|examples|docs|bench|tests)/[a-zA-Z0-9_./-]+' "$source/$file" |
        sed -E 's/^\]\(//;s/^`(sh )?//;s,/$,,' | grep -v '^https$' | sort -u | while read -r path; do
        [ -e "$source/$path" ] || [ -e "$source/$(dirname "$file")/$path" ] ||
            [ -e "$source/$path.c" ] || echo "$path"
    done >"$scratch/missing"
    tap_empty "$scratch/missing" "$file: what it names exists"
done

# No page is left out: a reader finds it from README.md, and in a package.
for path in "$source"/docs/*.md; do
    file=${path#"$source/"}
    grep -qF "]($file)" "$readme" || echo "$file is not in README.md"
    grep -qx "$file" "$source"/debian/*.docs || echo "$file is in no Debian package"
done >"$scratch/missing"
tap_empty "$scratch/missing" "README.md and the Debian packages have every page of docs/"

# `spec: NAME` in docs/consistency.md is a check of the model.
grep -oE '`spec: [^`]+' "$source/docs/consistency.md" | sed 's/`spec: //' | sort -u >"$scratch/checks"
while read -r check; do
    grep -qF "say \"$check" "$source/spec/check.sh" || echo "$check"
done <"$scratch/checks" >"$scratch/missing"
[ "$(wc -l <"$scratch/checks")" -gt 5 ] || echo "too few checks are named" >>"$scratch/missing"
tap_empty "$scratch/missing" "docs/consistency.md: the model has the checks it names"

# What it would not find is nothing.
! sed -n 's/^| PARTIAL/| PARTLY/; s/^| \([A-Z_]*\) | .*/\1/p' "$source/docs/statuses.md" |
    diff "$scratch/statuses" - >"$scratch/difference"
tap_ok $? "a status that is missing is found"

tap_done
