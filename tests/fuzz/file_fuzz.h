/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz targets of topology files and of imported configurations, for
 * libFuzzer and for replaying their corpora.
 */
#ifndef TESTS_FILE_FUZZ_H
#define TESTS_FILE_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Each runs one input; aborts on a defect. Always 0. */
int file_fuzz(const uint8_t *bytes, size_t length);
int import_fuzz(const uint8_t *bytes, size_t length);

#endif
