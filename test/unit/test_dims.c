/* The column `dims` of ops.def. For every row that has a map, an operation of that row is run
 * repeatedly, at level 1 or in a kernel on the CPU device, with one element of one operand changed.
 * Only the result elements that the map derives from it may change. For operations that only move
 * elements, all of them must change. A map that names more elements than necessary is also
 * detected. */
#include "lib/ops/dims.h"
#include "test/unit/dims_fixture.h"

#define F32(...) \
    { \
        TILE_f32, { \
            sizeof(int[]){__VA_ARGS__} / sizeof(int), { \
                __VA_ARGS__ \
            } \
        } \
    }
#define I32(...) \
    { \
        TILE_i32, { \
            sizeof(int[]){__VA_ARGS__} / sizeof(int), { \
                __VA_ARGS__ \
            } \
        } \
    }
#define I1(...) \
    { \
        TILE_i1, { \
            sizeof(int[]){__VA_ARGS__} / sizeof(int), { \
                __VA_ARGS__ \
            } \
        } \
    }

static const sample samples[] = {
    {"broadcast", NULL, "broadcast %a : [3, 4, 6]", {F32(4, 1)}, {F32(3, 4, 6)}, {0}},
    {"broadcast", NULL, "broadcast %a : [2, 4, 6]", {F32(1, 4, 6)}, {F32(2, 4, 6)}, {0}},
    {"transpose", NULL, "transpose %a", {F32(2, 3, 5)}, {F32(2, 5, 3)}, {0}},
    {"transpose", NULL, "transpose %a {order = [2, 0, 1]}", {F32(2, 3, 5)}, {F32(5, 2, 3)}, {0}},
    {"reshape", NULL, "reshape %a : [4, 2, 3]", {F32(4, 6)}, {F32(4, 2, 3)}, {0}},
    {"reshape", NULL, "reshape %a : [3, 8, 1, 2]", {F32(3, 4, 4)}, {F32(3, 8, 1, 2)}, {0}},
    {"reshape", NULL, "reshape %a : [3, 8, 2]", {F32(6, 4, 2)}, {F32(3, 8, 2)}, {0}},
    {"join", NULL, "join %a, %b", {F32(3, 4), F32(3, 4)}, {F32(3, 4, 2)}, {0}},
    {"unjoin", NULL, "unjoin %a", {F32(3, 4, 2)}, {F32(3, 4), F32(3, 4)}, {0}},
    {"slice", NULL, "slice %a, [4, 2] : [2, 2]", {F32(6, 4)}, {F32(2, 2)}, {0}},
    {"concat",
     NULL,
     "concat %a, %b, %c {axis = 0}",
     {F32(2, 3), F32(1, 3), F32(4, 3)},
     {F32(7, 3)},
     {0}},
    {"concat", NULL, "concat %a, %b {axis = 1}", {F32(3, 2), F32(3, 4)}, {F32(3, 6)}, {0}},
    {"reduce", NULL, "reduce %a {kind = add, axis = 1}", {F32(3, 4, 2)}, {F32(3, 1, 2)}, {0}},
    {"reduce_arg",
     NULL,
     "reduce_arg %a {kind = max, axis = 0}",
     {F32(4, 3)},
     {F32(1, 3), I32(1, 3)},
     {0}},
    {"scan", NULL, "scan %a {kind = add, axis = 0}", {F32(4, 3)}, {F32(4, 3)}, {0}},
    {"reduce_with",
     NULL,
     "reduce (%a, %b) {axis = 1, combine = @mixed}",
     {F32(3, 4, 2), F32(3, 4, 2)},
     {F32(3, 1, 2), F32(3, 1, 2)},
     {0}},
    {"scan_with",
     NULL,
     "scan (%a, %b) {axis = 0, combine = @mixed}",
     {F32(4, 3), F32(4, 3)},
     {F32(4, 3), F32(4, 3)},
     {0}},
    {"sort", NULL, "sort %a {axis = 1}", {F32(3, 4)}, {F32(3, 4)}, {0}},
    {"gather", NULL, "gather %a, %b {axis = 0}", {F32(5, 3), I32(4, 3)}, {F32(4, 3)}, {0, 4}},
    {"window",
     NULL,
     "window %a, [2], [1] {axis = 1} : [2, 3, 3, 4]",
     {F32(2, 6, 4)},
     {F32(2, 3, 3, 4)},
     {0}},
    {"matmul", NULL, "matmul %a, %b : tensor<f32[4, 5]>", {F32(4, 3), F32(3, 5)}, {F32(4, 5)}, {0}},
    {"matmul",
     NULL,
     "matmul %a, %b {trans_lhs, trans_rhs} : tensor<f32[2, 4, 5]>",
     {F32(2, 3, 4), F32(1, 5, 3)},
     {F32(2, 4, 5)},
     {0}},
    {"dot", NULL, "dot %a, %b, %c", {F32(4, 2), F32(2, 8), F32(4, 8)}, {F32(4, 8)}, {0}},
    {"dot", NULL, "dot %a, %b {trans_lhs, trans_rhs}", {F32(2, 4), F32(8, 2)}, {F32(4, 8)}, {0}},
    {"histogram", NULL, "histogram %a : [8]", {I32(3, 4)}, {I32(8)}, {7}},
    {"load",
     "  %r = load %m[%a, 0] : [4, 2]\n  store %r, %gr[0, 0]\n",
     NULL,
     {I32(4), {0}, {0}},
     {F32(4, 2)},
     {7}},
    {"load",
     "  %r = load %m[0, 0], %a : [4, 2]\n  store %r, %gr[0, 0]\n",
     NULL,
     {I1(4, 2)},
     {F32(4, 2)},
     {0}},
    {"store", "  store %a, %gr[0, 0], %b\n", NULL, {F32(4, 2), I1(4, 2)}, {F32(4, 2)}, {0}},
    {"store_shared",
     "  %s = alloc_shared : shared<f32[4, 2]>\n  store_shared %a, %s\n"
     "  %r = load_shared %s : [4, 2]\n  store %r, %gr[0, 0]\n",
     NULL,
     {F32(4, 2)},
     {F32(4, 2)},
     {0}},
    {"copy",
     "  %s = alloc_shared : shared<f32[4, 2]>\n  copy %m[0, 0], %s, %a\n"
     "  %r = load_shared %s : [4, 2]\n  store %r, %gr[0, 0]\n",
     NULL,
     {I1(4, 2)},
     {F32(4, 2)},
     {0}},
    {"copy_async",
     "  %s = alloc_shared : shared<f32[4, 2]>\n  copy_async %m[0, 0], %s, %a\n"
     "  commit_group\n  wait_group 0\n  sync\n"
     "  %r = load_shared %s : [4, 2]\n  store %r, %gr[0, 0]\n",
     NULL,
     {I1(4, 2)},
     {F32(4, 2)},
     {0}},
    {"atomic", "  atomic_add %a, %gr[0, 0]\n", NULL, {I32(4, 2)}, {I32(4, 2)}, {0}},
    {"atomic_cas",
     "  %z = splat 0 : tile<i32[4, 2]>\n  atomic_cas %z, %a, %gr[0, 0]\n",
     NULL,
     {I32(4, 2)},
     {I32(4, 2)},
     {0}},
    {"atomic_cas",
     "  %z = splat 1 : tile<i32[4, 2]>\n  atomic_cas %a, %z, %gr[0, 0]\n",
     NULL,
     {I32(4, 2)},
     {I32(4, 2)},
     {0}},
    {"convert_layout",
     "  %r = convert_layout %a : tile<f32[4, 2]>\n  store %r, %gr[0, 0]\n",
     NULL,
     {F32(4, 2)},
     {F32(4, 2)},
     {0}},
    {"dot_wait",
     "  %d = dot %b, %c, %a {async}\n  %r = dot_wait %d, 0\n  store %r, %gr[0, 0]\n",
     NULL,
     {F32(4, 8), F32(4, 2), F32(2, 8)},
     {F32(4, 8)},
     {0}},
    {"inside",
     "  %in = inside %m[%a, 0] : [4, 2]\n  %r = cast %in : i32\n  store %r, %gr[0, 0]\n",
     NULL,
     {I32(4)},
     {I32(4, 2)},
     {0}},
};

