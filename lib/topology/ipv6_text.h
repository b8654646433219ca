/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognising IPv6 addresses in text, without a socket header.
 */
#ifndef WR_TOPOLOGY_IPV6_TEXT_H
#define WR_TOPOLOGY_IPV6_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the text is an IPv6 address (RFC 4291, section 2.2), which may end
 * in a zone, "%eth0". */
bool wr_is_ipv6(const char *text, size_t length);

/* Whether somebody seems to have meant one and left out the brackets, with or
 * without a port behind it. */
bool wr_looks_like_ipv6(const char *text, size_t length);

#endif
