/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of each verb, and how answers are told from faults.
 */
#include "net/request.h"

#include <warmring/client.h>

/* A command that carries a token, or whose repetition would change the result,
 * is not idempotent. */
static const wr_verb_info_t verbs[WR_VERBS] = {
    /*                     name       idempotent reads stores binds */
    [WR_GET] = {"get", true, true, false, false},
    [WR_SET] = {"set", true, false, true, false},
    [WR_ADD] = {"add", false, false, true, false},
    [WR_REPLACE] = {"replace", true, false, true, false},
    [WR_APPEND] = {"append", false, false, true, true},
    [WR_PREPEND] = {"prepend", false, false, true, true},
    [WR_CAS] = {"cas", false, false, true, true},
    [WR_DELETE] = {"delete", true, false, false, false},
    [WR_UNLEASE] = {"unlease", false, false, false, true},
    [WR_LEASE] = {"lease", false, false, false, false},
    [WR_TOUCH] = {"touch", true, false, false, false},
    [WR_GET_AND_TOUCH] = {"get-and-touch", true, true, false, false},
    [WR_INCREMENT] = {"increment", false, false, false, true},
    [WR_DECREMENT] = {"decrement", false, false, false, true},
    [WR_FLUSH] = {"flush", true, false, false, false},
};

const wr_verb_info_t *wr_verb_info(wr_verb_t verb) {
    return &verbs[verb];
}

bool wr_is_stub(const wr_request_t *answer) {
    return answer->status == WARMRING_OK && answer->flags_out == WARMRING_RESERVED_FLAGS;
}

static const bool answers[WARMRING_OUT_OF_MEMORY + 1] = {
    [WARMRING_OK] = true,
    [WARMRING_NOT_FOUND] = true,
    [WARMRING_NOT_STORED] = true,
    [WARMRING_EXISTS] = true,
    [WARMRING_NOT_NUMERIC] = true,
    [WARMRING_TOO_LARGE] = true,
    [WARMRING_BUFFER_TOO_SMALL] = true,
};

bool wr_is_answer(warmring_status_t status) {
    return (size_t)status < sizeof answers / sizeof answers[0] && answers[status];
}
