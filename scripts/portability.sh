#!/bin/sh
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Builds and tests for other machines than this one, on Debian, x86-64:
#
#   scripts/portability.sh [MACHINE...]      all of them if none is named
#
#   i386    32-bit: the whole suite, on real servers
#   s390x   64-bit, big-endian, under qemu-user: the pure tests, the protocol's,
#           and some of the client's on real servers of this machine
#   musl    another C library: the pure tests and the protocol's, static
#
# None has libmemcached. Installs what is missing, the libraries for these
# machines included (for which apt learns their architectures); builds in
# build/i386, build/s390x and build/musl. Ends with the line "N passed, N failed, N
# skipped".
if [ -z "${BASH_VERSION:-}" ]; then
    exec bash "$0" "$@"
fi
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/scripts/lib.sh"
# Time passes slowly for what is emulated.
export TEST_SLACK_MS=${TEST_SLACK_MS:-1000}
export CI=

libraries=(libxxhash-dev libdeflate-dev libjansson-dev)
passed=0
failed=0
skipped=0

as_root() {
    if [[ $(id -u) -eq 0 ]]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

# install_for ARCHITECTURE PACKAGE...: the libraries of the architecture ("": of
# this one), and tools of this machine. An index that cannot be had is no
# matter if the packages can.
install_for() {
    local architecture=$1 wanted=() library
    shift
    for library in "${libraries[@]}"; do
        wanted+=("$library${architecture:+:$architecture}")
    done
    if dpkg-query -W -f '${Status}\n' "${wanted[@]}" "$@" 2>&1 | grep -qv '^install ok installed$'; then
        [[ -z $architecture ]] || as_root dpkg --add-architecture "$architecture"
        as_root apt-get update || true
        as_root apt-get install -y --no-install-recommends "${wanted[@]}" "$@"
    fi
}

# run_tests [MAKE-ARGUMENT...]: in $build, and counted.
run_tests() {
    local begin=$SECONDS all bad
    forget_results "$build"
    printf '  %-28s' 'test'
    make -C "$build" -j "$(nproc)" -k check AM_COLOR_TESTS=no "$@" >>"$log" 2>&1 </dev/null || true
    all=$(results "$build")
    bad=$(count_results FAIL XPASS ERROR <<<"$all")
    passed=$((passed + $(count_results PASS XFAIL <<<"$all")))
    skipped=$((skipped + $(count_results SKIP <<<"$all")))
    if [[ $bad -eq 0 && -n $all ]]; then
        printf 'done   %4d s\n' $((SECONDS - begin))
    else
        printf 'FAILED %4d s\n' $((SECONDS - begin))
        show_failures "$build" <<<"$all"
        failed=$((failed + (bad > 0 ? bad : 1)))
    fi
}

# begin NAME ARCHITECTURE PACKAGE...: the machine's directory, and what it takes.
begin() {
    build=$source/build/$1
    log=$build/check.log
    mkdir -p "$build"
    : >"$log"
    echo "$1"
    shift
    step 'install packages' install_for "$@"
}

# configure ARGUMENT...: in $build.
configure() {
    bootstrap_if_needed &&
        configure_in "$build" --without-libmemcached --without-openssl --enable-werror 'CFLAGS=-O1 -g' "$@"
}

test_i386() {
    begin i386 i386 gcc-i686-linux-gnu libc6-dev-i386-cross || return
    configure --host=i686-linux-gnu \
        PKG_CONFIG_LIBDIR=/usr/lib/i386-linux-gnu/pkgconfig:/usr/share/pkgconfig &&
        step compile make -C "$build" -j "$(nproc)" compile-checks && run_tests
}

test_s390x() {
    begin s390x s390x gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user || return
    configure --host=s390x-linux-gnu --disable-shared \
        PKG_CONFIG_LIBDIR=/usr/lib/s390x-linux-gnu/pkgconfig:/usr/share/pkgconfig &&
        step compile make -C "$build" -j "$(nproc)" compile-checks &&
        run_tests TESTS='$(portable_tests) tests/client/basic.t tests/client/multi.t
            tests/client/phases.t' T_LOG_COMPILER='qemu-s390x -L /'
}

# Debian has no libraries for musl. The headers of those that are needed stand
# beside musl's own, and their static archives go in as they are, with the few
# functions of glibc that its fortified headers put there.
test_musl() {
    local needs=$source/build/musl/needs header archive name arguments=()
    begin musl '' musl-tools || return
    mkdir -p "$needs"
    cat >"$needs/fortified.c" <<'END'
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void *__memcpy_chk(void *to, const void *from, size_t length, size_t room) {
    return length <= room ? memcpy(to, from, length) : NULL;
}
char *__strncpy_chk(char *to, const char *from, size_t length, size_t room) {
    return length <= room ? strncpy(to, from, length) : NULL;
}
int __vsnprintf_chk(char *to, size_t length, int flag, size_t room, const char *format, va_list list) {
    return length <= room ? vsnprintf(to, length, format, list) : -flag;
}
int __snprintf_chk(char *to, size_t length, int flag, size_t room, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int printed = __vsnprintf_chk(to, length, flag, room, format, list);
    va_end(list);
    return printed;
}
END
    for header in xxhash.h libdeflate.h jansson.h jansson_config.h; do
        ln -sf "$(find /usr/include -maxdepth 2 -name "$header" | head -n 1)" "$needs/$header"
    done
    for archive in libxxhash.a libdeflate.a libjansson.a; do
        ln -sf "/usr/lib/$(gcc -print-multiarch)/$archive" "$needs/$archive"
    done
    for name in LIBXXHASH:xxhash DEFLATE:deflate JANSSON:jansson; do
        arguments+=("${name%:*}_CFLAGS=-I$needs" "${name%:*}_LIBS=-L$needs -l${name#*:} -lfortified")
    done
    musl-gcc -c -O1 -o "$needs/fortified.o" "$needs/fortified.c" &&
        ar rcs "$needs/libfortified.a" "$needs/fortified.o" || return
    configure CC=musl-gcc --disable-shared --without-libyaml "${arguments[@]}" &&
        run_tests TESTS='$(portable_tests)' check_PROGRAMS='$(portable_tests)'
}

for name in "${@:-i386 s390x musl}"; do
    for name in $name; do
        if ! declare -F "test_$name" >/dev/null; then
            echo "$name is none of i386, s390x, musl" >&2
            exit 2
        fi
        "test_$name" || failed=$((failed + 1))
        echo
    done
done
summary "$passed" "$failed" "$skipped"
[[ $failed -eq 0 && $passed -gt 0 ]]
