# SPDX-License-Identifier: Apache-2.0
# Manual pages of the library, section 3, from a public header: what is said
# there is said once.
#
#   awk -v version=0.1.0 -v directory=man3 -f pages.awk include/warmring/client.h
#
# A header is a sequence of entries: a comment that starts in the first column,
# and the declarations up to the next one. A comment `/* ---- title ---- */`
# begins a page of its own; what comes before the first makes up the page of
# the whole header, which the others refer to. Each function's name is a page
# that leads to the one it is on.
#
# In a comment, lines indented by two more blanks than the text are shown as
# they are; the rest is paragraphs.

function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/) {
        text = "\\&" text
    }
    return text
}

# The text of a comment, without its marks; the first line may be on the mark.
function strip(line) {
    sub(/^\/\*[ ]?/, "", line)
    sub(/[ ]*\*\/[ \t]*$/, "", line)
    sub(/^ \*[ ]?/, "", line)
    sub(/^   /, one_line ? "" : "   ", line)
    return line
}

function paragraphs(text, lines, count, i, shown, out, gap) {
    count = split(text, lines, "\n")
    shown = 0
    gap = 0
    out = ""
    for (i = 1; i <= count; i++) {
        if (lines[i] ~ /^[ \t]*$/) {
            gap = 1
            continue
        }
        if ((lines[i] ~ /^  /) != shown) {
            # The lines under "- " go on with the item.
            if (!shown && item && lines[i] ~ /^  [^ ]/) {
                sub(/^  /, "", lines[i])
            } else {
                shown = !shown
                out = out (shown ? ".PP\n.nf\n" : ".fi\n.PP\n")
                gap = 0
            }
        }
        if (gap) {
            out = out (shown ? "\n" : ".PP\n")
            gap = 0
        }
        if (!shown && lines[i] ~ /^- /) {
            item = 1
            sub(/^- /, "", lines[i])
            out = out ".IP \\(bu 2\n"
        } else if (!shown && lines[i - 1] ~ /^[ \t]*$/) {
            item = 0
        }
        out = out roff(lines[i]) "\n"
    }
    item = 0
    return out (shown ? ".fi\n" : "")
}

function shown_code(code, out) {
    gsub(/WARMRING_API |WARMRING_MUST_CHECK /, "", code)
    gsub(/WARMRING_MUST_CHECK\n/, "", code)
    sub(/^\n+/, "", code)
    sub(/\n+$/, "", code)
    if (code == "") {
        return ""
    }
    gsub(/\\/, "\\e", code)
    gsub(/-/, "\\-", code)
    return ".PP\n.nf\n" code "\n.fi\n"
}

# The names of the functions in a piece of code, in `found`.
function functions(code, found, count, rest) {
    count = 0
    while (match(code, /WARMRING_API [^;(]*\(/)) {
        rest = substr(code, RSTART, RLENGTH - 1)
        code = substr(code, RSTART + RLENGTH)
        sub(/.*[ *\n]/, "", rest)
        found[++count] = rest
    }
    return count
}

# A page is its title, its functions, their prototypes, its entries.
function open_page(name, title) {
    page = name
    page_title = title
    page_names = ""
    page_body = ""
}

function close_page(   file) {
    if (page == "" || (page_body == "" && page_names == "")) {
        return
    }
    file = directory "/" page ".3"
    printf ".\\\" SPDX-License-Identifier: Apache-2.0\n" \
        ".\\\" Made from %s by docs/man/pages.awk.\n" \
        ".TH %s 3 \"\" \"warmring %s\" \"Library Functions\"\n.nh\n.ad l\n.SH NAME\n%s \\- %s\n" \
        ".SH SYNOPSIS\n.nf\n#include <warmring/%s>\n\ncc ... $(pkg\\-config \\-\\-cflags " \
        "\\-\\-libs warmring)\n.fi\n.SH DESCRIPTION\n%s",
        "include/warmring/" header, toupper(page), version,
        page_names == "" ? page : page_names, roff(page_title), header, page_body >file
    if (page != whole) {
        printf ".SH SEE ALSO\n.BR %s (3),\n.BR warmring (1)\n", whole >file
    } else {
        printf ".SH SEE ALSO\n.BR warmring (1)\n" >file
    }
    close(file)
}

function add_entry(   found, count, i, names) {
    if (comment == "" && code ~ /^[ \t\n]*$/) {
        return
    }
    count = functions(code, found)
    names = ""
    for (i = 1; i <= count; i++) {
        names = names (i > 1 ? ", " : "") found[i] "()"
        page_names = page_names (page_names == "" ? "" : ", ") found[i]
        if (found[i] != page) {
            file = directory "/" found[i] ".3"
            printf ".so man3/%s.3\n", page >file
            close(file)
        }
    }
    if (names != "") {
        page_body = page_body ".SS " names "\n"
    } else if (page_body != "") {
        page_body = page_body ".PP\n"
    }
    page_body = page_body shown_code(code) (code ~ /[^ \t\n]/ ? ".PP\n" : "") paragraphs(comment)
    comment = ""
    code = ""
}

function slug(title) {
    gsub(/[^a-z0-9]+/, "_", title)
    gsub(/^_|_$/, "", title)
    return title
}

FNR == 1 {
    header = FILENAME
    sub(/.*\//, "", header)
    stem = header
    sub(/\.h$/, "", stem)
    whole = stem == "warmring" ? "warmring" : "warmring_" stem
    comment = code = ""
    open_page(whole, "")
    first = 1
}

/SPDX-License-Identifier/ { next }

# Guards and what C++ needs.
/^#ifndef WARMRING_[A-Z]*_H$/ || /^#define WARMRING_[A-Z]*_H$/ || /^#include/ ||
    /^WARMRING_(BEGIN|END)_DECLS/ || /^#(if|ifdef|else|elif|endif|undef)/ { next }

/^\/\* ---- / {
    add_entry()
    close_page()
    title = $0
    sub(/^\/\* -+ /, "", title)
    sub(/ -+ \*\/$/, "", title)
    open_page("warmring_" stem "_" slug(title), title)
    next
}

/^\/\*/ {
    add_entry()
    in_comment = 1
    one_line = $0 !~ /^\/\*[ ]*$/
    comment = ""
}

in_comment {
    text = strip($0)
    if (!(comment == "" && text == "")) {
        comment = comment text "\n"
    }
    if (/\*\//) {
        in_comment = 0
        if (first) {
            # "Title: what it is." heads the page of the header.
            first = 0
            page_title = comment
            sub(/[:.\n].*/, "", page_title)
            page_title = tolower(substr(page_title, 1, 1)) substr(page_title, 2)
        }
    }
    next
}

{ code = code $0 "\n" }

END {
    add_entry()
    close_page()
}