/* Rows without a sample; most of them have no map. */
static const struct {
    tile_opcode opcode;
    tile_dims dims;
    const char *why;
} others[] = {
    {TILE_OP_for, TILE_DIMS_none, "it carries values around"},
    {TILE_OP_if, TILE_DIMS_none, "its regions yield values"},
    {TILE_OP_while, TILE_DIMS_none, "it carries values around"},
    {TILE_OP_yield, TILE_DIMS_none, "it has no results"},
    {TILE_OP_print, TILE_DIMS_none, "it has no results"},
    {TILE_OP_assert, TILE_DIMS_none, "it has no results"},
    {TILE_OP_assume, TILE_DIMS_none, "it has no results"},
    {TILE_OP_scalar, TILE_DIMS_none, "it gives a scalar"},
    {TILE_OP_element, TILE_DIMS_none, "it gives a scalar, from where scalars say"},
    {TILE_OP_coordinates, TILE_DIMS_none, "its results are numbers of a thread"},
    {TILE_OP_to_fragment, TILE_DIMS_none, "a layout tells which elements a thread has"},
    {TILE_OP_iota, TILE_DIMS_counted, "it has no operands"},
    {TILE_OP_load_shared, TILE_DIMS_same, "it takes no arrays"},
    {TILE_OP_insert_slice, TILE_DIMS_all, "which elements it takes depends on coordinates"},
    {TILE_OP_call, TILE_DIMS_none, "element-wise operations replace it"},
    {TILE_OP_convolve, TILE_DIMS_none, "a product of windows replaces it"},
    {TILE_OP_asm, TILE_DIMS_same, "its text tells; of tiles it is run element by element"},
    {TILE_OP_store_async, TILE_DIMS_same, "a store, which needs a ring and a layout"},
};

