/* Host tables of launches. A launch finds its table without a lock. Tables are only added, under
 * the context's lock, and published when they are complete. They live as long as the device because
 * captured graphs may use them. */
#include "runtime/device/table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/launch/data.h"
#include "lib/support/context.h"

/* What a table depends on: its cost (one expression object for each text), the values of the
 * extents, and the values of the arguments that the cost names; the cost determines how many these
 * are. Each device has its own tables. */
enum { MAX_KEY = 4 + TILE_MAX_ARGUMENTS };
typedef struct table_key {
    unsigned length; /* of `value`, in use */
    int64_t value[MAX_KEY];
} table_key;

struct tile_host_table {
    struct tile_host_table *next; /* older */
    uint64_t address;
    size_t bytes;
    table_key key;
};

/* Returns false after a diagnostic if these arguments do not determine a table. */
static bool make_key(const tile_abi *abi, unsigned index, const int64_t *args, table_key *key) {
    const tile_table *table = &abi->tables[index];
    key->value[0] = (int64_t)(uintptr_t)table->cost;
    key->length = 4;
    if (tile_abi_table_extents(abi, index, args, &key->value[1]) != TILE_OK) return false;
    for (unsigned i = 0; i < abi->arg_count; i++)
        if (tile_arg_set_has(&table->args, i)) key->value[key->length++] = args[i];
    return true;
}

static tile_host_table *_Atomic *head_of(tile_device *device, const table_key *key) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < key->length; i++)
        hash = (hash ^ (uint64_t)key->value[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &device->tables[hash >> (64 - TILE_TABLE_HEAD_BITS)];
}

/* Returns the table's address, or 0 if it has not been made. */
static uint64_t find_table(tile_device *device, const table_key *key) {
    const tile_host_table *at = atomic_load_explicit(head_of(device, key), memory_order_acquire);
    for (; at; at = at->next)
        if (at->key.length == key->length &&
            memcmp(at->key.value, key->value, sizeof *key->value * key->length) == 0)
            return at->address;
    return 0;
}

/* The copy to the device may still be in flight, so a read waits for it. */
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
    const tile_launch_facts facts = {.size = sizeof facts, .num_sms = device->num_sms};
    const int64_t *extents = &table->key.value[1];
    table->bytes = sizeof(int32_t) * (size_t)tile_table_entries(extents);
    int32_t *entries = tile_malloc(table->bytes);
    tile_status status = tile_abi_make_table(abi, index, args, &facts, entries);
    if (status == TILE_OK) status = device->ops->allocate(device, table->bytes, &table->address);
    if (status == TILE_OK && (status = upload(device, table, entries)) != TILE_OK)
        device->ops->release(device, table->address, table->bytes);
    free(entries);
    return status;
}

/* Call it under the context's lock. */
static tile_status add_table(tile_device *device, const tile_abi *abi, unsigned index,
                             const int64_t *args, const table_key *key, uint64_t *address) {
    if ((*address = find_table(device, key))) return TILE_OK;
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

tile_status tile_take_tables(tile_device *device, const int64_t *args, tile_launch *launch) {
    const tile_abi *abi = launch->variant->abi;
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < abi->table_count && status == TILE_OK; i++) {
        tile_launch_table *table = &launch->tables[i];
        table_key key;
        if (!make_key(abi, i, args, &key)) return TILE_INVALID;
        table->entries = (int32_t)tile_table_entries(&key.value[1]);
        if ((table->address = find_table(device, &key))) continue;
        status = tile_refuse_capture(device, abi->entry, launch->stream);
        if (status != TILE_OK) return status;
        tile_context_lock(device->context);
        status = add_table(device, abi, i, args, &key, &table->address);
        tile_context_unlock(device->context);
    }
    return status;
}

void tile_free_tables(tile_device *device) {
    for (unsigned i = 0; i < 1u << TILE_TABLE_HEAD_BITS; i++)
        for (tile_host_table *table = device->tables[i], *next; table; table = next) {
            next = table->next;
            device->ops->release(device, table->address, table->bytes);
            free(table);
        }
}
