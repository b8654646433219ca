#!/bin/sh
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Builds and tests everything, from a checkout or a tarball, from any
# directory; installs what is missing. From the environment:
#
#   CC            the compiler (gcc), as in clang
#   SANITIZERS    a list for the compiler: address,undefined or thread
#   TEST_SECONDS  how long races and soaks last (2)
#   BUILD_ONLY    1: no tests, and no summary
#   WITHOUT       libmemcached: a build without it
#
# Builds in build/check, in build/asan or build/tsan with sanitizers, in
# build/bare without libmemcached, and ends with the line "N passed, N failed,
# N skipped".
# The parts that are shared are written for bash, which Debian always has.
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"

compiler=${CC:-gcc}
sanitizers=${SANITIZERS:-}
purposes=(build test)
arguments=("CC=$compiler")
runner=()

case $sanitizers in
'') name=check ;;
address*) name=asan ;;
thread) name=tsan ;;
*) name=${sanitizers//,/-} ;;
esac
if [[ -n $sanitizers ]]; then
    # Warnings stay warnings: gcc sees ghosts in what sanitizers add.
    arguments+=("--enable-sanitizers=$sanitizers" "CFLAGS=-O1 -g")
    # What a call may outlast its deadline by where all code is slow.
    export TEST_SLACK_MS=${TEST_SLACK_MS:-500}
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
    # The sanitizers' memory maps do not agree with every kernel's random
    # addresses.
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        runner=(setarch "$(uname -m)" -R)
    fi
fi
if [[ -z $sanitizers ]]; then
    arguments+=(--enable-werror)
fi
if [[ ${WITHOUT:-} == libmemcached ]]; then
    name=bare
    arguments+=(--without-libmemcached)
elif [[ ${WITHOUT:-} == openssl ]]; then
    name=plain
    arguments+=(--without-openssl)
fi
if [[ $compiler == *clang* ]]; then
    name=clang-${name}
    name=${name%-check}
    purposes+=(clang)
    arguments+=("CXX=${compiler/clang/clang++}")
fi

build=$source/build/$name
log=$build/check.log
mkdir -p "$build"
: >"$log"
jobs=$(nproc)

give_up() {
    [[ ${BUILD_ONLY:-0} != 0 ]] || summary 0 1 0
    exit 1
}

echo "$name: $compiler${sanitizers:+ -fsanitize=$sanitizers}${WITHOUT:+ without $WITHOUT}"
[[ -z $(missing_packages "${purposes[@]}") ]] ||
    step 'install packages' install_missing "${purposes[@]}" || give_up
bootstrap_if_needed || give_up
configure_in "$build" "${arguments[@]}" || give_up
step compile make -C "$build" -j "$jobs" compile-checks || give_up
[[ ${BUILD_ONLY:-0} == 0 ]] || exit 0

forget_results "$build"
begin=$SECONDS
printf '  %-28s' 'test'
status=0
# Tests mostly wait: for servers, deadlines and holds.
${runner[@]+"${runner[@]}"} make -C "$build" -j $((2 * jobs)) -k check \
    AM_COLOR_TESTS=no >>"$log" 2>&1 </dev/null || status=$?
all=$(results "$build")
passed=$(count_results PASS XFAIL <<<"$all")
failed=$(count_results FAIL XPASS ERROR <<<"$all")
skipped=$(count_results SKIP <<<"$all")
if [[ $failed -eq 0 && ($status -ne 0 || $passed -eq 0) ]]; then
    failed=1 # something else than a test
fi
if [[ $failed -eq 0 ]]; then
    printf 'done   %4d s\n' $((SECONDS - begin))
else
    printf 'FAILED %4d s\n' $((SECONDS - begin))
    show_failures "$build" <<<"$all"
    printf '    whole log: %s\n' "$log"
fi
show_skips <<<"$all"
summary "$passed" "$failed" "$skipped"
[[ $failed -eq 0 ]]
