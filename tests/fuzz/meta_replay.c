/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays the committed corpus of tests/fuzz/meta_fuzz.c.
 */
#include "../lib/tap.h"
#include "meta_fuzz.h"
#include "replay.h"

int main(void) {
    replay_corpus("corpus-meta", meta_fuzz, 10);
    return tap_done();
}
