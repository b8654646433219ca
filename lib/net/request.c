/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of each verb.
 */
#include "net/request.h"

/* A command that carries a token, or whose repetition would change the result,
 * is not idempotent. */
const wr_verb_info_t wr_verbs[WR_VERBS] = {
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
