#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each example prints what the comment on top of it says. `examples` lists the
# programs that were built.

. "$(dirname "$0")/lib/tap.sh"

for example in $examples; do
    sh "$source/examples/run.sh" check "$build/$example" "$source/$example.c" \
        >"$scratch/said" 2>&1
    tap_ok $? "$(basename "$example")"
    sed 's/^/#   /' "$scratch/said"
done

# The script that compares can tell a difference, and a program that fails.
for change in 's/hello, world/hello, moon/' 's/^ \* Output:/ * Prints:/' 's/^ \* Servers: 1/ * Servers: x/'; do
    sed "$change" "$source/examples/hello.c" >"$scratch/hello.c"
    ! sh "$source/examples/run.sh" check "$build/examples/hello" "$scratch/hello.c" \
        >"$scratch/said" 2>&1
    tap_ok $? "hello fails with $change"
done

# What is not built is not run: each source is among them.
for file in "$source"/examples/*.c; do
    case " $examples " in
    *" examples/$(basename "$file" .c) "*) ;;
    *) # but those that a build without libmemcached leaves out
        [ "$with_libmemcached" = 0 ] && grep -q libmemcached "$file" || echo "$file"
        ;;
    esac
    [ "$(wc -l <"$file")" -lt 100 ] || echo "$file has 100 lines or more"
done >"$scratch/missing"
tap_empty "$scratch/missing" "every example is run, and short"

tap_done
