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

mkdir "$scratch/work"
file=$scratch/work/fleet.json
cat >"$scratch/warmring" <<END
#!/bin/sh
exec "$tool" "\$@"
END
chmod 755 "$scratch/warmring"

while IFS= read -r title; do
    grep "^$title	" "$scratch/blocks" | cut -f 2- |
        sed "s/--lag 5 --max-deadline 2000/--lag 1 --max-deadline 100/
            s/10\.0\.0\.1:11211/127.0.0.1:$(port_of 1)/
            s/10\.0\.0\.2:11211/127.0.0.1:$(port_of 2)/
            s/10\.0\.0\.3:11211/127.0.0.1:$(port_of 3)/
            s/10\.0\.0\.4:11211/127.0.0.1:$(port_of 4)/" >"$scratch/block"
    (cd "$scratch/work" && PATH=$scratch:$PATH sh -e "$scratch/block") >"$scratch/out" 2>"$scratch/err"
    ran=$?
    tap_ok $ran "$title: $(wc -l <"$scratch/block") lines"
    [ $ran -eq 0 ] || sed 's/^/#   /' "$scratch/out" "$scratch/err"
    case $title in
    'The file' | Before) in_phase "$file" STABLE ;;
    Begin) in_phase "$file" PREPARED ;;
    Warm | Weights) in_phase "$file" WARMING ;;
    Commit) in_phase "$file" DRAINING ;;
    Finish) in_phase "$file" SETTLING ;;
    *) in_phase "$file" STABLE ;;
    esac
done <"$scratch/titles"

"$tool" migrate status "$file" --json >"$scratch/out" 2>"$scratch/err"
json '[s["server"] for s in it["servers"]] == ["a", "b", "c", "d"]' 'it ends on the new servers'
told "$(field "$file" steps)"

tap_done
