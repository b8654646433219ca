#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Static analysis of the library and the command: gcc -fanalyzer, clang-tidy by
# .clang-tidy, cppcheck. All of them, or those that are named; installs what is
# missing. From any directory:
#
#   scripts/analyze.sh [gcc] [clang-tidy] [cppcheck]
#
# A finding that is wrong is answered beside the code: by a comment with
# NOLINT(CHECK) and the reason in its line, or NOLINTNEXTLINE(CHECK) in the line
# before, which counts for gcc as for clang-tidy. What cppcheck gets wrong is in
# scripts/cppcheck.txt with the reasons. Whole reports are in build/analyze. Ends
# with the line "N findings", and fails unless N is 0.

# The parts that are shared are written for bash, which Debian always has.
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

build=$source/build/analyze
log=$build/analyze.log
mkdir -p "$build"
: >"$log"
jobs=$(nproc)
tools=("$@")
[[ $# -gt 0 ]] || tools=(gcc clang-tidy cppcheck)

defines=(-D_GNU_SOURCE -DWR_ANALYZED -DWR_WITH_LIBMEMCACHED=1 -DWR_WITH_LIBYAML=1)
includes=(-Iinclude -Ilib)

# each COUNT COMMAND...: with the names of the sources at its end, COUNT of them
# at a time, as many at once as there are processors.
each() {
    local count=$1
    shift
    (cd "$source" && find lib tools -name '*.c' | LC_ALL=C sort |
        xargs -n "$count" -P "$jobs" "$@")
}

run_gcc() {
    each 1 gcc -std=gnu11 -pthread -fanalyzer -O0 -c -o /dev/null \
        "${defines[@]}" "${includes[@]}"
}

# Several files at once make it forget what va_start() is.
run_clang-tidy() {
    each 1 sh -c 'clang-tidy --quiet "$0" -- -std=gnu11 -pthread '"${defines[*]} ${includes[*]}"
}

run_cppcheck() {
    (cd "$source" && cppcheck --enable=warning,performance,portability --std=c11 -j "$jobs" -q \
        --template='{file}:{line}:{column}: warning: {message} [{id}]' --template-location='' \
        --suppressions-list=scripts/cppcheck.txt "${defines[@]}" "${includes[@]}" lib tools)
}

# The findings of a report, one a line; not those that are answered, nor what
# follows from compiling the same header again.
findings() {
    sed -n "s|^$source/||; /: \(warning\|error\): /p" "$1" | LC_ALL=C sort -u | awk -v root="$source/" '
        {
            split($0, part, ":")
            check = $0
            sub(/.*\[/, "", check)
            sub(/\].*/, "", check)
            at = 0
            answered = 0
            before = ""
            while ((getline line < (root part[1])) > 0 && at < part[2]) {
                at++
                wanted = at == part[2] - 1 ? "NOLINTNEXTLINE(" : "NOLINT("
                if (at >= part[2] - 1 && index(line, wanted) && index(line, check)) answered = 1
            }
            close(root part[1])
            if (!answered) print
        }'
}

# analyze TOOL: its findings, and their number added.
total=0
analyze() {
    local report=$build/$1.txt begin=$SECONDS found count
    printf '  %-28s' "$1"
    "run_$1" >"$report" 2>&1 || true
    found=$(findings "$report")
    count=$(grep -c . <<<"$found" || true)
    total=$((total + count))
    printf '%d findings %4d s\n' "$count" $((SECONDS - begin))
    [[ -z $found ]] || sed 's/^/    /' <<<"$found"
}

echo "analyze: lib, tools"
[[ -z $(missing_packages build analyze) ]] ||
    step 'install packages' install_missing build analyze
for tool in "${tools[@]}"; do
    case $tool in
    gcc | clang-tidy | cppcheck) analyze "$tool" ;;
    *)
        echo "No tool here: $tool" >&2
        exit 2
        ;;
    esac
done
echo "$total findings"
[[ $total -eq 0 ]]
