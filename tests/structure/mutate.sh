#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The changes of scripts/mutate.sh are changes of what is there: each text that
# is replaced stands in its file exactly once, and each test that is named is
# one. Then the table is spoiled, which must be found.

. "$(dirname "$0")/../lib/tap.sh"

table=$source/tests/mutate/changes.txt

changes() {
    (cd "$source" && awk -v what="$1" -f tests/mutate/changes.awk "$2")
}

[ "$(changes list "$table" | wc -l)" -eq 64 ]
tap_ok $? "there are 64 changes"
changes check "$table" >"$scratch/wrong"
tap_empty "$scratch/wrong" "each replaces a text that is in its file once, and names its tests"

# spoil WHAT SCRIPT: the table after sed, of which the check must say something.
spoil() {
    sed "$2" "$table" >"$scratch/spoiled"
    changes check "$scratch/spoiled" | grep -q "$3"
    tap_ok $? "found: $1"
}
spoil 'a text that is not there' '/^-milliseconds/s/milli/nano/' 'change 1, .* 0 times'
spoil 'a text that is there twice' 's/^-return challenger < holder;/-candidate_t a, b;/' \
    'change 7, .* 2 times'
spoil 'a change of nothing' 's/^+milliseconds.*/+milliseconds * NS_PER_MS, .made = now/' \
    'change 1, .* nothing'
spoil 'no such test' '/^== 3 /s/number\.t/numbers.t/' 'change 3, .*numbers.t is no test'
spoil 'a number that is missing' '/^== 5 /s/5/6/' 'change 6, .* place 5'

for number in 1 15 60; do
    (cd "$source" && awk -v what=apply -v number="$number" -f tests/mutate/changes.awk "$table") \
        >"$scratch/changed"
    file=$(changes list "$table" | awk -v number="$number" '$1 == number { print $2 }')
    [ "$(diff "$source/$file" "$scratch/changed" | grep -c '^<')" -eq 1 ]
    tap_ok $? "change $number is made in one line of $file"
done

tap_done
