/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's own locale, by POSIX's uselocale().
 */
#include "base/c_locale.h"

bool wr_c_locale_enter(wr_c_locale_t *locale) {
    locale->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (locale->c == (locale_t)0) {
        return false;
    }
    locale->before = uselocale(locale->c);
    return true;
}

void wr_c_locale_leave(const wr_c_locale_t *locale) {
    uselocale(locale->before);
    freelocale(locale->c);
}