/* True if the row is one of them and has the expected word. */
static bool is_other(tile_opcode opcode) {
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].opcode != opcode) continue;
        cr_expect_eq(tile_op_dims(opcode), others[i].dims, "%s: %s", tile_op_get_info(opcode)->name,
                     others[i].why);
        return true;
    }
    return false;
}

/* Changed elements ----------------------------------------------------------------------------- */

/* Indexed by element of the operand and of the result. */
typedef bool changes[MOST][MOST];

static const double numbers[] = {1, 2, 3, 4, 5, 6, 7, 0, -3, 0.5, 1 << 30};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static bool is_tried(const array *a, int64_t most, double number) {
    if (a->scalar == TILE_i1) return number == 0 || number == 1;
    if (most) return number >= 1 && number <= (double)most && number == (double)(int64_t)number;
    return tile_scalar_is_floating(a->scalar) || number != 0.5;
}

/* All numbers differ, unless the range is small. */
static double first_number(const sample *s, unsigned input, size_t i) {
    int64_t most = s->most[input];
    if (s->inputs[input].scalar == TILE_i1) return (double)(i % 2);
    if (s->inputs[input].scalar == TILE_i32 && !most && i % 2) return (double)((1 << 30) + i);
    return most ? (double)(1 + (i * 3 + input) % (size_t)most) : (double)(1 + i + 100 * input);
}

static void note_changes(runner *r, unsigned result, size_t element,
                         unsigned char before[RESULTS][BYTES], unsigned char now[RESULTS][BYTES],
                         changes changed) {
    const array *to = &r->s->results[result];
    size_t size = tile_scalar_bytes(to->scalar);
    for (size_t i = 0; i < axis_count(&to->shape); i++)
        changed[element][i] |= memcmp(before[result] + i * size, now[result] + i * size, size) != 0;
}

static void find_changes(runner *r, unsigned input, unsigned result, changes changed) {
    unsigned char before[RESULTS][BYTES] = {{0}}, now[RESULTS][BYTES] = {{0}};
    const sample *s = r->s;
    const array *from = &s->inputs[input];
    size_t size = tile_scalar_bytes(from->scalar);
    memset(changed, 0, sizeof(changes));
    for (unsigned k = 0; k < r->inputs; k++)
        for (size_t i = 0; i < axis_count(&s->inputs[k].shape); i++)
            tile_scalar_write(s->inputs[k].scalar,
                              r->elements[k] + i * tile_scalar_bytes(s->inputs[k].scalar),
                              first_number(s, k, i));
    run(r, before);
    for (size_t e = 0; e < axis_count(&from->shape); e++) {
        for (unsigned n = 0; n < NUMBERS; n++) {
            if (!is_tried(from, s->most[input], numbers[n])) continue;
            tile_scalar_write(from->scalar, r->elements[input] + e * size, numbers[n]);
            run(r, now);
            note_changes(r, result, e, before, now, changed);
        }
        tile_scalar_write(from->scalar, r->elements[input] + e * size, first_number(s, input, e));
    }
}

