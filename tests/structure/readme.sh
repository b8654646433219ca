#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What README.md and docs/ say is so: the program on top is examples/hello.c,
# which tests/examples.sh compiles and runs; what compare_rings prints is
# quoted as it is; every status is explained; every C block compiles; every
# file that is named exists.

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
block "$readme" '' 1 >"$scratch/printed"
output_of "$source/examples/hello.c" | diff - "$scratch/printed" >"$scratch/difference"
tap_empty "$scratch/difference" "README: and prints what stands below it"

block "$readme" '' 3 >"$scratch/printed"
output_of "$source/examples/compare_rings.c" | diff - "$scratch/printed" >"$scratch/difference"
tap_empty "$scratch/difference" "README: the rings are compared as compare_rings prints it"

sed -n 's/^    X(\([A-Z_]*\), ".*/\1/p' "$source/include/warmring/status.h" >"$scratch/statuses"
sed -n '/^## Statuses/,/^## Limits/s/^| \([A-Z_]*\) | .*/\1/p' "$readme" >"$scratch/explained"
[ "$(wc -l <"$scratch/statuses")" -gt 20 ] && diff "$scratch/statuses" "$scratch/explained" \
    >"$scratch/difference"
tap_ok $? "README: all statuses are explained, in their order"
sed 's/^/#   /' "$scratch/difference"

sed -n '/X(STABLE)/s/X(\([A-Z]*\)) */\1 /gp' "$source/include/warmring/topology.h" |
    tr -s ' ' '\n' | grep -v '^$' >"$scratch/phases"
sed -n '/^## The phases/,/^## The steps/s/^| \([A-Z][A-Z]*\).*/\1/p' "$source/docs/migration.md" |
    awk '!seen[$0]++' | diff "$scratch/phases" - >"$scratch/difference"
tap_empty "$scratch/difference" "docs/migration.md: all phases are in the table, in their order"

# Blocks that are no whole program are the body of a function.
compile_block() {
    if grep -q '^int main' "$1"; then
        cp "$1" "$scratch/block.c"
    else
        {
            printf '#include <stdio.h>\n#include <warmring/warmring.h>\n'
            printf 'int block(warmring_t *cache);\nint block(warmring_t *cache) {\n'
            cat "$1"
            printf 'return 0;\n}\n'
        } >"$scratch/block.c"
    fi
    $CC -std=c11 -Wall -Wextra -Werror -I"$source/include" -fsyntax-only "$scratch/block.c"
}

for path in "$source"/README.md "$source"/SECURITY.md "$source"/docs/*.md; do
    file=${path#"$source/"}
    number=1
    while block "$source/$file" c "$number" >"$scratch/block" && [ -s "$scratch/block" ]; do
        compile_block "$scratch/block" >"$scratch/said" 2>&1
        tap_ok $? "$file: C block $number compiles"
        sed 's/^/#   /' "$scratch/said"
        number=$((number + 1))
    done
    # Paths in links and in backquotes, but not commands with blanks.
    grep -oE '\]\([a-zA-Z0-9_./-]+|`(sh )?(scripts|examples|docs|bench|tests)/[a-zA-Z0-9_./-]+' "$source/$file" |
        sed -E 's/^\]\(//;s/^`(sh )?//;s,/$,,' | sort -u | while read -r path; do
        [ -e "$source/$path" ] || [ -e "$source/$(dirname "$file")/$path" ] ||
            [ -e "$source/$path.c" ] || echo "$path"
    done >"$scratch/missing"
    tap_empty "$scratch/missing" "$file: what it names exists"
done

# `spec: NAME` in docs/consistency.md is a check of the model.
grep -oE '`spec: [^`]+' "$source/docs/consistency.md" | sed 's/`spec: //' | sort -u >"$scratch/checks"
while read -r check; do
    grep -qF "say \"$check" "$source/spec/check.sh" || echo "$check"
done <"$scratch/checks" >"$scratch/missing"
[ "$(wc -l <"$scratch/checks")" -gt 5 ] || echo "too few checks are named" >>"$scratch/missing"
tap_empty "$scratch/missing" "docs/consistency.md: the model has the checks it names"

# What it would not find is nothing.
sed 's/^| PARTIAL/| PARTLY/' "$readme" >"$scratch/README.md"
! sed -n '/^## Statuses/,/^## Limits/s/^| \([A-Z_]*\) | .*/\1/p' "$scratch/README.md" |
    diff "$scratch/statuses" - >"$scratch/difference"
tap_ok $? "a status that is missing is found"

tap_done
