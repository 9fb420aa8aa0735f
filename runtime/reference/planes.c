/* The planes of values. Operations that move elements move the planes in the same way. Elementwise
 * operations and operations along an axis have their own functions. */
#include <stdlib.h>

#include "lib/ops/dims.h"
#include "lib/ops/gather.h"
#include "lib/support/scalar.h"
#include "runtime/reference/element.h"
#include "runtime/reference/evaluation.h"

/* Moving --------------------------------------------------------------------------------------- */

/* Runs an operation on one plane instead of the numbers. */
typedef struct moving {
    evaluation *e;
    tile_op op;
    plane_kind which;
    unsigned count;
    double **kept;  /* the operands' numbers */
    double **empty; /* the planes of operands that have none */
} moving;

/* The plane of an operand that has none: nothing is hidden or undefined, or the bits of its
 * numbers. Allocated; NULL if its numbers are its plane. */
static double *empty_plane(evaluation *e, plane_kind which, tile_value value) {
    if (which == PLANE_LOW || which == PLANE_HIGH) return NULL;
    double *plane = which == PLANE_INTEGER ? evaluation_integers(e, value)
                                           : calloc(e->counts[value.id] + 1, sizeof *plane);
    e->failed |= !plane;
    return plane;
}

/* Exchanges the planes of the operands with their numbers. An operand may occur twice. */
static void exchange(moving *m) {
    evaluation *e = m->e;
    for (unsigned i = 0; i < m->count; i++) {
        uint32_t id = tile_op_operand(e->f, m->op, i).id;
        double *plane = e->planes[m->which][id];
        m->kept[i] = e->data[id];
        if (!plane) plane = m->empty[i] = empty_plane(e, m->which, (tile_value){id});
        bool again = false;
        for (unsigned j = 0; j < i; j++) again |= tile_op_operand(e->f, m->op, j).id == id;
        if (plane && !again) e->data[id] = plane;
    }
}

static void restore(moving *m) {
    for (unsigned i = m->count; i-- > 0;) {
        m->e->data[tile_op_operand(m->e->f, m->op, i).id] = m->kept[i];
        free(m->empty[i]);
    }
}

/* Returns whether the elements around a window's operand are an integer that no double holds. */
static bool pads_wide(const evaluation *e, tile_op op) {
    unsigned char bytes[sizeof(double)];
    tile_scalar scalar = evaluation_scalar(e, tile_op_result(e->f, op, 0));
    if (!tile_op_attr(e->f, op, TILE_ATTR_pad) || tile_scalar_is_floating(scalar)) return false;
    tile_pad_write(e->f, op, scalar, bytes);
    return tile_element_number(scalar, tile_scalar_read(scalar, bytes)).integer !=
           tile_integer_read(scalar, bytes);
}

static bool has_plane(const evaluation *e, tile_op op, plane_kind which) {
    for (unsigned i = 0; i < tile_moved_operands(e->f, op); i++)
        if (e->planes[which][tile_op_operand(e->f, op, i).id]) return true;
    return which == PLANE_INTEGER && pads_wide(e, op);
}

/* Computes the results' plane from the operands' planes: runs the operation again, and stores the
 * results as the plane. */
static void move_plane(evaluation *e, tile_op op, plane_kind which) {
    const tile_op_data *data = tile_op_at(e->f, op);
    double *results[2] = {NULL};
    if (!has_plane(e, op, which)) return;
    moving m = {e, op, which, tile_moved_operands(e->f, op), NULL, NULL};
    m.kept = TILE_NEW_ARRAY(&e->scratch, double *, m.count);
    m.empty = TILE_NEW_ARRAY(&e->scratch, double *, m.count);
    double *to = evaluation_create_plane(e, which, data->first_result);
    if (!to) return;
    for (uint32_t i = 0; i < data->result_count && i < 2; i++)
        results[i] = e->data[data->first_result.id + i];
    exchange(&m);
    e->moved = which;
    if (!e->failed) evaluation_compute(e, op, to);
    e->moved = PLANE_LOW;
    restore(&m);
    for (uint32_t i = 1; i < data->result_count && i < 2; i++) {
        uint32_t id = data->first_result.id + i;
        if (e->data[id] != results[i]) e->planes[which][id] = e->data[id];
        e->data[id] = results[i];
    }
}

/* If the elements have several origins, the origin of the result is its own type. */
static void follow_origin(evaluation *e, tile_op op) {
    const tile_op_data *data = tile_op_at(e->f, op);
    tile_scalar origin = e->origins[tile_first_operand(e->f, op).id];
    for (unsigned i = 1; i < tile_moved_operands(e->f, op); i++)
        if (e->origins[data->operands[i].id] != origin)
            origin = evaluation_scalar(e, data->first_result);
    for (uint32_t i = 0; i < data->result_count; i++)
        e->origins[data->first_result.id + i] = origin;
}

static void follow_moved(evaluation *e, tile_op op) {
    for (unsigned i = 0; i < PLANE_COUNT && !e->failed; i++) move_plane(e, op, (plane_kind)i);
    follow_origin(e, op);
}

