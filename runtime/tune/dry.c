#include "runtime/tune/dry.h"

#include <string.h>

static void destroy(tile_device *device) {
    (void)device;
}

static tile_status allocate(tile_device *device, size_t bytes, uint64_t *address) {
    tile_dry_device *dry = (tile_dry_device *)(void *)device;
    *address = dry->next;
    dry->next += (bytes + 4095) / 4096 * 4096;
    return TILE_OK;
}

static void release(tile_device *device, uint64_t address, size_t bytes) {
    (void)device, (void)address, (void)bytes;
}

static tile_status write(tile_device *device, uint64_t address, const void *data, size_t bytes) {
    (void)device, (void)address, (void)data, (void)bytes;
    return TILE_OK;
}

static tile_status read(tile_device *device, uint64_t address, void *data, size_t bytes) {
    (void)device, (void)address;
    memset(data, 0, bytes);
    return TILE_OK;
}

static tile_status prepare(tile_device *device, tile_variant *variant) {
    (void)device, (void)variant;
    return TILE_OK;
}

static void discard(tile_device *device, tile_variant *variant) {
    (void)device, (void)variant;
}

/* The true residency is unknown until the code is loaded. Kernels whose blocks must run at the same
 * time are compiled as if they fit, unless none could. */
static tile_status residency(tile_device *device, tile_variant *variant, int *blocks) {
    enum { MAX_BLOCKS = 32 };
    (void)device, (void)variant;
    *blocks = MAX_BLOCKS;
    return TILE_OK;
}

static tile_status is_capturing(tile_device *device, void *stream, bool *capturing) {
    (void)device, (void)stream;
    *capturing = false;
    return TILE_OK;
}

void tile_dry_device_open(tile_dry_device *device, tile_context *context, const tile_device *like,
                          tile_store *store, tile_store_log *log) {
    static const tile_device_ops ops = {.wants = TILE_WANT_PTX,
                                        .destroy = destroy,
                                        .allocate = allocate,
                                        .release = release,
                                        .write = write,
                                        .read = read,
                                        .prepare = prepare,
                                        .discard = discard,
                                        .residency = residency,
                                        .is_capturing = is_capturing};
    *device = (tile_dry_device){.base = {.ops = &ops,
                                         .context = context,
                                         .target = like->target,
                                         .name = like->name,
                                         .ptxas = like->ptxas,
                                         .level = like->level,
                                         .num_sms = like->num_sms,
                                         .store = store,
                                         .store_log = log},
                                .next = 4096};
}
