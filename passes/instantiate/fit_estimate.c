/* Estimates a kernel's shared memory and the instructions of one thread from its text. Buffers that
 * are never live at the same time are both counted, and so are all loads of a pipelined loop: the
 * estimate tends to be too high. */
#include "lib/ir/cost.h"
#include "lib/ir/syntax.h"
#include "passes/instantiate/fit_point.h"

typedef struct scan {
    const tile_function *f;
    const tile_bound_params *bound;
    tile_bindings bindings;
    double threads;
    tile_fit_estimate out;
} scan;

static int64_t eval_or(const scan *s, const tile_expr *expr, int64_t otherwise) {
    int64_t value;
    return expr && tile_expr_eval(expr, &s->bindings, &value) && value > 0 ? value : otherwise;
}

static double width_of(const scan *s, const tile_type *type) {
    return tile_scalar_bytes(type->param && s->bound ? tile_find_bound_scalar(s->bound, type->param)
                                                     : type->scalar);
}

/* 1 for scalars. */
static double elements_of(const scan *s, const tile_type *type) {
    double elements = 1;
    bool many = type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_SHARED;
    for (unsigned d = 0; many && d < type->rank; d++)
        elements *= (double)eval_or(s, type->dims[d], 1);
    return elements;
}

static double bytes_of(const scan *s, const tile_type *type) {
    return elements_of(s, type) * width_of(s, type);
}

static const tile_type *operand_type(const scan *s, const tile_op_data *op,
                                     tile_operand_name name) {
    unsigned at = 0, place = tile_place_of((tile_opcode)op->opcode, name);
    for (unsigned i = 0; i < place; i++) at += op->segment[i];
    return tile_value_type(s->f, op->operands[at]);
}

/* 16- and 8-bit dots use warp-level instructions, others use fma. */
static double instructions_of_dot(const scan *s, const tile_op_data *op) {
    enum { OF_A_WARP = 32 };
    const tile_type *lhs = operand_type(s, op, TILE_OPERAND_lhs),
                    *acc = tile_value_type(s->f, op->first_result);
    double depth = lhs->rank ? (double)eval_or(s, lhs->dims[lhs->rank - 1], 1) : 1;
    double all = elements_of(s, acc) * depth / s->threads;
    return width_of(s, lhs) < 4 ? all / OF_A_WARP : all;
}

/* Instructions of one operation, per thread. */
static double instructions_of(const scan *s, const tile_op_data *op) {
    enum { SPECIAL = 16, ACCESS = 4 };
    tile_opcode opcode = (tile_opcode)op->opcode;
    double elements = 1;
    if (opcode == TILE_OP_dot) return instructions_of_dot(s, op);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        double own = elements_of(s, tile_value_type(s->f, op->operands[i]));
        elements = own > elements ? own : elements;
    }
    for (uint32_t i = 0; i < op->result_count; i++) {
        double own = elements_of(s, tile_value_type(s->f, (tile_value){op->first_result.id + i}));
        elements = own > elements ? own : elements;
    }
    bool special = tile_op_is_costly(opcode) || opcode == TILE_OP_cast; /* casts of 8-bit floats */
    bool simple = tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
    return (special ? SPECIAL : simple ? 1 : ACCESS) * elements / s->threads;
}

/* A pipelined loop has one buffer for each stage of every load or copy. */
static double staged_bytes(const scan *s, const tile_op_data *op, int64_t stages) {
    bool copies = op->opcode == TILE_OP_copy || op->opcode == TILE_OP_copy_async;
    bool loads = op->opcode == TILE_OP_load && stages > 1;
    if ((!copies && !loads) || operand_type(s, op, TILE_OPERAND_src)->kind != TILE_TYPE_VIEW)
        return 0;
    if (loads) return bytes_of(s, tile_value_type(s->f, op->first_result)) * (double)stages;
    const tile_type *to = operand_type(s, op, TILE_OPERAND_dst);
    return to->stages ? 0 : bytes_of(s, to) * (double)(stages - 1);
}

static void scan_region(scan *s, tile_region region, int64_t stages, double copies) {
    TILE_FOR_EACH_OP (s->f, id, region) {
        const tile_op_data *op = tile_op_at(s->f, id);
        const tile_attr *pipelined = tile_op_attr(s->f, id, TILE_ATTR_pipelined);
        const tile_attr *unroll = tile_op_attr(s->f, id, TILE_ATTR_unroll);
        int64_t own =
            op->opcode == TILE_OP_for && pipelined ? eval_or(s, pipelined->expr, 1) : stages;
        double times = copies * (double)(unroll ? eval_or(s, unroll->expr, 1) : 1);
        if (op->opcode == TILE_OP_alloc_shared) {
            const tile_type *type = tile_value_type(s->f, op->first_result);
            s->out.shared_bytes += bytes_of(s, type) * (double)eval_or(s, type->stages, 1);
        }
        s->out.shared_bytes += staged_bytes(s, op, stages);
        s->out.instructions += copies * instructions_of(s, op);
        for (uint32_t r = 0; r < op->region_count; r++) scan_region(s, op->regions[r], own, times);
    }
}

tile_fit_estimate tile_estimate_fit(const tile_function *f, const tile_bound_params *bound) {
    scan s = {.f = f, .bound = bound};
    tile_bound_params copy = {0};
    if (bound) {
        copy = *bound;
        s.bindings = tile_param_bindings(&copy);
    }
    s.threads = 32.0 * (double)eval_or(&s, f->warps, 1);
    scan_region(&s, f->body, 1, 1);
    return s.out;
}
