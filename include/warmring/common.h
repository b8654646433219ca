/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Macros shared by every public header, and the version.
 */
#ifndef WARMRING_COMMON_H
#define WARMRING_COMMON_H

#define WARMRING_VERSION_MAJOR 0
#define WARMRING_VERSION_MINOR 1
#define WARMRING_VERSION_PATCH 0
#define WARMRING_VERSION_STRING "0.1.0"

#ifdef __cplusplus
#define WARMRING_BEGIN_DECLS extern "C" {
#define WARMRING_END_DECLS }
#else
#define WARMRING_BEGIN_DECLS
#define WARMRING_END_DECLS
#endif

#if defined(__GNUC__)
#define WARMRING_API __attribute__((visibility("default")))
#define WARMRING_MUST_CHECK __attribute__((warn_unused_result))
#else
#define WARMRING_API
#define WARMRING_MUST_CHECK
#endif

WARMRING_BEGIN_DECLS

/*
 * The version of the library that runs, as "MAJOR.MINOR.PATCH". It differs
 * from WARMRING_VERSION_STRING when a program meets a newer library.
 * Threads: any. Since 0.1.
 */
WARMRING_API const char *warmring_version(void);

WARMRING_END_DECLS

#endif
