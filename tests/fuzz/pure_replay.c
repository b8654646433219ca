/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays the committed corpora of the targets of the pure layers.
 */
#include "../lib/tap.h"
#include "pure_fuzz.h"
#include "replay.h"

int main(void) {
    replay_corpus("corpus-ring", ring_fuzz, 7);
    replay_corpus("corpus-servers", servers_fuzz, 7);
    replay_corpus("corpus-steps", steps_fuzz, 7);
    return tap_done();
}
