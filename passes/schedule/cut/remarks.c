/* Explains why a compute becomes several kernels: a remark at each value that one kernel stores for
 * another.
 *
 * The remark reports the value, its bytes, the kernel that reads it, why that kernel does not
 * compute it, and how to avoid or reduce the transfer. */
#include "passes/schedule/cut/cut.h"

#include "lib/ir/describe.h"
#include "lib/ir/remark.h"

/* A value in memory between two kernels. */
typedef struct array_transfer {
    schedule *s;
    tile_value value;
    const sched_group *writer, *reader;
} array_transfer;

typedef struct cause {
    const char *why, *remedy;
} cause;

static bool is_product(const sched_group *g) {
    return g->kind == SCHED_MATMUL || g->kind == SCHED_ONLINE;
}

static bool is_operand(const array_transfer *h) {
    const tile_function *f = h->s->compute;
    return h->reader->root.id && tile_op_opcode(f, h->reader->root) == TILE_OP_matmul &&
           (sched_is_computed_from(h->s, tile_operand_lhs(f, h->reader->root), h->value) ||
            sched_is_computed_from(h->s, tile_operand_rhs(f, h->reader->root), h->value));
}

static bool is_reduced_value(const array_transfer *h) {
    tile_op op = tile_value_def(h->s->compute, h->value);
    return op.id && sched_is_reduction(h->s, op);
}

/* Returns whether the value is a reduction of a product's rows. */
static bool is_of_product(const array_transfer *h) {
    bool found = false;
    for (size_t i = 0; i < h->writer->input_count; i++) {
        int before = sched_writer_of(h->s, h->writer->inputs[i].array);
        found |= before >= 0 && is_product(h->s->groups[before]);
    }
    return found;
}

static const char walk[] =
    "one kernel can compute exp(%x - reduce_max(%x)), its sums, quotients by values of the row, "
    "and products with it: give the computation that form, or write a kernel (`of @c`)";

static const char walk_or_tile[] =
    "one kernel can compute exp(%x - reduce_max(%x)), its sums, quotients by values of the row, "
    "and products with it: give the computation that form. A product's kernel also reduces rows of "
    "a known extent up to 256, and groups of columns whose number is a power of two. Otherwise "
    "write a kernel (`of @c`)";

/* Why a product's kernel does not compute its operand. */
static cause of_operand(const array_transfer *h) {
    if (is_product(h->writer))
        return (cause){"it is an operand of the next product, and a block of the first product's "
                       "kernel has only some of the columns that the next one adds up",
                       "give the extents along which both add up, up to 256, as in "
                       "schedule{d=128}, or accept two kernels, which are often as fast"};
    if (h->writer->kind == SCHED_ROWS && is_of_product(h))
        return (cause){"the two products and the reductions between them do not become one kernel; "
                       "a remark \"not online\" says why if little is missing",
                       walk};
    if (h->writer->kind == SCHED_ROWS)
        return (cause){"it is an operand of a product, whose blocks have a part of a row at a "
                       "time, and it needs a reduction of the whole row",
                       "multiply the product by the row's factor instead of the operand, as in "
                       "`matmul(%x, %w) * %scale`: then only that factor is written"};
    if (sched_element(h->s, h->value)->scalar == TILE_tf32)
        return (cause){"it is an operand of a product, and wgmma reads operands of 32 bits from "
                       "shared memory only if they are rounded already, and k is contiguous",
                       "multiply f32 with `precision = tf32`, which truncates in the instruction, "
                       "or keep the rounded array if several products read it"};
    return (cause){"it is an operand of a product, and takes more operations than a product's "
                   "kernel can do when it loads an operand",
                   "compute operands only by casts and arithmetic on arrays that have their dims, "
                   "or several kernels remain"};
}

/* Why reductions of a reduction are separate. */
static cause of_rows(const array_transfer *h) {
    if (h->writer->kind == SCHED_ROWS && is_reduced_value(h))
        return (cause){"a kernel reduces along one axis of one shape, and this reduction is along "
                       "another axis",
                       "reshape the argument so that all reduced axes are its last one, as in "
                       "`reshape(%x) : [b * g, c * n]`, and reduce once"};
    if (h->writer->kind == SCHED_ELEMENTWISE)
        return (cause){"the next kernel reads it in another shape, in which an array would be read "
                       "in runs of less than 32 bytes, or of which a concat, window or gather is "
                       "a part",
                       "reshape arguments before all arithmetic"};
    return (cause){"the product and the reductions of its rows do not become one kernel; a remark "
                   "\"not online\" says why if little is missing",
                   walk_or_tile};
}

