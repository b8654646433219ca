# SPDX-License-Identifier: Apache-2.0
# The functions that headers declare with WARMRING_API, one a line: NAME, then
# what is wrong with its comment, if anything. A function is documented when
# the comment right above its paragraph says since when there is the function.

/^[ \t]*\/\*/ {
    comment = ""
    in_comment = 1
}
in_comment {
    comment = comment $0 "\n"
    if (/\*\//) {
        in_comment = 0
    }
    next
}
/^[ \t]*$/ {
    comment = ""
}
/^WARMRING_API / {
    declaration = ""
    in_declaration = 1
}
in_declaration {
    declaration = declaration $0 " "
    if (match(declaration, /[a-z0-9_]+\(/)) {
        name = substr(declaration, RSTART, RLENGTH - 1)
        if (comment == "") {
            print name, "has no comment"
        } else if (comment !~ /Since [0-9]+\.[0-9]+/) {
            print name, "does not say since when"
        } else {
            print name
        }
        in_declaration = 0
    }
}
