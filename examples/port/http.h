/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of HTTP/1.0 as the page service needs; not what is shown here.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stddef.h>

typedef struct {
    char method[8];
    char name[201]; /* the path without its '/': letters, digits, '.', '-' */
    char *body;
    size_t body_length;
} http_request_t;

typedef struct {
    int status;
    const char *cache; /* for the header X-Cache */
    char *body;        /* freed by the server */
    size_t body_length;
} http_response_t;

typedef void (*http_handler_t)(void *context, const http_request_t *request,
                               http_response_t *response);

/* Listens on a free port of 127.0.0.1, prints "port N", and serves with
 * `threads` threads until standard input ends. Returns an exit status. */
int http_serve(int threads, http_handler_t handler, void *context);

#endif
