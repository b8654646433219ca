/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores a value and reads it back.
 *
 * Servers: 1
 * Output:
 *
 *   hello, world
 */
#include <stdio.h>
#include <warmring/warmring.h>

int main(int argc, char **argv) {
    warmring_t *cache;
    warmring_item_t item = WARMRING_ITEM_INIT;
    if (warmring_open(&cache, argc > 1 ? argv[1] : "127.0.0.1:11211", NULL) != WARMRING_OK ||
        warmring_set(cache, "greeting", 8, "hello, world", 12, 60, 0, NULL) != WARMRING_OK ||
        warmring_get(cache, "greeting", 8, &item, NULL) != WARMRING_OK) {
        fprintf(stderr, "%s\n", warmring_error_detail());
        return 1;
    }
    printf("%s\n", item.value.data);
    warmring_item_clear(&item);
    warmring_close(cache);
}
