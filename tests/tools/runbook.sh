#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands of the runbook in docs/migration.md, as they stand there but for
# the addresses and the times, on real servers.

. "$(dirname "$0")/cluster.sh"

for number in 1 2 3 4; do
    start_server
done
sed -n '/^## The runbook/,/^## Driving/p' "$source/docs/migration.md" |
    awk '/^### /{ title = substr($0, 5) } /^```$/ { inside = 0 } inside { print title "\t" $0 }
        /^```sh$/ { inside = 1 }' >"$scratch/blocks"
cut -f 1 "$scratch/blocks" | uniq >"$scratch/titles"
[ "$(paste -sd , "$scratch/titles")" = \
    'The file,Before,Begin,Warm,Commit,Finish,Settle,Weights,Going back' ]
tap_ok $? 'the blocks are found'
[ "$(grep -c '^```sh$' "$source/docs/migration.md")" -eq "$(wc -l <"$scratch/titles")" ]
tap_ok $? 'docs/migration.md has no other commands'

mkdir "$scratch/work"
file=$scratch/work/fleet.json
cat >"$scratch/warmring" <<END
#!/bin/sh
exec "$tool" "\$@"
END
chmod 755 "$scratch/warmring"

# document_block WORD: the block that begins so.
document_block() {
    awk -v word="$1" '/^```/ { first = inside = !inside; next }
        inside && first { show = ($1 == word); first = 0 }
        inside && show' "$source/docs/migration.md"
}

while IFS= read -r title; do
    # Nothing is asked where there is no terminal, but it is shown.
    if [ "$title" = Begin ]; then
        "$tool" migrate begin "$file" --to "$scratch/work/new-servers.txt" >"$scratch/out" 2>"$scratch/err" </dev/null
        document_block 40.27 >"$scratch/shown"
        head -n "$(wc -l <"$scratch/shown")" "$scratch/out" | diff "$scratch/shown" - >"$scratch/difference"
        [ -s "$scratch/shown" ] && [ ! -s "$scratch/difference" ]
        tap_ok $? 'it first prints what the document shows'
        sed 's/^/#   /' "$scratch/difference"
    fi
    grep "^$title	" "$scratch/blocks" | cut -f 2- >"$scratch/written"
    localized "$scratch/written" >"$scratch/block"
    (cd "$scratch/work" && PATH=$scratch:$PATH sh -e "$scratch/block") >"$scratch/out" 2>"$scratch/err"
    ran=$?
    tap_ok $ran "$title: $(wc -l <"$scratch/block") lines"
    [ $ran -eq 0 ] || sed 's/^/#   /' "$scratch/out" "$scratch/err"
    case $title in
    'The file' | Before) in_phase "$file" STABLE ;;
    Begin) in_phase "$file" PREPARED ;;
    Warm | Weights) in_phase "$file" WARMING ;;
    Commit)
        in_phase "$file" DRAINING
        "$tool" stat "$file" >"$scratch/out" 2>"$scratch/err"
        sed 's/^/#   /' "$scratch/out"
        document_block phase | sed -n '1,2p' | tr -s ' ' >"$scratch/shown"
        sed -n '1,2p' "$scratch/out" | tr -s ' ' | diff "$scratch/shown" - >"$scratch/difference"
        tap_empty "$scratch/difference" '  and stat has the columns that the document shows'
        ;;
    Finish) in_phase "$file" SETTLING ;;
    *) in_phase "$file" STABLE ;;
    esac
done <"$scratch/titles"

"$tool" migrate status "$file" --json >"$scratch/out" 2>"$scratch/err"
json '[s["server"] for s in it["servers"]] == ["a", "b", "c", "d"]' 'it ends on the new servers'
told "$(field "$file" steps)"

tap_done
