/* The index arithmetic of gathered copies: in each iteration, each thread computes the coordinates
 * of each vector that it copies. */
#include "lib/ir/arith.h"
#include "lib/ops/gather.h"
#include "runtime/model/work_scan.h"

/* Instructions: DIVISION of integers by a variable, REMAINDER if the quotient is known, OTHER for
 * any other operation. For each vector, OF_DIM per dim of the array (a product, a sum and two
 * comparisons), and OF_COPY for the copy itself. */
enum { DIVISION = 22, REMAINDER = 2, OTHER = 1, OF_DIM = 4, OF_COPY = 4, VECTOR = 16 /* bytes */ };

enum { MAX_DIVISIONS = 32, DEEPEST = 64 };

typedef struct cone {
    scan *s;
    tile_region region; /* values computed outside are not counted */
    uint32_t round;     /* the number of this copy, which marks counted values */
    uint64_t divisions[MAX_DIVISIONS];
    unsigned division_count;
    double by_thread, by_vector;
} cone;

static const tile_op_data *def_in(const cone *c, tile_value value) {
    tile_op def = tile_value_def(c->s->f, value);
    if (!def.id || tile_op_at(c->s->f, def)->parent.id != c->region.id) return NULL;
    return tile_op_at(c->s->f, def);
}

/* A hash that is equal for values that cse would merge. Division and remainder of the same operands
 * have equal hashes. */
static uint64_t key_of(const cone *c, tile_value value, unsigned depth) {
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    const tile_op_data *op = def_in(c, value);
    if (!op || !depth) return (value.id + 1) * odd;
    uint64_t key = tile_opcode_divides((tile_opcode)op->opcode) ? TILE_OP_div : op->opcode;
    for (unsigned a = 0; a < op->attr_count; a++)
        key = (key ^ (uint64_t)(uintptr_t)op->attrs[a].expr ^ op->attrs[a].id) * odd;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint64_t operand = key_of(c, op->operands[i], depth - 1);
        key = (key ^ (operand ^ operand >> 29)) * odd;
    }
    return key;
}

static bool is_constant(const tile_function *f, tile_value value) {
    tile_op def = tile_value_def(f, value);
    if (def.id && tile_op_opcode(f, def) == TILE_OP_splat) value = tile_operand_src(f, def);
    return tile_value_at(f, value)->kind == TILE_VALUE_CONSTANT;
}

/* Division by a constant becomes a multiplication. If the list is full, a division counts as
 * new. */
static double instructions_of(cone *c, tile_value value, const tile_op_data *op) {
    enum { MAX_TRACED = 6 };
    if (op->opcode == TILE_OP_splat || op->opcode == TILE_OP_iota ||
        op->opcode == TILE_OP_broadcast)
        return 0;
    if (!tile_opcode_divides((tile_opcode)op->opcode) || is_constant(c->s->f, op->operands[1]))
        return OTHER;
    uint64_t key = key_of(c, value, MAX_TRACED);
    for (unsigned i = 0; i < c->division_count; i++)
        if (c->divisions[i] == key) return REMAINDER;
    if (c->division_count < MAX_DIVISIONS) c->divisions[c->division_count++] = key;
    return DIVISION;
}

static void count(cone *c, tile_value value, unsigned depth) {
    const tile_op_data *op = def_in(c, value);
    if (!op || !depth || c->s->counted[value.id] == c->round || op->region_count) return;
    c->s->counted[value.id] = c->round;
    if (!tile_op_has_trait((tile_opcode)op->opcode, TILE_TRAIT_ELEMENTWISE) &&
        op->opcode != TILE_OP_splat && op->opcode != TILE_OP_broadcast)
        return;
    double instructions = instructions_of(c, value, op);
    bool tile = tile_value_type(c->s->f, value)->kind == TILE_TYPE_TILE;
    *(tile ? &c->by_vector : &c->by_thread) += instructions;
    for (uint32_t i = 0; i < op->operand_count; i++) count(c, op->operands[i], depth - 1);
}

void scan_add_indexing(scan *s, tile_op op, const tile_type *moved, double times) {
    tile_gather g;
    if (scan_is_plain(s, op) || !tile_gather_of(s->f, op, &g) || !g.tiles || !moved->rank) return;
    cone c = {.s = s, .region = tile_op_at(s->f, op)->parent, .round = ++s->gathered};
    for (unsigned d = 0; d < g.rank; d++) count(&c, g.index[d], DEEPEST);
    double row = scan_width_of(s, moved) * (double)scan_dim_of(s, moved, moved->rank - 1u);
    if (!g.covered) row = scan_width_of(s, moved); /* one element at a time */
    if (!(row > 0)) return;
    double vectors = scan_bytes_of(s, moved) / least(row, VECTOR);
    s->cost->indexing += times * (vectors * (c.by_vector + OF_DIM * g.rank + OF_COPY) +
                                  32.0 * s->w->warps * c.by_thread);
}
