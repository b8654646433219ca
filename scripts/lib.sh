# SPDX-License-Identifier: Apache-2.0
# What the scripts share: one table of what is needed, steps with a log, and
# sums of test results. Sourced by bash scripts, which set `source` first.

# ---- what is needed ----

# kind, what is looked for, the Debian package that has it, what for:
# "build" (all of it), "test", "clang", "dist", "debian", "analyze" or "valgrind".
needs='
command make make build
command gcc gcc build
command g++ g++ build
command autoconf autoconf build
command automake automake build
command libtoolize libtool build
command pkg-config pkg-config build
module libmemcached libmemcached-dev build
header libhashkit-1.0/hashkit.h libmemcached-dev build
module libxxhash libxxhash-dev build
module libdeflate libdeflate-dev build
module openssl libssl-dev build
module jansson libjansson-dev build
module yaml-0.1 libyaml-dev build
command memcached memcached test
command openssl openssl test
plugin libplain libsasl2-modules test
plugin libsasldb libsasl2-modules-db test
command python3 python3 test
command clang clang clang
command groff groff-base test
command cmake cmake dist
command xz xz-utils dist
command dpkg-buildpackage dpkg-dev debian
command dh debhelper debian
command fakeroot fakeroot debian
command lintian lintian debian
command clang-tidy clang-tidy analyze
command cppcheck cppcheck analyze
command valgrind valgrind valgrind
'

has_command() {
    command -v "$1" >/dev/null
}

has_module() {
    has_command pkg-config && pkg-config --exists "$1"
}

has_header() {
    local compiler=gcc
    has_command gcc || compiler=cc
    echo "#include <$1>" | "$compiler" -E -x c - >/dev/null 2>&1
}

# One of libsasl2's.
has_plugin() {
    compgen -G "/usr/lib/*/sasl2/$1.so*" >/dev/null || compgen -G "/usr/lib*/sasl2/$1.so*" >/dev/null
}

# missing_packages PURPOSE...: the Debian packages of what is not there.
missing_packages() {
    local kind thing package purpose
    while read -r kind thing package purpose; do
        if [[ -n $kind && " $* " == *" $purpose "* ]] && ! "has_$kind" "$thing"; then
            echo "$package"
        fi
    done <<<"$needs" | sort -u
}

# install_missing PURPOSE...: installs them, or says what to install.
install_missing() {
    local missing as_root=()
    missing=$(missing_packages "$@" | paste -sd ' ')
    [[ -n $missing ]] || return 0
    if [[ $(id -u) -ne 0 ]]; then
        as_root=(sudo)
    fi
    if ! has_command apt-get || { [[ ${#as_root[@]} -gt 0 ]] && ! has_command sudo; }; then
        echo "Missing, by the names of Debian's packages: $missing" >&2
        echo "Install them, then run this again." >&2
        return 1
    fi
    # shellcheck disable=SC2086 # a list of packages
    {
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update &&
            "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
                apt-get install -y --no-install-recommends $missing
    } || return 1
    missing=$(missing_packages "$@" | paste -sd ' ')
    if [[ -n $missing ]]; then
        echo "Still missing after apt-get: $missing" >&2
        return 1
    fi
}

# ---- steps ----

# step NAME COMMAND...: runs it, all output to $log; one line with the time,
# and the end of the output when it failed.
step() {
    local name=$1 begin=$SECONDS status=0 from
    shift
    printf '  %-28s' "$name"
    from=$(($(wc -l <"$log") + 1))
    printf '==== %s: %s\n' "$name" "$*" >>"$log"
    "$@" >>"$log" 2>&1 </dev/null || status=$?
    if [[ $status -eq 0 ]]; then
        printf 'done   %4d s\n' $((SECONDS - begin))
        return 0
    fi
    printf 'FAILED %4d s\n' $((SECONDS - begin))
    tail -n "+$from" "$log" | tail -n 40 | sed 's/^/    | /'
    printf '    whole log: %s\n' "$log"
    return "$status"
}

bootstrap_if_needed() {
    if [[ ! -e $source/configure || $source/configure.ac -nt $source/configure ]]; then
        step bootstrap "$source/bootstrap"
    fi
}

# configure_in DIRECTORY ARGUMENT...: only when that was not done yet, or
# with other arguments or another configure.
configure_in() {
    local directory=$1
    shift
    if [[ -e $source/config.status ]]; then
        echo "The source directory is configured itself: run make distclean in it first." >&2
        return 1
    fi
    if [[ -e $directory/Makefile && $(cat "$directory/configured-with" 2>/dev/null) == "$*" &&
        ! $source/configure -nt $directory/configured-with ]]; then
        return 0
    fi
    step configure env --chdir="$directory" "$source/configure" "$@" || return 1
    make -C "$directory" clean >>"$log" 2>&1 # what was made with other arguments
    echo "$*" >"$directory/configured-with"
}

# build_in NAME TARGET...: makes these in build/NAME, which becomes $build,
# configured as for users; installs what is missing.
build_in() {
    build=$source/build/$1
    log=$build/build.log
    shift
    mkdir -p "$build"
    : >"$log"
    echo "Building in $build"
    [[ -z $(missing_packages build test) ]] || step 'install packages' install_missing build test
    bootstrap_if_needed
    configure_in "$build"
    step compile make -C "$build" -j "$(nproc)" "$@"
    echo
}

# ---- results ----

# forget_results DIRECTORY: so that a test that did not run does not count.
forget_results() {
    find "$1" -name '*.trs' -delete
}

# results DIRECTORY: "RESULT: TEST - TEXT" for each test of the last run, the
# results from the .trs files, the texts from the logs beside them. That a
# program with failed tests ends with an error is no further failure.
results() {
    find "$1" -name '*.trs' | LC_ALL=C sort | while read -r file; do
        awk '
            FNR == 1 { files++ }
            files == 1 && /^:test-result: / { result[++count] = $2 }
            files == 2 && /^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): / && $1 == result[seen + 1] ":" {
                text[++seen] = $0
            }
            END {
                for (i = 1; i <= count; i++) {
                    if (result[i] == "FAIL") failed = 1
                    if (result[i] == "ERROR" && failed && text[i] ~ /exited with status 1$/) continue
                    print (text[i] != "") ? text[i] : result[i] ": " ARGV[1]
                }
            }' "$file" "${file%.trs}.log"
    done
}

# count_results RESULT...: how many of the lines of stdin have one of these.
count_results() {
    grep -cE "^($(IFS='|' && echo "$*")): " || true
}

# show_skips: those of stdin by name.
show_skips() {
    sed -n 's/^SKIP: /    skipped: /p'
}

# show_failures DIRECTORY: the failed tests of stdin by name, then what their
# programs said about it; the end of the log when there are none.
show_failures() {
    local bad program
    bad=$(grep -E '^(FAIL|XPASS|ERROR): ' || true)
    if [[ -z $bad ]]; then
        tail -n 40 "$log" | sed 's/^/    | /'
        return
    fi
    sed 's/^/    /' <<<"$bad"
    awk '{ print $2 }' <<<"$bad" | sort -u | while read -r program; do
        echo "    ---- $program"
        grep -vE '^(ok|PASS:) ' "$1/${program%.*}.log" | tail -n 60 | sed 's/^/    | /'
    done
}

# summary PASSED FAILED SKIPPED
summary() {
    printf '%d passed, %d failed, %d skipped\n' "$1" "$2" "$3"
}
