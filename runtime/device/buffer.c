/* What all devices share besides kernels: their properties, and buffers. */
#include <stdlib.h>
#include <string.h>

#include "runtime/device/table.h"
#include "tile/cache.h"

static const tile_loc no_location = {0, 0, 0};

void tile_device_destroy(tile_device *device) {
    if (!device) return;
    tile_cache *cache = device->cache;
    tile_free_tables(device);
    device->ops->destroy(device);
    tile_cache_destroy(cache);
}

const char *tile_device_name(const tile_device *device) {
    return device ? device->name : NULL;
}

const tile_target *tile_device_target(const tile_device *device) {
    return device ? device->target : NULL;
}

unsigned tile_device_num_sms(const tile_device *device) {
    return device ? device->num_sms : 0;
}

tile_cpu_counts tile_device_counts(const tile_device *device) {
    return device ? device->counts : (tile_cpu_counts){0};
}

tile_status tile_device_synchronize(tile_device *device) {
    TILE_GUARD(device ? device->context : NULL, TILE_OUT_OF_MEMORY)
    return device ? device->ops->synchronize(device) : TILE_INVALID;
}

tile_status tile_refuse_capture(tile_device *device, const char *kernel, void *stream) {
    bool capturing = false;
    tile_status status =
        device->ops->is_capturing ? device->ops->is_capturing(device, stream, &capturing) : TILE_OK;
    if (status != TILE_OK || !capturing) return status;
    tile_report(device->context, TILE_ERROR, no_location,
                "@%s is not prepared for these arguments, and the stream is being captured: call "
                "tile_kernel_prepare with them before the capture begins",
                kernel);
    return TILE_UNSUPPORTED;
}

/* Buffers ------------------------------------------------------------------------------------- */

static tile_buffer *add_buffer(tile_device *device, uint64_t address, size_t bytes, bool owned) {
    tile_buffer *buffer = tile_malloc(sizeof *buffer);
    *buffer = (tile_buffer){.device = device,
                            .next = device->buffers,
                            .address = address,
                            .bytes = bytes,
                            .owned = owned};
    device->buffers = buffer;
    return buffer;
}

void tile_buffer_set_window(tile_buffer *window, const tile_buffer *buffer, size_t offset,
                            size_t bytes) {
    const tile_buffer whole = *buffer; /* may be *window */
    *window = whole;
    window->next = NULL;
    window->address += offset;
    window->bytes = bytes;
    window->owned = false;
    window->written = whole.written ? whole.written + offset : NULL;
    window->window_of = whole.window_of ? whole.window_of : buffer;
}

tile_status tile_buffer_create(tile_device *device, size_t bytes, tile_buffer **buffer) {
    TILE_GUARD(device ? device->context : NULL, TILE_OUT_OF_MEMORY)
    uint64_t address = 0;
    *buffer = NULL;
    if (!device) return TILE_INVALID;
    tile_status status = device->ops->allocate(device, bytes ? bytes : 1, &address);
    if (status != TILE_OK) return status;
    *buffer = add_buffer(device, address, bytes, true);
    if (!device->tracks_writes) return TILE_OK;
    (*buffer)->written = tile_malloc(bytes + 1);
    tile_buffer_forget(*buffer);
    return TILE_OK;
}

tile_status tile_buffer_wrap(tile_device *device, uint64_t address, size_t bytes,
                             tile_buffer **buffer) {
    TILE_GUARD(device ? device->context : NULL, TILE_OUT_OF_MEMORY)
    *buffer = NULL;
    if (!device) return TILE_INVALID;
    if (!address && bytes) {
        tile_report(device->context, TILE_ERROR, no_location,
                    "a buffer of %zu bytes cannot begin at address 0", bytes);
        return TILE_INVALID;
    }
    *buffer = add_buffer(device, address, bytes, false);
    return TILE_OK;
}

void tile_buffer_destroy(tile_buffer *buffer) {
    if (!buffer) return;
    tile_device *device = buffer->device;
    for (tile_buffer **at = &device->buffers; *at; at = &(*at)->next)
        if (*at == buffer) {
            *at = buffer->next;
            break;
        }
    if (buffer->owned)
        device->ops->release(device, buffer->address, buffer->bytes ? buffer->bytes : 1);
    free(buffer->written);
    free(buffer);
}

static tile_status check_range(const tile_buffer *buffer, size_t offset, size_t bytes) {
    if (!buffer) return TILE_INVALID;
    if (offset <= buffer->bytes && bytes <= buffer->bytes - offset) return TILE_OK;
    tile_report(buffer->device->context, TILE_ERROR, no_location,
                "%zu bytes at offset %zu are not inside a buffer of %zu bytes", bytes, offset,
                buffer->bytes);
    return TILE_INVALID;
}

tile_status tile_buffer_write(tile_buffer *buffer, size_t offset, const void *data, size_t bytes) {
    tile_status status = check_range(buffer, offset, bytes);
    if (status != TILE_OK || !bytes) return status;
    if (buffer->written) memset(buffer->written + offset, 1, bytes);
    return buffer->device->ops->write(buffer->device, buffer->address + offset, data, bytes);
}

void tile_buffer_forget(tile_buffer *buffer) {
    if (buffer && buffer->written) memset(buffer->written, 0, buffer->bytes);
}

tile_status tile_buffer_read(const tile_buffer *buffer, size_t offset, void *data, size_t bytes) {
    tile_status status = check_range(buffer, offset, bytes);
    if (status != TILE_OK || !bytes) return status;
    return buffer->device->ops->read(buffer->device, buffer->address + offset, data, bytes);
}

size_t tile_buffer_size(const tile_buffer *buffer) {
    return buffer ? buffer->bytes : 0;
}
