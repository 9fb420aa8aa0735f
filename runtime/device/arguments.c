#include "runtime/device/arguments.h"

#include <inttypes.h>

#include "lib/ir/function.h"
#include "lib/support/context.h"
#include "lib/support/integer.h"
#include "lib/support/scalar.h"

typedef struct checked {
    const tile_device *device;
    const char *name;
    const tile_abi *abi;
} checked;

static const tile_loc no_location = {0, 0, 0};

static tile_status reject(const checked *c, const char *name, const char *why) {
    tile_report(c->device->context, TILE_ERROR, no_location, "@%s: argument %%%s %s", c->name, name,
                why);
    return TILE_INVALID;
}

static tile_status check_argument(const checked *c, const tile_abi_arg *arg,
                                  const tile_argument *argument) {
    if (!tile_type_is_address(arg->type)) {
        if (argument->buffer) return reject(c, arg->name, "is a scalar, not a buffer");
        return tile_integer_fits(arg->type->scalar, argument->integer)
                   ? TILE_OK
                   : reject(c, arg->name, "does not fit its type");
    }
    if (!argument->buffer)
        return reject(c, arg->name,
                      arg->type->kind == TILE_TYPE_VIEW ? "is a view and needs a buffer"
                                                        : "is a pointer and needs a buffer");
    if (argument->buffer->device != c->device)
        return reject(c, arg->name, "is a buffer of another device");
    if (argument->offset > argument->buffer->bytes)
        return reject(c, arg->name, "begins past the end of its buffer");
    if ((argument->buffer->address + argument->offset) % tile_scalar_bytes(arg->type->scalar))
        return reject(c, arg->name, "is not aligned to its element type");
    return TILE_OK;
}

/* Returns whether the buffer contains all bytes that the view accesses. */
static tile_status check_view(const checked *c, unsigned index, const int64_t *integers,
                              const tile_argument *argument) {
    const tile_buffer *buffer = argument->buffer;
    int64_t before, behind;
    tile_status status = tile_abi_view_bytes(c->abi, index, integers, &before, &behind);
    if (status != TILE_OK) return status;
    if ((uint64_t)before <= argument->offset &&
        (uint64_t)behind <= buffer->bytes - argument->offset)
        return TILE_OK;
    bool low = (uint64_t)before > argument->offset;
    tile_report(c->device->context, TILE_ERROR, no_location,
                "@%s: the view %%%s reaches %" PRId64 " bytes %s the offset %zu of its buffer, "
                "where there are %zu: %s",
                c->name, tile_abi_arg_at(c->abi, index)->name, low ? before : behind,
                low ? "before" : "from", argument->offset,
                low ? argument->offset : buffer->bytes - argument->offset,
                low ? "give a larger offset, or other extents or strides"
                    : "give a larger buffer, or other extents or strides");
    return TILE_INVALID;
}

/* The value of an argument in conditions and host expressions: an address or an integer. */
static int64_t number_of(const tile_argument *argument) {
    if (!argument->buffer) return argument->integer;
    return (int64_t)(argument->buffer->address + argument->offset);
}

tile_status tile_check_arguments(const tile_device *device, const char *name, const tile_abi *abi,
                                 const tile_argument *arguments, int64_t *numbers) {
    const checked c = {device, name, abi};
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < tile_abi_arg_count(abi) && status == TILE_OK; i++) {
        const tile_abi_arg *arg = tile_abi_arg_at(abi, i);
        status = check_argument(&c, arg, &arguments[i]);
        numbers[i] = number_of(&arguments[i]);
        if (status == TILE_OK && arg->type->kind == TILE_TYPE_VIEW)
            status = check_view(&c, i, numbers, &arguments[i]);
    }
    return status;
}

tile_abi *tile_arguments_create(const tile_module *module, const char *name) {
    const tile_expr *one = tile_expr_int(tile_module_context(module), 1);
    tile_module *copy = tile_module_clone(module);
    tile_function old, *f = tile_module_find(copy, name);
    tile_function_restart(f, &old);
    f->kind = TILE_KERNEL;
    f->level = 2;
    f->reference = NULL;
    f->raster = TILE_RASTER_NONE;
    f->is_persistent = false;
    f->cost = NULL;
    f->cluster_rank = 0;
    tile_function_set_flat(f, false);
    tile_function_set_grid(f, 1, &one);
    tile_function_set_warps(f, one);
    tile_abi *abi = tile_abi_create(f);
    tile_module_destroy(copy);
    return abi;
}
