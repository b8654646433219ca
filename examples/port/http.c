/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { MAX_THREADS = 16, MAX_HEAD = 4096, MAX_BODY = 1 << 20 };

typedef struct {
    int listener;
    http_handler_t handler;
    void *context;
} service_t;

/* Reads up to the blank line; what follows it stays in `head`. -1: no. */
static int read_head(int fd, char *head, size_t *used, char **rest) {
    *used = 0;
    while (*used < MAX_HEAD) {
        ssize_t got = read(fd, head + *used, MAX_HEAD - *used);
        if (got <= 0) {
            return -1;
        }
        *used += (size_t)got;
        head[*used] = '\0';
        char *end = strstr(head, "\r\n\r\n");
        if (end != NULL) {
            *end = '\0';
            *rest = end + 4;
            return 0;
        }
    }
    return -1;
}

static size_t body_length(const char *head) {
    const char *field = strstr(head, "\nContent-Length:");
    return field != NULL ? strtoul(field + 16, NULL, 10) : 0;
}

static int read_request(int fd, char *head, http_request_t *request) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    char *rest;
    size_t used;
    if (read_head(fd, head, &used, &rest) != 0 ||
        sscanf(head, "%7s /%200s HTTP/", request->method, request->name) != 2 ||
        request->name[strspn(request->name, allowed)] != '\0' || request->name[0] == '.') {
        return -1;
    }
    size_t have = (size_t)(head + used - rest);
    request->body_length = body_length(head);
    if (request->body_length > MAX_BODY || have > request->body_length) {
        return -1;
    }
    request->body = malloc(request->body_length + 1);
    if (request->body == NULL) {
        return -1;
    }
    memcpy(request->body, rest, have);
    while (have < request->body_length) {
        ssize_t got = read(fd, request->body + have, request->body_length - have);
        if (got <= 0) {
            return -1;
        }
        have += (size_t)got;
    }
    return 0;
}

static void answer(int fd, const http_response_t *response) {
    char head[128];
    int length =
        snprintf(head, sizeof head, "HTTP/1.0 %d .\r\nX-Cache: %s\r\nContent-Length: %zu\r\n\r\n",
                 response->status, response->cache != NULL ? response->cache : "none",
                 response->body_length);
    if (send(fd, head, (size_t)length, MSG_NOSIGNAL) != length) {
        return;
    }
    for (size_t sent = 0; sent < response->body_length;) {
        ssize_t put = send(fd, response->body + sent, response->body_length - sent, MSG_NOSIGNAL);
        if (put <= 0) {
            return;
        }
        sent += (size_t)put;
    }
}

static void *serve(void *argument) {
    const service_t *service = argument;
    for (;;) {
        char head[MAX_HEAD + 1];
        http_request_t request = {.body = NULL};
        http_response_t response = {.status = 400};
        const struct timeval patience = {.tv_sec = 5};
        int fd = accept(service->listener, NULL, NULL);
        if (fd < 0) {
            return NULL;
        }
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (read_request(fd, head, &request) == 0) {
            service->handler(service->context, &request, &response);
        }
        answer(fd, &response);
        free(request.body);
        free(response.body);
        close(fd);
    }
}

int http_serve(int threads, http_handler_t handler, void *context) {
    pthread_t ids[MAX_THREADS];
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    service_t service = {socket(AF_INET, SOCK_STREAM, 0), handler, context};
    if (threads > MAX_THREADS || service.listener < 0 ||
        bind(service.listener, (struct sockaddr *)&address, length) != 0 ||
        listen(service.listener, 64) != 0 ||
        getsockname(service.listener, (struct sockaddr *)&address, &length) != 0) {
        perror("cannot listen");
        return 1;
    }
    int started = 0;
    while (started < threads && pthread_create(&ids[started], NULL, serve, &service) == 0) {
        started++;
    }
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    while (getchar() != EOF) {
    }
    shutdown(service.listener, SHUT_RDWR);
    for (int i = 0; i < started; i++) {
        pthread_join(ids[i], NULL);
    }
    close(service.listener);
    return started == threads ? 0 : 1;
}