/* A pair of an operand and a result. */
typedef struct place {
    const char *name;
    tile_dims dims;
    unsigned operand;
    const array *from, *to;
} place;

/* Maps ----------------------------------------------------------------------------------------- */

/* True if the map names element e of the operand for element i of the result. For join, the
 * result's last coordinate is the operand's number. */
static bool is_named(const place *p, const tile_dim *map, size_t e, size_t i) {
    const array *from = p->from, *to = p->to;
    bool named = p->dims != TILE_DIMS_joined ||
                 axis_coordinate(&to->shape, i, to->shape.rank - 1) == (int64_t)p->operand;
    for (unsigned d = 0; d < from->shape.rank; d++) {
        int64_t at = axis_coordinate(&from->shape, e, d);
        switch (map[d].kind) {
        case TILE_DIM_ALL: break;
        case TILE_DIM_ONE: named &= at == 0; break;
        case TILE_DIM_AT: named &= at == map[d].shift; break;
        case TILE_DIM_OF:
            named &= map[d].of < to->shape.rank &&
                     at == axis_coordinate(&to->shape, i, map[d].of) + map[d].shift;
            break;
        case TILE_DIM_FLAT: named &= e == i; break;
        }
    }
    return named;
}

/* True if the map needs to say `anywhere`: two elements that differ along the dim change the same
 * result element, or values determine which element does, and it is not the one at the same
 * coordinate. */
static bool needs_all(const place *p, unsigned d, changes changed) {
    bool told = p->dims == TILE_DIMS_taken || p->dims == TILE_DIMS_windowed;
    for (size_t i = 0; i < axis_count(&p->to->shape); i++)
        for (size_t a = 0; a < axis_count(&p->from->shape); a++) {
            int64_t at = axis_coordinate(&p->from->shape, a, d);
            if (told && changed[a][i] && at != axis_coordinate(&p->to->shape, i, d)) return true;
            for (size_t b = 0; b < a; b++)
                if (changed[a][i] && changed[b][i] && at != axis_coordinate(&p->from->shape, b, d))
                    return true;
        }
    return false;
}

static void check_map(const place *p, const tile_dim *map, bool exact, changes changed) {
    bool any = false;
    for (size_t e = 0; e < axis_count(&p->from->shape); e++)
        for (size_t i = 0; i < axis_count(&p->to->shape); i++) {
            bool named = is_named(p, map, e, i);
            any |= changed[e][i];
            cr_expect(named || !changed[e][i], "%s: element %zu of operand %u changes element %zu",
                      p->name, e, p->operand, i);
            cr_expect(!named || changed[e][i] || !exact,
                      "%s: element %zu of operand %u is not element %zu", p->name, e, p->operand,
                      i);
        }
    cr_expect(any, "%s: operand %u changes nothing", p->name, p->operand);
    for (unsigned d = 0; d < p->from->shape.rank; d++)
        if (map[d].kind == TILE_DIM_ALL)
            cr_expect(needs_all(p, d, changed), "%s: dim %u of operand %u has no map", p->name, d,
                      p->operand);
}

/* True if elements of the result are elements of operands, at known positions. */
static bool is_exact(tile_opcode opcode) {
    tile_dims dims = tile_op_dims(opcode);
    return tile_opcode_moves(opcode) && dims != TILE_DIMS_taken && dims != TILE_DIMS_windowed;
}

/* Words with the same map differ in the result's extent. */
static void check_axis(const sample *s, const tile_function *f, tile_op op) {
    tile_dims dims = tile_op_dims(tile_op_opcode(f, op));
    int64_t axis = tile_op_attr_int(f, op, TILE_ATTR_axis, 0);
    if (dims == TILE_DIMS_folded) cr_expect_eq(s->results[0].shape.dims[axis], 1, "%s", s->name);
    if (dims == TILE_DIMS_along)
        cr_expect_eq(s->results[0].shape.dims[axis], s->inputs[0].shape.dims[axis], "%s", s->name);
}

