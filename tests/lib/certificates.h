/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates for a test, made by the openssl command in a directory of their
 * own that is removed at exit. A missing command skips the whole test, or
 * fails it when CI is set.
 *
 *   ca.pem        signed all the others
 *   other-ca.pem  signed none
 *   good.pem      a server's, for localhost and 127.0.0.1
 *   named.pem     a server's, for cache.example
 *   expired.pem   as good.pem, till yesterday
 *   client.pem    a client's, with its key
 *   key.pem       of all of them but other-ca.pem, whose is other-key.pem
 *   locked.pem    the same with a passphrase
 */
#ifndef TESTS_CERTIFICATES_H
#define TESTS_CERTIFICATES_H

/* The path of one of these files; static for each of the last few calls. */
const char *certificate_path(const char *name);

#endif
