/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays the committed corpora of tests/fuzz/file_fuzz.c.
 */
#include "../lib/tap.h"
#include "file_fuzz.h"
#include "replay.h"

int main(void) {
    replay_corpus("corpus-file", file_fuzz, 7);
    replay_corpus("corpus-import", import_fuzz, 7);
    return tap_done();
}
