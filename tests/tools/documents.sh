#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every code block of README.md and docs/*.md, taken out of the document and run
# on real servers. What stands behind the three backquotes says how:
#
#   c            a program, given servers or a topology file; or statements, which
#                get `cache`, an open client, and go on where those before ended
#   sh           commands, in a directory with lists of servers; those of
#                docs/migration.md are run by runbook.sh, which checks the phases
#   console      "$ COMMAND", and lines of what it prints
#   text         exactly what the block before it prints
#   text FILE    what that example or test compares
#
# and of what cannot be run, which is named and counted:
#
#   text sample  what one run printed; another prints other numbers
#   sh install   commands that change the system, for `make installcheck`
#
# All fences are closed, and no block is indented instead.

. "$(dirname "$0")/cluster.sh"

# ---- taking blocks out ----

# blocks_of FILE: writes the blocks of a document to $scratch/blocks/N, and
# "N LINE KIND DETAIL" for each to stdout.
blocks_of() {
    rm -rf "$scratch/blocks"
    mkdir "$scratch/blocks"
    awk -v directory="$scratch/blocks" '
        /^ *```/ && inside { inside = 0; close(file); next }
        /^ *```/ {
            inside = 1; file = directory "/" ++count
            sub(/^ *```/, "")
            print count, NR, ($0 == "" ? "unmarked" : $0)
            printf "" >file
            next
        }
        inside { print >file; next }
        /^    / && blank { print ++count, NR, "indented" }
        { blank = /^$/ }
        END { if (inside) print count + 1, NR, "open" }' "$1"
}

# ---- running them ----

for number in 1 2 3 4 5; do
    start_server
done

cat >"$scratch/warmring" <<END
#!/bin/sh
exec "$tool" "\$@"
END
chmod 755 "$scratch/warmring"

# The directory in which the commands of a document run.
begin_document() {
    rm -rf "$scratch/work" "$scratch/fragments.c"
    mkdir "$scratch/work"
    fragments=0
    list 1 2 3 >"$scratch/work/servers.txt"
    list 1 2 3 4:2 >"$scratch/work/new-servers.txt"
    for count in 30 300; do
        awk -v count=$count 'BEGIN {
            for (i = 1; i <= count; i++)
                printf "cache%04d=10.0.%d.%d:11211\n", i, i / 250, i % 250
        }' >"$scratch/work/$count.txt"
    done
    awk 'BEGIN {
        for (i = 1; i <= 24; i++)
            printf "cache%02d=10.0.0.%d:11211:%d\n", i, i, i <= 4 ? 256 : 32
    }' >"$scratch/work/gigabytes.txt"
    topology "$scratch/work/topology.json" 60 1 2 3
    : >"$scratch/printed"
}

# build_program SOURCE: makes $scratch/program, of a file that is `block.c` to
# the compiler.
build_program() {
    # shellcheck disable=SC2086 # a compiler and its options
    "$build/libtool" --quiet --tag=CC --mode=link $CC $sanitizer_flags -std=c11 -Wall -Wextra -Werror -O1 -g \
        -I"$source/include" -o "$scratch/program" "$1" "$build/libwarmring.la" -no-install
}

run_program() {
    case $(cat "$block") in
    *warmring_open_file*) set -- "$scratch/work/topology.json" ;;
    *) set -- "$(list 1 2 3 | paste -sd , -)" ;;
    esac
    "$scratch/program" "$@" >"$scratch/printed"
}

# Statements are the body of a function. All of a document so far run in one
# program, since each goes on where the one before has ended.
write_fragments() {
    fragments=$((fragments + 1))
    {
        [ "$fragments" -gt 1 ] || printf '#include <stdio.h>\n#include <warmring/warmring.h>\n'
        printf 'static int block_%d(warmring_t *cache) {\n#line 1 "block.c"\n' "$fragments"
        localized "$block"
        printf 'return 0;\n}\n'
    } >>"$scratch/fragments.c"
    {
        cat "$scratch/fragments.c"
        printf 'int main(int argc, char **argv) {\nwarmring_t *cache;\nwarmring_topology_t *now;\n'
        printf 'if (argc < 2 || warmring_open(&cache, argv[1], NULL) != WARMRING_OK) return 2;\n'
        number=0
        while [ "$number" -lt "$fragments" ]; do
            number=$((number + 1))
            printf 'if (block_%d(cache) != 0) goto failed;\n' "$number"
        done
        printf 'if (warmring_acquire(cache, &now) != WARMRING_OK) goto failed;\n'
        printf 'fprintf(stderr, "%%s\\n", warmring_phase_name(warmring_topology_phase(now)));\n'
        printf 'warmring_topology_release(now);\nwarmring_close(cache);\nreturn 0;\nfailed:\n'
        printf 'fprintf(stderr, "%%s\\n", warmring_error_detail());\nwarmring_close(cache);\nreturn 1;\n}\n'
    } >"$scratch/block.c"
}

# The phases that the statements in a document lead to.
phase_after() {
    case $1 in
    docs/migration.md:1) echo PREPARED ;;
    docs/migration.md:2) echo WARMING ;;
    *) echo STABLE ;;
    esac
}

run_c() {
    if grep -q '^int main' "$block"; then
        cp "$block" "$scratch/block.c"
        build_program "$scratch/block.c" && run_program
        return
    fi
    write_fragments
    build_program "$scratch/block.c" && run_program 2>"$scratch/phase" &&
        [ "$(cat "$scratch/phase")" = "$(phase_after "$document:$fragments")" ] && return
    cat "$scratch/phase"
    return 1
}

# commands FILE: runs them as if `warmring` was installed.
commands() {
    localized "$1" >"$scratch/commands"
    (cd "$scratch/work" && PATH=$scratch:$PATH sh -e "$scratch/commands" </dev/null >"$scratch/printed")
}

# Lines that are shown have to be printed, in their order.
run_console() {
    sed -n 's/^\$ //p' "$block" >"$scratch/typed"
    sed '/^\$ /d' "$block" >"$scratch/shown"
    [ -s "$scratch/typed" ] && [ -s "$scratch/shown" ] && commands "$scratch/typed" || return
    awk 'NR == FNR { shown[++count] = $0; next }
        $0 == shown[seen + 1] { seen++ }
        END { if (seen < count) { print "not printed: " shown[seen + 1]; exit 1 } }' \
        "$scratch/shown" "$scratch/printed"
}

# The comment on top of an example, which examples.sh compares with what it
# prints; or a test that reads this document.
run_text() {
    case $1 in
    '') diff "$block" "$scratch/printed" ;;
    examples/*) sed -n '/^ \* Output:$/,/^ \*\/$/p' "$source/$1" | sed '1,2d;$d;s/^ \*$//;s/^ \*   //' |
        diff "$block" - ;;
    tests/*) grep -qF "$document" "$source/$1" ;;
    *) echo "$1 is neither an example nor a test" && return 1 ;;
    esac
}

# run_block KIND DETAIL: true if what the block says is so; 77 if it cannot be run.
run_block() {
    case $1:$2 in
    c:) run_c ;;
    sh:)
        [ "$document" != docs/migration.md ] || return 77
        commands "$block"
        ;;
    console:) run_console ;;
    text:sample | sh:install) return 77 ;;
    text:*) run_text "$2" ;;
    *) echo "a block that is $1 $2 cannot be run: see tests/tools/documents.sh" && return 1 ;;
    esac
}

# run_document FILE: "RESULT LINE KIND DETAIL" for each block to $scratch/results,
# and what failed to $scratch/said.LINE.
run_document() {
    blocks_of "$1" >"$scratch/index"
    begin_document
    while read -r number line kind detail; do
        block=$scratch/blocks/$number
        run_block "$kind" "$detail" >"$scratch/said.$line" 2>&1 </dev/null
        echo "$? $line $kind $detail"
    done <"$scratch/index" >"$scratch/results"
}

# ---- all documents ----

: >"$scratch/not-run"
for path in "$source"/README.md "$source"/docs/*.md; do
    document=${path#"$source/"}
    run_document "$path"
    while read -r result line kind detail; do
        if [ "$result" -eq 77 ]; then
            echo "$document:$line $kind${detail:+ $detail}" >>"$scratch/not-run"
            continue
        fi
        tap_ok "$result" "$document:$line: $kind${detail:+ $detail}"
        [ "$result" -eq 0 ] || sed 's/^/#   /' "$scratch/said.$line"
    done <"$scratch/results"
done

# runbook.sh runs those of docs/migration.md, and checks that they are all.
grep -v '^docs/migration.md:[0-9]* sh$' "$scratch/not-run" >"$scratch/left"
echo "# not run: $(wc -l <"$scratch/left")"
sed 's/^/#   /' "$scratch/left"
cut -d : -f 1 "$scratch/left" | sort | uniq -c | sed 's/^ *//' | paste -sd , - >"$scratch/counted"
[ "$(cat "$scratch/counted")" = '2 README.md,1 docs/fleet.md,1 docs/migration.md,1 docs/simulation.md' ]
tap_ok $? "and these alone: $(cat "$scratch/counted")"

# ---- what it would find ----

# finds WHAT RESULTS: a document, on stdin, whose blocks end so.
finds() {
    document=docs/planted.md
    cat >"$scratch/planted.md"
    run_document "$scratch/planted.md"
    ended=$(cut -d ' ' -f 1 "$scratch/results" | sed 's/^[1-9][0-9]*$/bad/' | paste -sd ' ' -)
    [ "$ended" = "$2" ]
    tap_ok $? "$1: $ended"
}

finds 'a program that fails, and one that does not compile' 'bad bad' <<'END'
```c
int main(void) {
    return 1;
}
```
```c
int main(void) {
    return warmring_no_such_function();
}
```
END
finds 'statements that fail' '0 bad' <<'END'
```c
if (warmring_set(cache, "planted", 7, "value", 5, 60, 0, NULL) != WARMRING_OK)
    return 1;
```
```c
if (warmring_add(cache, "planted", 7, "value", 5, 60, 0, NULL) != WARMRING_OK)
    return 1;
```
END
finds 'commands that fail, or print something else' '0 bad bad bad' <<'END'
```sh
echo planted | warmring locate --servers servers.txt
```
```text
nothing
```
```sh
echo planted | warmring locate --servers no-such-file.txt
```
```console
$ warmring plan --servers gigabytes.txt --target 5%
Recommended: 12 points per weight
```
END
finds 'blocks that do not say how to run them' 'bad bad 0 bad' <<'END'
```
anything
```

    anything

```sh
true
END

tap_done