/* Returns the input from which the operand is loaded or computed; INPUTS: none. */
static unsigned find_input(const runner *r, const tile_function *f, tile_value operand) {
    const char *name = tile_value_at(f, operand)->name;
    if (name && strcmp(name, "d") == 0) return 0; /* dot_wait's sums */
    for (unsigned i = 0; i < r->inputs; i++)
        if (name && strcmp(name, letters[i]) == 0) return i;
    return INPUTS;
}

static void check_sample(text_fixture *x, const sample *s, tile_opcode opcode) {
    static changes changed;
    runner r;
    unsigned checked = 0;
    open_runner(&r, x, s, s->lines || !(tile_op_get_info(opcode)->levels & TILE_LEVEL_1));
    const tile_function *f = tile_module_function(r.module, 0);
    tile_op op = tile_region_at(f, f->body)->last; /* the first operations load the inputs */
    while (op.id && tile_op_opcode(f, op) != opcode) op = tile_op_at(f, op)->prev;
    cr_assert(op.id, "%s", s->name);
    for (unsigned o = 0; o < tile_op_operand_count(f, op); o++)
        for (unsigned result = 0; result < r.results; result++) {
            tile_dim map[TILE_MAX_RANK];
            unsigned input = find_input(&r, f, tile_op_operand(f, op, o));
            unsigned rank = tile_dim_map(f, op, result, o, map);
            if (input == INPUTS || !rank) continue;
            find_changes(&r, input, result, changed);
            const place p = {s->name, tile_op_dims(opcode), o, &s->inputs[input],
                             &s->results[result]};
            check_map(&p, map, is_exact(opcode), changed);
            checked++;
        }
    cr_expect(checked || tile_op_get_info(opcode)->operands[0].class_ == TILE_CLASS_scalar,
              "%s: no operand has a map", s->name);
    check_axis(s, f, op);
    close_runner(&r);
}

/* Checks an elementwise row; at level 1 operands of smaller shapes are repeated. */
static void check_elementwise(text_fixture *x, tile_opcode opcode, bool repeats) {
    const tile_op_info *info = tile_op_get_info(opcode);
    const array i1 = I1(2, 3), i32 = I32(2, 3), f32 = F32(2, 3);
    sample s = {.name = info->name, .most = {7, 7, 7}};
    bool integers = false, converts = opcode == TILE_OP_cast || opcode == TILE_OP_bitcast;
    if (opcode == TILE_OP_splat) return; /* its operand is a scalar, which has no dims */
    const char *op = info->name;
    for (unsigned k = 0; k < info->operand_count; k++) {
        integers |= info->operands[k].class_ == TILE_CLASS_integer;
        s.inputs[k] = info->operands[k].class_ == TILE_CLASS_boolean ? i1 : integers ? i32 : f32;
        op = tile_arena_format(&x->arena, "%s%s %%%s", op, k ? "," : "", letters[k]);
    }
    if (repeats && info->operand_count > 1) s.inputs[1].shape = (axis_shape){1, {3}};
    if (repeats && info->operand_count > 2) s.inputs[2].shape = (axis_shape){2, {2, 1}};
    s.results[0] = info->traits & TILE_TRAIT_COMPARE ? i1 : integers || converts ? i32 : f32;
    s.most[0] = 0;
    s.op = tile_arena_format(&x->arena, "%s%s%s%s", op,
                             opcode == TILE_OP_round ? " {kind = even}" : "", converts ? " : " : "",
                             converts ? "tensor<i32[2, 3]>" : "");
    check_sample(x, &s, opcode);
}

static bool has_sample(const char *name) {
    for (unsigned i = 0; i < sizeof samples / sizeof *samples; i++)
        if (strcmp(samples[i].name, name) == 0) return true;
    return false;
}

/* True at level 1 or 2, for operands that may be arrays. */
static bool takes_arrays(const tile_op_info *info) {
    bool arrays = false;
    for (unsigned k = 0; k < info->operand_count; k++) {
        tile_operand_class class_ = info->operands[k].class_;
        arrays |= class_ == TILE_CLASS_any || class_ == TILE_CLASS_number ||
                  class_ == TILE_CLASS_integer || class_ == TILE_CLASS_floating ||
                  class_ == TILE_CLASS_boolean || class_ == TILE_CLASS_tensor ||
                  class_ == TILE_CLASS_tile || class_ == TILE_CLASS_tile_or_shared;
    }
    return arrays && info->levels & (TILE_LEVEL_1 | TILE_LEVEL_2);
}

