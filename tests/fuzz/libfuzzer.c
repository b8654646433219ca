/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libFuzzer calls, for any target: scripts/fuzz.sh names it by TARGET.
 */
#include <stddef.h>
#include <stdint.h>

int TARGET(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    return TARGET(bytes, length);
}
