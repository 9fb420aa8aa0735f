/* Placement: shared buffers in the block's shared memory, values in the register file. */
#include <inttypes.h>

#include "lib/support/integer.h"
#include "runtime/cpu/program/decoder.h"

enum {
    MAX_VALUE_BYTES = 1 << 26,  /* of all lanes */
    MAX_SHARED_BYTES = 1 << 26, /* far above any GPU's: allocate-shared checks targets */
    SHARED_ALIGN = 128,
};
static const uint64_t max_frame_bytes = UINT64_C(1) << 30;

/* Checks that all values have a known and reasonable size. */
static void check_values(cpu_decoder *d) {
    for (uint32_t id = 1; id < d->f->value_count && !d->failed; id++) {
        const tile_type *type = d->f->values[id].type;
        bool array = type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_VECTOR;
        int64_t elements = array ? tile_type_elements(type) : 1;
        if (elements < 0 || type->param)
            CPU_FAIL(d, d->f->loc,
                     "kernel @%s still has compile-time parameters: instantiate it first",
                     d->f->name);
        else if (elements * cpu_value_size(type) * d->program->lanes > MAX_VALUE_BYTES)
            CPU_FAIL(d, d->f->loc,
                     "kernel @%s has a value of %" PRId64 " elements, too many to execute",
                     d->f->name, elements);
    }
}

typedef struct shared_walk {
    cpu_decoder *d;
    bool placed; /* visits buffers with an offset; a second pass, the others */
    int64_t end, smallest;
    size_t buffer_capacity;
} shared_walk;

static void add_barriers(cpu_decoder *d, uint32_t offset, uint32_t count) {
    cpu_program *p = d->program;
    size_t capacity = p->barrier_buffer_count; /* there are few: the array grows by one */
    p->barrier_buffers = tile_arena_grow(&p->arena, p->barrier_buffers, p->barrier_buffer_count,
                                         &capacity, sizeof *p->barrier_buffers);
    p->barrier_buffers[p->barrier_buffer_count++] =
        (cpu_barrier_buffer){offset, count, p->mbarrier_count};
    p->mbarrier_count += count;
}

static void place_shared(tile_function *f, tile_op op, shared_walk *walk) {
    if (!tile_op_is_alloc(tile_op_opcode(f, op)) ||
        tile_op_has_attr(f, op, TILE_ATTR_offset) != walk->placed)
        return;
    const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
    int64_t elements = tile_type_elements(type), stages = tile_type_stage_count(type);
    int64_t size = tile_scalar_bytes(type->scalar);
    int64_t aligned = tile_round_up(walk->end, SHARED_ALIGN), stride;
    unsigned groups = tile_executors_of(f, op).groups;
    int64_t offset = tile_op_attr_int(f, op, TILE_ATTR_offset, aligned);
    tile_alloc_bytes(f, op, &stride);
    int64_t end = offset + elements * stages * size + (groups ? groups - 1 : 0) * stride;
    if (elements < 1 || stages < 1 || offset < 0 || end > MAX_SHARED_BYTES) {
        CPU_FAIL(walk->d, tile_op_loc(f, op), "%s: the buffer is too large to execute",
                 tile_op_name(f, op));
        return;
    }
    if (type->scalar == TILE_barrier)
        for (unsigned g = 0; g < (groups ? groups : 1); g++)
            add_barriers(walk->d, (uint32_t)(offset + g * stride), (uint32_t)elements);
    walk->d->shared_at[op.id] = (uint32_t)offset;
    walk->smallest = size < walk->smallest ? size : walk->smallest;
    if (end > walk->end) walk->end = end;
    cpu_program *p = walk->d->program;
    p->buffers = tile_arena_grow(&p->arena, p->buffers, p->buffer_count, &walk->buffer_capacity,
                                 sizeof *p->buffers);
    p->buffers[p->buffer_count++] = (cpu_extent){(uint32_t)offset, (uint32_t)end};
}

static void place_all_shared(cpu_decoder *d, tile_function *f) {
    shared_walk walk = {.d = d, .smallest = 16};
    d->shared_at = TILE_NEW_ARRAY(&d->scratch, uint32_t, f->op_count);
    for (int pass = 0; pass < 2; pass++) {
        walk.placed = pass == 0;
        TILE_FOR_EACH_OP_INSIDE (f, op, f->body) place_shared(f, op, &walk);
    }
    d->program->shared_bytes = (uint32_t)tile_round_up(walk.end, 16);
    while (1 << d->program->granule_bits < walk.smallest) d->program->granule_bits++;
}

/* Adds a place, after those of all values, that is never poisoned. */
static uint64_t add_clean_place(cpu_decoder *d, uint64_t at) {
    uint32_t largest = 0;
    if (!d->program->poison) return at;
    for (uint32_t id = 1; id < d->f->value_count; id++) {
        uint32_t bytes = cpu_value_place_bytes(d->f->values[id].type, d->program->lanes);
        largest = bytes > largest ? bytes : largest;
    }
    d->clean_place = (uint32_t)at;
    return at + largest;
}

void cpu_place_values(cpu_decoder *d) {
    const tile_function *f = d->f;
    d->places = TILE_NEW_ARRAY(&d->scratch, uint32_t, f->value_count);
    for (uint32_t id = 0; id < f->value_count; id++) d->places[id] = CPU_NO_PLACE;
    uint64_t bytes = cpu_assign_places(f, d->program->lanes, d->places, &d->scratch);
    bytes = add_clean_place(d, bytes);
    if (bytes > max_frame_bytes)
        CPU_FAIL(d, f->loc, "kernel @%s needs %" PRIu64 " bytes of registers, too many to execute",
                 f->name, bytes);
    d->temporary = (uint32_t)bytes;
    if (bytes > d->program->frame_bytes) d->program->frame_bytes = (uint32_t)bytes;
    d->program->arg_places = TILE_NEW_ARRAY(&d->program->arena, uint32_t, f->arg_count);
    for (size_t i = 0; i < f->arg_count; i++) {
        d->places[f->args[i].value.id] = cpu_add_constant(d, f->args[i].type);
        d->program->arg_places[i] = d->places[f->args[i].value.id];
    }
}

void cpu_place_all(cpu_decoder *d, tile_function *f) {
    check_values(d);
    if (!d->failed) place_all_shared(d, f);
    if (!d->failed) cpu_place_values(d);
}