/* Masks ---------------------------------------------------------------------------------------- */

/* Returns whether the result is hidden if this operand is: operand 0 of these operations, or any
 * operand of mul. Hidden elements are followed until they are weights of a product. */
static bool keeps_hidden(tile_opcode opcode, unsigned operand) {
    static const tile_opcode keepers[] = {TILE_OP_exp, TILE_OP_exp2, TILE_OP_sub,  TILE_OP_mul,
                                          TILE_OP_div, TILE_OP_cast, TILE_OP_splat};
    for (unsigned i = 0; i < sizeof keepers / sizeof *keepers; i++)
        if (keepers[i] == opcode) return operand == 0 || opcode == TILE_OP_mul;
    return false;
}

/* Returns whether all elements are this number. Masks replace a score by -inf, and a weight by
 * 0. */
static bool is_number(const evaluation *e, uint32_t id, double number) {
    bool all = e->counts[id] > 0;
    for (size_t i = 0; i < e->counts[id] && all; i++) all = e->data[id][i] == number;
    return all;
}

/* The operands that hide elements of the result. */
typedef struct hiding {
    bool masks[3]; /* it is -inf, chosen by a mask */
    bool zeros[3]; /* it is 0: hidden if it replaces a hidden element */
    bool any;
} hiding;

static hiding find_hiding(const evaluation *e, const tile_op_data *op) {
    hiding h = {.any = false};
    bool selects = op->opcode == TILE_OP_select;
    for (unsigned i = 0; i < op->operand_count && i < 3; i++) {
        uint32_t id = op->operands[i].id;
        h.masks[i] = selects && i > 0 && is_number(e, id, -INFINITY);
        h.zeros[i] = selects && i > 0 && is_number(e, id, 0);
        bool keeps = selects ? i > 0 : keeps_hidden((tile_opcode)op->opcode, i);
        h.any |= h.masks[i] || (keeps && e->planes[PLANE_HIDDEN][id]);
    }
    return h;
}

static bool has_bit(const evaluation *e, const tile_op_data *op, unsigned operand,
                    const size_t *at) {
    const double *plane = e->planes[PLANE_HIDDEN][op->operands[operand].id];
    return plane && plane[at[operand]] == 1;
}

/* Returns whether one element is hidden. at[]: the places of its operands' elements. */
static bool is_hidden(const evaluation *e, tile_op id, const hiding *h, const size_t *at) {
    const tile_op_data *op = tile_op_at(e->f, id);
    if (op->opcode == TILE_OP_select) {
        unsigned chosen = e->data[tile_operand_condition(e->f, id).id][at[0]] != 0 ? 1 : 2;
        return h->masks[chosen] || has_bit(e, op, chosen, at) ||
               (h->zeros[chosen] && has_bit(e, op, 3 - chosen, at));
    }
    for (unsigned i = 0; i < op->operand_count && i < 3; i++)
        if (keeps_hidden((tile_opcode)op->opcode, i) && has_bit(e, op, i, at)) return true;
    return false;
}

static void follow_masks(evaluation *e, tile_op id) {
    const tile_op_data *op = tile_op_at(e->f, id);
    size_t count = e->counts[op->first_result.id], at[3] = {0};
    hiding h = find_hiding(e, op);
    double *to = h.any ? evaluation_create_plane(e, PLANE_HIDDEN, op->first_result) : NULL;
    for (size_t i = 0; to && i < count; i++) {
        to[i] = is_hidden(e, id, &h, at);
        for (unsigned o = 0; o < op->operand_count && o < 3; o++)
            at[o] = at[o] + 1 == e->counts[op->operands[o].id] ? 0 : at[o] + 1;
    }
}

/* A cast to a wider type keeps the origin of its operand. */
static void follow_elementwise(evaluation *e, tile_op id) {
    const tile_op_data *op = tile_op_at(e->f, id);
    tile_scalar to = evaluation_scalar(e, op->first_result);
    tile_scalar from = op->operand_count ? e->origins[tile_first_operand(e->f, id).id] : to;
    bool moved = op->opcode == TILE_OP_splat ||
                 (op->opcode == TILE_OP_cast && tile_scalar_contains(to, from));
    e->origins[op->first_result.id] = moved ? from : to;
    follow_masks(e, id);
    evaluation_poison_elements(e, id);
    if (e->ranged && !e->failed) evaluation_range_elementwise(e, id);
}

/* By row --------------------------------------------------------------------------------------- */

static void own_origin(evaluation *e, tile_op op) {
    const tile_op_data *data = tile_op_at(e->f, op);
    for (uint32_t i = 0; i < data->result_count; i++) {
        tile_value result = {data->first_result.id + i};
        e->origins[result.id] = evaluation_scalar(e, result);
    }
}

static void follow_gather(evaluation *e, tile_op op) {
    bool certain = !e->planes[PLANE_LOW][tile_operand_at(e->f, op).id];
    if (certain) {
        follow_moved(e, op);
        return;
    }
    move_plane(e, op, PLANE_HIDDEN);
    move_plane(e, op, PLANE_INTEGER);
    move_plane(e, op, PLANE_POISON);
    follow_origin(e, op);
    if (!e->failed) evaluation_range_gather(e, op);
}

