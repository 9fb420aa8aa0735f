/* Generates convolutions for computes of level 1. */
#include <string.h>

#include "test/fuzz/random/random.h"

enum { MAX_SPATIAL = 3, LHS = 0, RHS, RESULT };

/* Positions of an array's dims. The others are spatial. */
typedef struct order {
    unsigned outer, channel;
} order;

typedef struct convolution {
    unsigned spatial;
    order orders[3];
    int extents[3][MAX_SPATIAL]; /* of the spatial dims */
    int strides[MAX_SPATIAL], dilations[MAX_SPATIAL], input_dilations[MAX_SPATIAL];
    int pads[2 * MAX_SPATIAL], reverse[MAX_SPATIAL];
    int groups, batch_groups;
} convolution;

/* Draws an array's order; returns its letters, such as "nhwc". */
static const char *draw_order(gen *g, convolution *c, unsigned array) {
    static const char *const outers = "ncn", *const channels = "ckk";
    static const char spatial[3][MAX_SPATIAL] = {{'d', 'h', 'w'}, {'t', 'r', 's'}, {'o', 'p', 'q'}};
    unsigned rank = c->spatial + 2, named = 0;
    order *o = &c->orders[array];
    const char *text = "";
    o->outer = gen_below(g, rank);
    o->channel = (o->outer + 1 + gen_below(g, rank - 1)) % rank;
    for (unsigned d = 0; d < rank; d++)
        text = gen_text("%s%c", text,
                        d == o->outer     ? outers[array]
                        : d == o->channel ? channels[array]
                                          : spatial[array][named++]);
    return text;
}

static shape shape_of(const convolution *c, unsigned array, int outer, int channel) {
    const order *o = &c->orders[array];
    shape s = {.rank = c->spatial + 2};
    for (unsigned d = 0, i = 0; d < s.rank; d++)
        s.dims[d] = d == o->outer ? outer : d == o->channel ? channel : c->extents[array][i++];
    return s;
}

/* Draws the numbers of a spatial dim. A dim that the launch determines keeps its extent. False: the
 * filter does not fit. */
static bool draw_numbers(gen *g, convolution *c, unsigned i) {
    int input = c->extents[LHS][i], taps = gen_pick(g, 1, 2, 3, 3), *pads = &c->pads[2 * i];
    bool is_dim = gen_is_dim(input);
    c->strides[i] = is_dim ? 1 : gen_pick(g, 1, 1, 2, 3);
    c->dilations[i] = gen_pick(g, 1, 1, 2);
    c->input_dilations[i] = is_dim ? 1 : gen_pick(g, 1, 1, 1, 2, 3);
    c->reverse[i] = gen_chance(g, 25);
    int ahead = (taps - 1) * c->dilations[i]; /* from a window's first element to its last one */
    pads[0] = gen_pick(g, 0, 0, 1, 2, -1);
    pads[1] = is_dim ? ahead - pads[0] : gen_pick(g, 0, 0, 1, 2, -1);
    int last = (input - 1) * c->input_dilations[i] + pads[0] + pads[1] - ahead;
    c->extents[RHS][i] = taps;
    c->extents[RESULT][i] = is_dim ? input : last / c->strides[i] + 1;
    return is_dim || (last >= 0 && !gen_is_dim(c->extents[RESULT][i]));
}

static int draw_groups(gen *g, int extent) {
    int count = gen_is_dim(extent) || !gen_chance(g, 30) ? 1 : gen_pick(g, 2, 3, extent);
    return extent % count || gen_is_dim(extent / count) ? 1 : count;
}

/* ", strides = [1, 2]"; "" if all numbers are those of an absent list. */
static const char *list(const char *name, const int *numbers, unsigned count, int absent) {
    const char *text = "";
    bool is_absent = true;
    for (unsigned i = 0; i < count; i++) {
        text = gen_text("%s%s%d", text, i ? ", " : "", numbers[i]);
        is_absent &= numbers[i] == absent;
    }
    return is_absent ? "" : gen_text(", %s = [%s]", name, text);
}

static const char *attributes(const convolution *c) {
    const char *groups = c->groups > 1 ? gen_text(", groups = %d", c->groups) : "";
    if (c->batch_groups > 1) groups = gen_text(", batch_groups = %d", c->batch_groups);
    return gen_text("%s%s%s%s%s%s", list("strides", c->strides, c->spatial, 1),
                    list("dilations", c->dilations, c->spatial, 1),
                    list("input_dilations", c->input_dilations, c->spatial, 1),
                    list("pads", c->pads, 2 * c->spatial, 0),
                    list("reverse", c->reverse, c->spatial, 0), groups);
}

/* The type of sums that are exact; TILE_i1: there is none. */
static tile_scalar sum_of(const value *a, int64_t products) {
    tile_scalar sum = a->scalar;
    if (sum == TILE_f16 || sum == TILE_bf16) sum = TILE_f32;
    if (sum == TILE_i8) sum = TILE_i32;
    bool takes = sum == TILE_f32 || sum == TILE_f64 || sum == TILE_i32;
    return takes && a->small != ANYTHING && a->small * products <= gen_limit(sum) ? sum : TILE_i1;
}

/* Convolves an earlier value or an input with an input. */
bool gen_convolve(gen *g) {
    static const tile_scalar scalars[] = {TILE_f16, TILE_bf16, TILE_f32,
                                          TILE_i8,  TILE_i32,  TILE_f64};
    value a = *gen_any(g);
    if (!gen_can_take(g)) return false;
    if (a.shape.rank < 3 || a.shape.rank > 2 + MAX_SPATIAL || gen_chance(g, 30))
        a = gen_input(g, scalars[gen_below(g, sizeof scalars / sizeof *scalars)],
                      gen_extents(g, (unsigned)gen_pick(g, 3, 4, 4, 5)));
    convolution c = {.spatial = a.shape.rank - 2, .batch_groups = 1};
    const char *letters[3];
    for (unsigned i = 0; i < 3; i++) letters[i] = draw_order(g, &c, i);
    int n = a.shape.dims[c.orders[LHS].outer], channels = a.shape.dims[c.orders[LHS].channel];
    int64_t products = channels;
    for (unsigned d = 0, i = 0; d < a.shape.rank; d++) {
        if (d == c.orders[LHS].outer || d == c.orders[LHS].channel) continue;
        c.extents[LHS][i] = a.shape.dims[d];
        if (!draw_numbers(g, &c, i)) return false;
        products *= c.extents[RHS][i++];
    }
    c.groups = draw_groups(g, channels);
    if (c.groups == 1) c.batch_groups = draw_groups(g, n);
    int groups = c.groups * c.batch_groups;
    int k = groups == 1 ? gen_draw_extent(g) : groups * gen_pick(g, 1, 1, 2, 3);
    shape filter = shape_of(&c, RHS, channels / c.groups, k);
    shape s = shape_of(&c, RESULT, n / c.batch_groups, k);
    tile_scalar sum = sum_of(&a, products);
    if ((groups > 1 && gen_is_dim(k)) || sum == TILE_i1 || !gen_is_small(g, s) ||
        !gen_is_small(g, filter))
        return false;
    value b = gen_input(g, a.scalar, filter), v = gen_value(g, sum, s, a.small * products);
    gen_say(g, "%s = convolve(%s, %s, dims = \"%s,%s->%s\"%s) : %s", v.name, a.name, b.name,
            letters[LHS], letters[RHS], letters[RESULT], attributes(&c), tile_scalar_name(sum));
    gen_add(g, &v);
    return true;
}
