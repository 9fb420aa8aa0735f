/* Tensor maps of launches.
 *
 * Encoding a map costs the driver less than a microsecond; finding it takes less than a tenth of
 * that. Each variant has a few places, and the hash of a map's key selects the place. Launches on
 * several threads read and write them without a lock. Each place has a version that is odd while a
 * thread writes it. A reader that sees the version change encodes the map without the cache. */
#include "runtime/device/map.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACE_BITS = 3,
    KEY_WORDS = 1 + 2 * TILE_MAX_MAP_RANK,
    MAP_WORDS = TILE_TENSOR_MAP_BYTES / 8
};

typedef struct place {
    atomic_uint version; /* 0: empty; odd: being written */
    _Atomic uint64_t key[KEY_WORDS];
    _Atomic uint64_t map[MAP_WORDS];
} place;

struct tile_map_cache {
    unsigned count; /* number of places */
    place places[]; /* 1 << PLACE_BITS for each map */
};

tile_map_cache *tile_map_cache_create(const tile_abi *abi) {
    unsigned count = tile_abi_tensor_map_count(abi) << PLACE_BITS;
    size_t bytes = sizeof(tile_map_cache) + sizeof(place) * count;
    if (!count) return NULL;
    tile_map_cache *cache = memset(tile_malloc(bytes), 0, bytes);
    cache->count = count;
    return cache;
}

void tile_map_cache_destroy(tile_map_cache *cache) {
    free(cache);
}

/* Everything in which two launches can differ. */
static void make_key(const tile_tensor_map *array, uint64_t key[KEY_WORDS]) {
    key[0] = array->address;
    for (unsigned d = 0; d < TILE_MAX_MAP_RANK; d++) {
        key[1 + d] = (uint64_t)array->extents[d];
        key[1 + TILE_MAX_MAP_RANK + d] = (uint64_t)array->strides[d];
    }
}

static place *place_of(tile_map_cache *cache, unsigned index, const uint64_t key[KEY_WORDS]) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < KEY_WORDS; i++) {
        hash = (hash ^ key[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    hash = hash * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACE_BITS);
    size_t at = ((size_t)index << PLACE_BITS) + hash;
    assert(at < cache->count);
    return &cache->places[at];
}

static bool read_place(place *p, const uint64_t key[KEY_WORDS], unsigned char *encoded) {
    unsigned version = atomic_load_explicit(&p->version, memory_order_acquire);
    uint64_t words[MAP_WORDS];
    bool same = version && version % 2 == 0;
    for (unsigned i = 0; i < KEY_WORDS && same; i++)
        same = atomic_load_explicit(&p->key[i], memory_order_relaxed) == key[i];
    if (!same) return false;
    for (unsigned i = 0; i < MAP_WORDS; i++)
        words[i] = atomic_load_explicit(&p->map[i], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&p->version, memory_order_relaxed) != version) return false;
    memcpy(encoded, words, sizeof words);
    return true;
}

/* Skips the write if another thread is writing. */
static void write_place(place *p, const uint64_t key[KEY_WORDS], const unsigned char *encoded) {
    unsigned version = atomic_load_explicit(&p->version, memory_order_relaxed);
    uint64_t words[MAP_WORDS];
    if (version % 2 ||
        !atomic_compare_exchange_strong_explicit(&p->version, &version, version + 1,
                                                 memory_order_acquire, memory_order_relaxed))
        return;
    atomic_thread_fence(memory_order_release);
    memcpy(words, encoded, sizeof words);
    for (unsigned i = 0; i < KEY_WORDS; i++)
        atomic_store_explicit(&p->key[i], key[i], memory_order_relaxed);
    for (unsigned i = 0; i < MAP_WORDS; i++)
        atomic_store_explicit(&p->map[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&p->version, version + 2 ? version + 2 : 2, memory_order_release);
}

static tile_status encode(tile_device *device, tile_map_cache *cache, unsigned index,
                          tile_launch_map *map, const char **why) {
    uint64_t key[KEY_WORDS];
    make_key(&map->array, key);
    place *p = place_of(cache, index, key);
    if (read_place(p, key, map->encoded)) return TILE_OK;
    if ((*why = tile_tensor_map_fault(&map->array))) return TILE_UNAVAILABLE;
    tile_status status =
        device->ops->encode ? device->ops->encode(device, &map->array, map->encoded, why) : TILE_OK;
    if (status == TILE_OK) write_place(p, key, map->encoded);
    return status;
}

tile_status tile_take_maps(tile_device *device, const int64_t *args, tile_launch *launch,
                           const char **why) {
    const tile_abi *abi = launch->variant->abi;
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < tile_abi_tensor_map_count(abi) && status == TILE_OK; i++) {
        status = tile_abi_tensor_map(abi, i, args, &launch->maps[i].array);
        if (status == TILE_OK)
            status = encode(device, launch->variant->maps, i, &launch->maps[i], why);
    }
    return status;
}
