/* Checks that free_shared comes after the last use of its buffer. Later buffers may have the same
 * address, so a use after free would silently read or overwrite another buffer.
 *
 * One traversal in text order tracks which buffers have been freed on some path. A region of an
 * operation sees the frees of the previous region only if control flows from there to it. Code
 * after the operation sees all of them. The next iteration of a loop may use a buffer that this one
 * has freed: a buffer from outside of a loop keeps its memory throughout the loop
 * (lib/analysis/liveness.h). */
#include "lib/check/verify.h"
#include "lib/ir/regions.h"

typedef struct freed_buffer {
    tile_value buffer;
    tile_op free;
} freed_buffer;

typedef struct checker {
    tile_function *f;
    tile_arena scratch;
    tile_op *freed_by; /* by value: the free_shared that has been executed */
    freed_buffer *freed;
    size_t count, capacity;
    bool ok;
} checker;

static void fail(checker *c, tile_op op, tile_value buffer, tile_op place) {
    const char *name = tile_value_at(c->f, buffer)->name;
    tile_error_of(c->f, op, "%s%s has been freed; move free_shared after its last use",
                  name ? "%" : "the buffer", name ? name : "");
    tile_note_at(c->f, place, "it is freed here");
    c->ok = false;
}

static void check_operands(checker *c, tile_op op) {
    for (unsigned i = 0; i < tile_op_operand_count(c->f, op); i++) {
        tile_value value = tile_op_operand(c->f, op, i);
        tile_op *freed_by = &c->freed_by[value.id];
        if (!freed_by->id) continue;
        fail(c, op, value, *freed_by);
        *freed_by = TILE_NO_OP; /* report only the first use */
    }
}

static void note_free(checker *c, tile_op op) {
    tile_value buffer = tile_operand_buffer(c->f, op);
    c->freed_by[buffer.id] = op;
    c->freed = tile_arena_grow(&c->scratch, c->freed, c->count, &c->capacity, sizeof *c->freed);
    c->freed[c->count++] = (freed_buffer){buffer, op};
}

static void walk_region(checker *c, tile_region region) {
    TILE_FOR_EACH_OP (c->f, op, region) {
        check_operands(c, op);
        if (tile_op_opcode(c->f, op) == TILE_OP_free_shared) note_free(c, op);
        size_t before = c->count;
        for (unsigned r = 0; r < tile_op_at(c->f, op)->region_count; r++) {
            size_t begin = c->count;
            walk_region(c, tile_op_region(c->f, op, r));
            for (size_t i = begin;
                 i < c->count && !tile_control_flows(c->f, op, (int)r, (int)r + 1); i++)
                c->freed_by[c->freed[i].buffer.id] = TILE_NO_OP;
        }
        for (size_t i = before; i < c->count && tile_op_at(c->f, op)->region_count; i++)
            c->freed_by[c->freed[i].buffer.id] = c->freed[i].free;
    }
}

bool tile_verify_frees(tile_function *f) {
    checker c = {.f = f, .ok = true};
    c.freed_by = TILE_NEW_ARRAY(&c.scratch, tile_op, f->value_count);
    walk_region(&c, f->body);
    tile_arena_reset(&c.scratch);
    return c.ok;
}
