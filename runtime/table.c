/* Host tables of launches. A launch finds its own without a lock; they are only ever added, under
 * the context's lock, and published when they are whole, for captured graphs may use them as long
 * as the device lives. */
#include "runtime/table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tile_host_table {
    struct tile_host_table *next; /* older */
    uint64_t address;
    size_t bytes;
    tile_table_key key;
};

bool tile_make_table_key(const tile_abi *abi, unsigned index, const int64_t *args,
                         tile_table_key *key) {
    const tile_table *table = &abi->tables[index];
    key->value[0] = (int64_t)(uintptr_t)table->cost;
    key->length = 4;
    if (tile_abi_table_extents(abi, index, args, &key->value[1]) != TILE_OK) return false;
    for (unsigned i = 0; table->args >> i; i++) {
        key->value[key->length++] = table->args >> i & 1 ? args[i] : 0;
        if (i == 63) break;
    }
    return true;
}

static tile_host_table *_Atomic *head_of(tile_device *device, const tile_table_key *key) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < key->length; i++)
        hash = (hash ^ (uint64_t)key->value[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &device->tables[hash >> (64 - TILE_TABLE_HEAD_BITS)];
}

uint64_t tile_find_table(tile_device *device, const tile_table_key *key) {
    const tile_host_table *at = atomic_load_explicit(head_of(device, key), memory_order_acquire);
    for (; at; at = at->next)
        if (at->key.length == key->length &&
            memcmp(at->key.value, key->value, sizeof *key->value * key->length) == 0)
            return at->address;
    return 0;
}

/* What is written may still be on its way to the device: a read waits for it. */
static tile_status upload(tile_device *device, tile_host_table *table, const int32_t *entries) {
    int32_t last;
    const uint64_t end = table->address + table->bytes;
    tile_status status = device->ops->write(device, table->address, entries, table->bytes);
    if (status == TILE_OK)
        status = device->ops->read(device, end - sizeof last, &last, sizeof last);
    return status;
}

static tile_status make(tile_device *device, tile_host_table *table, const tile_abi *abi,
                        unsigned index, const int64_t *args) {
    const int64_t *extents = &table->key.value[1];
    table->bytes = sizeof(int32_t) * (size_t)(extents[0] * extents[1] * extents[2]);
    int32_t *entries = tile_malloc(table->bytes);
    tile_status status = tile_abi_make_table(abi, index, args, entries);
    if (status == TILE_OK) status = device->ops->allocate(device, table->bytes, &table->address);
    if (status == TILE_OK && (status = upload(device, table, entries)) != TILE_OK)
        device->ops->release(device, table->address, table->bytes);
    free(entries);
    return status;
}

tile_status tile_add_table(tile_device *device, const tile_abi *abi, unsigned index,
                           const int64_t *args, const tile_table_key *key, uint64_t *address) {
    if ((*address = tile_find_table(device, key))) return TILE_OK;
    tile_host_table *_Atomic *head = head_of(device, key);
    tile_host_table *table = tile_malloc(sizeof *table);
    *table = (tile_host_table){.next = *head, .key = *key};
    tile_status status = make(device, table, abi, index, args);
    if (status != TILE_OK) {
        free(table);
        return status;
    }
    *address = table->address;
    atomic_store_explicit(head, table, memory_order_release);
    return TILE_OK;
}

void tile_free_tables(tile_device *device) {
    for (unsigned i = 0; i < 1u << TILE_TABLE_HEAD_BITS; i++)
        for (tile_host_table *table = device->tables[i], *next; table; table = next) {
            next = table->next;
            device->ops->release(device, table->address, table->bytes);
            free(table);
        }
}
