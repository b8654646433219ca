/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a topology file on their way in: each knows where it stands,
 * so that whatever is wrong with it is said with the file's name, the line,
 * the path and the piece itself:
 *
 *   fleet.json:12: ring.servers[3].weight: "x" is not a number
 *
 * Functions that return a status return OK or BAD_FILE.
 */
#ifndef WR_TOPOLOGY_FILE_NODE_H
#define WR_TOPOLOGY_FILE_NODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/status.h>

typedef struct {
    const char *name; /* of the file */
    const char *text;
    size_t length;
    json_t *root;
} wr_document_t;

typedef struct wr_node {
    const wr_document_t *document;
    const struct wr_node *parent; /* NULL: it is the whole file */
    const char *key;              /* in an object; NULL: in an array */
    size_t index;                 /* in an array */
    const json_t *value;
} wr_node_t;

/* Reads the text as JSON. Besides the above OUT_OF_MEMORY. Close it unless
 * that failed. */
warmring_status_t wr_document_open(wr_document_t *document, const char *name, const char *text,
                                   size_t length);
void wr_document_close(wr_document_t *document);
wr_node_t wr_document_root(const wr_document_t *document);

/* Refuses a value: BAD_FILE, with "PIECE " before the reason. */
__attribute__((format(printf, 2, 3))) warmring_status_t wr_node_refuse(const wr_node_t *node,
                                                                       const char *format, ...);

/* The same without the piece, for what is wrong with a value as a whole. */
__attribute__((format(printf, 2, 3))) warmring_status_t wr_node_blame(const wr_node_t *node,
                                                                      const char *format, ...);

/* Wraps the detail text of a call that failed because of this value. Memory
 * is nobody's fault: OUT_OF_MEMORY stays what it is. */
warmring_status_t wr_node_wrap(const wr_node_t *node, warmring_status_t status);

/* An object with these keys only; NULL ends the list. */
warmring_status_t wr_node_object(const wr_node_t *node, const char *const *keys);

/* Any object, or an array. */
warmring_status_t wr_node_container(const wr_node_t *node, json_type type);
size_t wr_node_size(const wr_node_t *node);

/* The member of an object, which has to be there; or, the second, may. Both
 * need an object. */
warmring_status_t wr_node_member(const wr_node_t *object, const char *key, wr_node_t *member);
bool wr_node_find(const wr_node_t *object, const char *key, wr_node_t *member);

/* Element `index` of an array, below its size. */
wr_node_t wr_node_element(const wr_node_t *array, size_t index);

/* The next member of an object in the order of the text; starts with
 * *iterator NULL, false past the last. */
bool wr_node_next(const wr_node_t *object, void **iterator, wr_node_t *member);

/* Scalars. Strings belong to the document. */
warmring_status_t wr_node_uint(const wr_node_t *node, uint64_t least, uint64_t most,
                               uint64_t *number);
warmring_status_t wr_node_real(const wr_node_t *node, double *number); /* from 0 up */
warmring_status_t wr_node_string(const wr_node_t *node, const char **string);
warmring_status_t wr_node_hex(const wr_node_t *node, uint64_t *number); /* 16 digits */
warmring_status_t wr_node_bool(const wr_node_t *node, bool *flag);

#endif
