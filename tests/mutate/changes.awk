# SPDX-License-Identifier: Apache-2.0
# Reads changes.txt. From the source directory, with -v what=
#
#   list                     NUMBER FILE KIND TEST... for each change
#   check                    a line for each thing that is wrong with them
#   apply -v number=NUMBER   the file of that change with the change made

/^== / {
    count++
    number_of[count] = $2
    file[count] = $3
    kind[count] = $4
    tests[count] = ""
    for (i = 5; i <= NF; i++) {
        tests[count] = tests[count] (i > 5 ? " " : "") $i
    }
    part = ""
    next
}
/^[-+]/ {
    text = substr($0, 2)
    if (/^-/) {
        old[count] = (part == "-" ? old[count] "\n" : "") text
    } else {
        new[count] = (part == "+" ? new[count] "\n" : "") text
    }
    part = substr($0, 1, 1)
}

function content(path, line, all) {
    all = ""
    while ((getline line < path) > 0) {
        all = all line "\n"
    }
    close(path)
    return all
}

function exists(path, line, found) {
    found = (getline line < path) >= 0
    close(path)
    return found
}

function occurrences(all, text, at, found) {
    found = 0
    while (text != "" && (at = index(all, text)) > 0) {
        found++
        all = substr(all, at + length(text))
    }
    return found
}

function wrong(i, why) {
    print "change " number_of[i] ", " file[i] ": " why
}

function check_tests(i, list, length_of, j, path) {
    length_of = split(tests[i], list, " ")
    if (length_of == 0) {
        wrong(i, "no test is named")
    }
    for (j = 1; j <= length_of; j++) {
        path = list[j]
        sub(/\.t$/, ".c", path)
        if (!exists(path)) {
            wrong(i, list[j] " is no test")
        }
    }
}

function check(i, found) {
    if (number_of[i] != i) {
        wrong(i, "it stands at place " i)
    }
    if (file[i] !~ /^lib\//) {
        wrong(i, "not in lib/")
    }
    if (old[i] == new[i]) {
        wrong(i, "it changes nothing")
    }
    found = occurrences(content(file[i]), old[i])
    if (found != 1) {
        wrong(i, "its old text is there " found " times")
    }
    check_tests(i)
}

function apply(i, all, at) {
    all = content(file[i])
    if (occurrences(all, old[i]) != 1) {
        exit 1
    }
    at = index(all, old[i])
    printf "%s%s%s", substr(all, 1, at - 1), new[i], substr(all, at + length(old[i]))
}

END {
    for (i = 1; i <= count; i++) {
        if (what == "list") {
            print number_of[i], file[i], kind[i], tests[i]
        } else if (what == "check") {
            check(i)
        } else if (number_of[i] == number) {
            apply(i)
            exit
        }
    }
    exit what == "apply"
}