Test(dims, samples_change_what_their_maps_say) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < sizeof samples / sizeof *samples; i++) {
        tile_opcode opcode = tile_opcode_from_name(samples[i].name, strlen(samples[i].name));
        cr_expect(tile_op_dims(opcode) != TILE_DIMS_none, "%s has no map", samples[i].name);
        check_sample(&x, &samples[i], opcode);
    }
    text_close(&x);
}

Test(dims, every_elementwise_row_is_the_same_at_each_element) {
    text_fixture x;
    unsigned rows = 0;
    text_open(&x);
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_op_has_trait((tile_opcode)i, TILE_TRAIT_ELEMENTWISE)) {
            check_elementwise(&x, (tile_opcode)i, false);
            check_elementwise(&x, (tile_opcode)i, true);
            rows++;
        }
    cr_expect_geq(rows, 44);
    text_close(&x);
}

Test(dims, every_row_has_a_sample_or_a_reason) {
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        tile_opcode opcode = (tile_opcode)i;
        const tile_op_info *info = tile_op_get_info(opcode);
        if (!info->name || info->traits & TILE_TRAIT_ELEMENTWISE) continue;
        bool mapped = tile_op_dims(opcode) != TILE_DIMS_none, sampled = has_sample(info->name);
        if (mapped || takes_arrays(info))
            cr_expect_neq(sampled, is_other(opcode), "%s: a sample, or a reason", info->name);
        else
            cr_expect(!sampled && !is_other(opcode), "%s takes no arrays", info->name);
    }
}

static bool has_attr(const tile_op_info *info, tile_attr_id id) {
    for (unsigned i = 0; i < info->attr_count; i++)
        if (info->attrs[i].id == id) return true;
    return false;
}

/* The row must have the attributes and operands that the word's map depends on. */
static bool has_what_it_asks_for(tile_opcode opcode) {
    const tile_op_info *info = tile_op_get_info(opcode);
    bool axis = has_attr(info, TILE_ATTR_axis), src = tile_op_takes(opcode, TILE_OPERAND_src),
         both = tile_op_takes(opcode, TILE_OPERAND_lhs) && tile_op_takes(opcode, TILE_OPERAND_rhs),
         moves = src && info->operands[0].access == TILE_ACCESS_none &&
                 info->operands[0].class_ == TILE_CLASS_any && !axis;
    bool elementwise = info->traits & TILE_TRAIT_ELEMENTWISE;
    switch (tile_op_dims(opcode)) {
    case TILE_DIMS_each: return elementwise;
    case TILE_DIMS_none:
    case TILE_DIMS_same: return !elementwise && !axis;
    case TILE_DIMS_stretched:
    case TILE_DIMS_flat: return moves && info->type_given && !info->attr_count;
    case TILE_DIMS_permuted: return moves && has_attr(info, TILE_ATTR_order);
    case TILE_DIMS_joined: return both && !info->attr_count;
    case TILE_DIMS_parted: return moves && !info->type_given && info->operand_count == 1;
    case TILE_DIMS_sliced: return moves && tile_op_takes(opcode, TILE_OPERAND_first);
    case TILE_DIMS_beside: return axis && info->operands[0].form == TILE_FORM_variadic;
    case TILE_DIMS_taken: return axis && tile_op_takes(opcode, TILE_OPERAND_at);
    case TILE_DIMS_windowed: return axis && tile_op_takes(opcode, TILE_OPERAND_strides);
    case TILE_DIMS_folded:
    case TILE_DIMS_along: return axis && src && !tile_op_takes(opcode, TILE_OPERAND_at);
    case TILE_DIMS_product: return both && has_attr(info, TILE_ATTR_trans_lhs);
    case TILE_DIMS_all: return src && !info->attr_count;
    case TILE_DIMS_counted: return axis && !info->operand_count;
    }
    return false;
}

Test(dims, rows_have_what_their_words_ask_for) {
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_op_get_info((tile_opcode)i)->name)
            cr_expect(has_what_it_asks_for((tile_opcode)i), "%s",
                      tile_op_get_info((tile_opcode)i)->name);
}
