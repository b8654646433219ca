/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where pages come from: the files of a directory. Slow, in real life.
 */
#ifndef ORIGIN_H
#define ORIGIN_H

#include <stddef.h>

/* A page in memory of its own, or NULL. */
char *origin_load(const char *directory, const char *name, size_t *length);

/* Writes or removes a page; 0 when that is done. */
int origin_store(const char *directory, const char *name, const char *page, size_t length);
int origin_remove(const char *directory, const char *name);

#endif