static const tile_expr *count_elements(schedule *s, unsigned rank,
                                       const tile_expr *const *extents) {
    const tile_expr *count = tile_expr_int(s->context, 1);
    for (unsigned d = 0; d < rank; d++)
        count = tile_expr_multiply(s->context, count, sched_resolved(s, extents[d]));
    return count;
}

/* Returns whether the reader, which reduces and multiplies nothing, has an element for each one. */
static bool is_moved(const array_transfer *h) {
    const tile_type *type = sched_type(h->s, h->value);
    const sched_domain *domain = &h->reader->domain;
    return h->reader->kind == SCHED_ELEMENTWISE &&
           sched_same_extent(h->s, count_elements(h->s, type->rank, type->dims),
                             count_elements(h->s, domain->rank, domain->extents));
}

static cause find_cause(const array_transfer *h) {
    if (h->writer->own_domain)
        return (cause){"rows are few and long, so all blocks share each reduction, and code that "
                       "needs its result waits for all blocks",
                       NULL};
    if (is_operand(h)) return of_operand(h);
    if (is_product(h->reader) && is_product(h->writer))
        return (cause){
            "a kernel computes one product, or two of the same left operand, and there is "
            "another one",
            "write a kernel with both `dot`s in one loop (`of @c`), if writing it to "
            "memory costs more than a few percent"};
    if (is_product(h->reader))
        return (cause){"the product's kernel reads its result and computes no reductions", NULL};
    if (h->reader->kind == SCHED_ROWS) return of_rows(h);
    if (is_moved(h))
        return (cause){"the next kernel stores it in another order, in which the first kernel's "
                       "tiles would have runs of less than 32 bytes, or as a part of a concat, a "
                       "slice or a gather",
                       "keep the last dim, or 32 bytes of it, last in the result"};
    return (cause){"the kernel that reads it has other dims, and its blocks would each compute it "
                   "again",
                   "declare the result with the dims of what is reduced or multiplied, and reshape "
                   "arguments before all arithmetic"};
}

static const char *text_of_bytes(schedule *s, const tile_type *type, tile_scalar scalar) {
    const tile_expr *bytes = tile_expr_int(s->context, (int64_t)tile_scalar_bytes(scalar));
    for (unsigned d = 0; d < type->rank; d++)
        bytes = tile_expr_multiply(s->context, bytes, sched_dim(s, type, d));
    return tile_expr_text(s->compute, bytes, s->arena);
}

static const char *text_of_dims(schedule *s, const tile_type *type) {
    const char *text = "";
    for (unsigned d = 0; d < type->rank; d++)
        text = tile_arena_format(s->arena, "%s%s%s", text, d ? ", " : "",
                                 tile_expr_text(s->compute, sched_dim(s, type, d), s->arena));
    return text;
}

static void remark(const array_transfer *h) {
    schedule *s = h->s;
    const tile_type *type = sched_type(s, h->value);
    tile_scalar scalar = sched_element(s, h->value)->scalar;
    cause found = find_cause(h);
    const char *why = tile_arena_format(
        s->arena, "@%s writes it to memory for @%s, %s[%s], %s bytes: %s", h->writer->kernel->name,
        h->reader->kernel->name, tile_scalar_name(scalar), text_of_dims(s, type),
        text_of_bytes(s, type, scalar), found.why);
    tile_missed_at(s->compute, tile_value_def(s->compute, h->value), "not in one kernel",
                   found.remedy, "%s", why);
}

/* The first group after the writer that reads the array. */
static const sched_group *find_reader(const schedule *s, unsigned array, size_t writer) {
    for (size_t g = writer + 1; g < s->group_count; g++)
        for (size_t i = 0; i < s->groups[g]->input_count; i++)
            if (s->groups[g]->inputs[i].array == array) return s->groups[g];
    return NULL;
}

void sched_remark_cuts(schedule *s) {
    if (!tile_remarks_wanted(s->compute)) return;
    for (unsigned a = 0; a < s->array_count; a++) {
        int writer = sched_writer_of(s, a);
        if (s->arrays[a].place != SCHED_SCRATCH || writer < 0) continue;
        array_transfer h = {.s = s, .value = s->arrays[a].value, .writer = s->groups[writer]};
        h.reader = find_reader(s, a, (size_t)writer);
        if (h.reader) remark(&h);
    }
}