#define OWN_RANGES(name) \
    static void follow_##name(evaluation *e, tile_op op) { \
        own_origin(e, op); \
        evaluation_poison_rows(e, op); \
        if (e->ranged) evaluation_range_##name(e, op); \
    }
OWN_RANGES(reduce)
OWN_RANGES(reduce_arg)
OWN_RANGES(scan)
OWN_RANGES(sort)

#define MOVES(name) \
    static void follow_##name(evaluation *e, tile_op op) { \
        follow_moved(e, op); \
    }
MOVES(window)
MOVES(broadcast)
MOVES(transpose)
MOVES(reshape)
MOVES(join)
MOVES(unjoin)
MOVES(slice)
MOVES(concat)

/* The planes of the part and of the rest: those of elements without a plane are their numbers, or 0
 * if a plane marks hidden elements. */
static void insert_plane(evaluation *e, tile_op op, plane_kind which) {
    tile_value operands[] = {tile_operand_src(e->f, op), tile_operand_dst(e->f, op)};
    tile_value result = tile_op_result(e->f, op, 0);
    double *kept[2], *empty[2] = {NULL}, *numbers = e->data[result.id];
    if (!e->planes[which][operands[0].id] && !e->planes[which][operands[1].id]) return;
    double *to = evaluation_create_plane(e, which, result);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t id = operands[i].id;
        double *plane = e->planes[which][id];
        kept[i] = e->data[id];
        if (!plane) plane = empty[i] = empty_plane(e, which, operands[i]);
        if (plane) e->data[id] = plane;
    }
    if (to && !e->failed) evaluation_compute(e, op, to);
    for (unsigned i = 2; i-- > 0;) {
        e->data[operands[i].id] = kept[i];
        free(empty[i]);
    }
    e->data[result.id] = numbers;
}

static void follow_insert_slice(evaluation *e, tile_op op) {
    tile_value part = tile_operand_src(e->f, op), rest = tile_operand_dst(e->f, op),
               result = tile_op_result(e->f, op, 0);
    for (unsigned i = 0; i < PLANE_COUNT && !e->failed; i++) insert_plane(e, op, (plane_kind)i);
    e->origins[result.id] = e->origins[part.id] == e->origins[rest.id]
                                ? e->origins[part.id]
                                : evaluation_scalar(e, result);
}

/* A loop moves the planes with the carried values. */
static void follow_for(evaluation *e, tile_op op) {
    (void)e, (void)op;
}

static void follow_yield(evaluation *e, tile_op op) {
    (void)e, (void)op;
}

/* The numbers of iota are exact. */
static void follow_iota(evaluation *e, tile_op op) {
    own_origin(e, op);
}

/* matmul.c has computed the planes. */
static void follow_matmul(evaluation *e, tile_op op) {
    own_origin(e, op);
}

/* combine.c has computed the planes. */
static void follow_reduce_with(evaluation *e, tile_op op) {
    own_origin(e, op);
}

static void follow_scan_with(evaluation *e, tile_op op) {
    own_origin(e, op);
}

static void (*const followers[TILE_OPCODE_LIMIT])(evaluation *e, tile_op op) = {
#define FOLLOWER_L0(name) NULL
#define FOLLOWER_L1(name) follow_##name
#define FOLLOWER_L2(name) NULL
#define FOLLOWER_L12(name) follow_##name
#define FOLLOWER_L123(name) follow_##name
#define FOLLOWER_INLINED(name) NULL
#define FOLLOWER_EXPANDED(name) NULL
#define FOLLOWER_L3(name) NULL
#define FOLLOWER_L23(name) NULL
#define FOLLOWER_L023(name) NULL
#define FOLLOWER_LX(name) follow_##name
#define OP(number, name, levels, ...) [number] = FOLLOWER_##levels(name),
#define ELEMENTWISE_OP(number, name, ...) [number] = follow_elementwise,
#include "tile/ops.def"
};

/* Frees the range planes if all ranges are points. */
static void drop_points(evaluation *e, uint32_t id) {
    const double *low = e->planes[PLANE_LOW][id], *high = e->planes[PLANE_HIGH][id];
    bool points = low != NULL;
    for (size_t i = 0; points && i < e->counts[id]; i++)
        points = range_is_point((tile_interval){low[i], high[i]});
    for (unsigned which = PLANE_LOW; points && which <= PLANE_HIGH; which++) {
        free(e->planes[which][id]);
        e->planes[which][id] = NULL;
    }
}

void evaluation_follow(evaluation *e, tile_op op) {
    const tile_op_data *data = tile_op_at(e->f, op);
    followers[data->opcode](e, op);
    for (uint32_t i = 0; i < data->result_count; i++)
        evaluation_drop_integers(e, (tile_value){data->first_result.id + i});
    for (uint32_t i = 0; e->ranged && i < data->result_count; i++)
        drop_points(e, data->first_result.id + i);
}
