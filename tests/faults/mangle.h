/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that are spoilt: each takes what a true memcached would say and
 * damages it, so that one fault serves every command in both dialects. All
 * are fake_answer_t.
 */
#ifndef TESTS_MANGLE_H
#define TESTS_MANGLE_H

#include "tests/lib/fake_memcached.h"

fake_answer_t mangle_half;      /* breaks off: within the value if there is one */
fake_answer_t mangle_length;    /* a value's length becomes the text `data` */
fake_answer_t mangle_other;     /* another key's value, another command's answer */
fake_answer_t mangle_long_key;  /* of 10 KB */
fake_answer_t mangle_extra_end; /* an END behind it */

#endif
