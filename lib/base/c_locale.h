/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For calls of other libraries that read or write numbers the way the
 * program's locale does: this thread has the locale "C" meanwhile.
 */
#ifndef WR_BASE_C_LOCALE_H
#define WR_BASE_C_LOCALE_H

#include <locale.h>
#include <stdbool.h>

typedef struct {
    locale_t before;
    locale_t c;
} wr_c_locale_t;

/* False: no memory, nothing has changed. */
bool wr_c_locale_enter(wr_c_locale_t *locale);
void wr_c_locale_leave(const wr_c_locale_t *locale);

#endif
