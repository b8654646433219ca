/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a JSON text a value stands.
 *
 * A parser's values do not remember it. Once the text is known to be good,
 * finding the n-th member of an object or array is a matter of counting
 * commas, so it is done only for the one value that an error is about.
 */
#ifndef WR_TOPOLOGY_JSON_TEXT_H
#define WR_TOPOLOGY_JSON_TEXT_H

#include <stddef.h>

typedef struct {
    const char *at;
    size_t length;
} wr_json_piece_t;

/* The text of the whole value: what `text` has but for the blanks around it. */
wr_json_piece_t wr_json_whole(const char *text, size_t length);

/*
 * The text of member `index` of an object (its value) or an array. `value`
 * has to be good JSON; of length 0 for a member that is not there.
 */
wr_json_piece_t wr_json_member(wr_json_piece_t value, size_t index);

/* The line, from 1, that `at` stands on. */
size_t wr_json_line(const char *text, const char *at);

#endif
