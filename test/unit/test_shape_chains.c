/* Chains of operations that move elements: a value and, for each of its elements, which element of
 * the input it is. They are the same at level 1, at levels 2 and 3 on the CPU device and by
 * definition, and compile to PTX. */
#include "test/unit/shape_fixture.h"

typedef struct arrangement {
    axis_shape dims;
    const char *name;
    uint32_t *from;
} arrangement;

typedef struct chain {
    text_fixture *x;
    uint32_t state;
    const char *steps;
    unsigned names;
    bool powers; /* only extents that are powers of two */
} chain;

enum { CHAIN_ELEMENTS = 1 << 12 };

static uint32_t draw(chain *c, uint32_t below) {
    c->state = c->state * 1664525u + 1013904223u;
    return (c->state >> 8) % below;
}

static arrangement start(chain *c, const axis_shape *dims) {
    arrangement a = {*dims, NULL, TILE_NEW_ARRAY(&c->x->arena, uint32_t, axis_count(dims))};
    a.name = tile_arena_format(&c->x->arena, "%%v%u", c->names++);
    return a;
}

static void step(chain *c, const arrangement *to, const char *text) {
    c->steps = tile_arena_format(&c->x->arena, "%s  %s = %s\n", c->steps, to->name, text);
}

/* Returns the element with these coordinates. */
static uint32_t *element(const arrangement *a, const int64_t *at) {
    size_t index = 0;
    for (unsigned d = 0; d < a->dims.rank; d++)
        index = index * (size_t)a->dims.dims[d] + (size_t)at[d];
    return &a->from[index];
}

static void coordinates_of(const axis_shape *dims, size_t i, int64_t *at) {
    for (unsigned d = 0; d < dims->rank; d++) at[d] = axis_coordinate(dims, i, d);
}

static arrangement chain_transpose(chain *c, const arrangement *a) {
    unsigned order[TILE_MAX_RANK], rank = a->dims.rank;
    const char *list = "";
    axis_shape dims = {.rank = rank};
    bool plain = rank > 1 && draw(c, 3) == 0;
    for (unsigned d = 0; d < rank; d++) order[d] = d;
    for (unsigned d = rank; !plain && d-- > 1;) {
        unsigned other = draw(c, d + 1), was = order[d];
        order[d] = order[other];
        order[other] = was;
    }
    if (plain) order[rank - 1] = rank - 2, order[rank - 2] = rank - 1;
    for (unsigned d = 0; d < rank; d++) {
        dims.dims[d] = a->dims.dims[order[d]];
        list = tile_arena_format(&c->x->arena, "%s%s%u", list, d ? ", " : "", order[d]);
    }
    arrangement to = start(c, &dims);
    for (size_t i = 0; i < axis_count(&dims); i++) {
        int64_t at[TILE_MAX_RANK], from[TILE_MAX_RANK];
        coordinates_of(&dims, i, at);
        for (unsigned d = 0; d < rank; d++) from[order[d]] = at[d];
        to.from[i] = *element(a, from);
    }
    step(c, &to,
         plain ? tile_arena_format(&c->x->arena, "transpose %s", a->name)
               : tile_arena_format(&c->x->arena, "transpose %s {order = [%s]}", a->name, list));
    return to;
}

static arrangement chain_reshape(chain *c, const arrangement *a) {
    static const int64_t primes[] = {2, 3, 5, 7};
    axis_shape dims = {.rank = 1 + draw(c, TILE_MAX_RANK)};
    int64_t left = (int64_t)axis_count(&a->dims);
    for (unsigned d = 0; d < dims.rank; d++) dims.dims[d] = 1;
    for (unsigned i = 0; i < 4; i++)
        for (; left % primes[i] == 0; left /= primes[i]) dims.dims[draw(c, dims.rank)] *= primes[i];
    dims.dims[draw(c, dims.rank)] *= left;
    arrangement to = start(c, &dims);
    memcpy(to.from, a->from, sizeof *to.from * axis_count(&dims));
    step(c, &to,
         tile_arena_format(&c->x->arena, "reshape %s : %s", a->name, axis_dims(c->x, &dims)));
    return to;
}

static arrangement chain_slice(chain *c, const arrangement *a) {
    axis_shape dims = a->dims;
    int64_t first[TILE_MAX_RANK];
    const char *list = "";
    for (unsigned d = 0; d < dims.rank; d++) {
        int64_t parts = draw(c, 2) ? 1 : dims.dims[d] % 2 == 0 ? 2 : dims.dims[d] % 3 == 0 ? 3 : 1;
        dims.dims[d] /= parts;
        first[d] = dims.dims[d] * (int64_t)draw(c, (uint32_t)parts);
        list =
            tile_arena_format(&c->x->arena, "%s%s%lld", list, d ? ", " : "", (long long)first[d]);
    }
    arrangement to = start(c, &dims);
    for (size_t i = 0; i < axis_count(&dims); i++) {
        int64_t at[TILE_MAX_RANK];
        coordinates_of(&dims, i, at);
        for (unsigned d = 0; d < dims.rank; d++) at[d] += first[d];
        to.from[i] = *element(a, at);
    }
    step(c, &to,
         tile_arena_format(&c->x->arena, "slice %s, [%s] : %s", a->name, list,
                           axis_dims(c->x, &dims)));
    return to;
}

static void chain_split(chain *c, const arrangement *a, arrangement halves[2]) {
    axis_shape dims = a->dims;
    dims.rank--;
    for (unsigned h = 0; h < 2; h++) {
        halves[h] = start(c, &dims);
        for (size_t i = 0; i < axis_count(&dims); i++) halves[h].from[i] = a->from[2 * i + h];
    }
    c->steps = tile_arena_format(&c->x->arena, "%s  %s, %s = unjoin %s\n", c->steps, halves[0].name,
                                 halves[1].name, a->name);
}

static arrangement chain_join(chain *c, const arrangement *a, const arrangement *b) {
    axis_shape dims = a->dims;
    dims.dims[dims.rank++] = 2;
    arrangement to = start(c, &dims);
    for (size_t i = 0; i < axis_count(&dims); i++) to.from[i] = (i % 2 ? b : a)->from[i / 2];
    step(c, &to, tile_arena_format(&c->x->arena, "join %s, %s", a->name, b->name));
    return to;
}

static arrangement chain_concat(chain *c, const arrangement *a, const arrangement *b) {
    unsigned axis = draw(c, a->dims.rank), count = c->powers ? 2 : 2 + draw(c, 2);
    const arrangement *parts[] = {a, b, a};
    axis_shape dims = a->dims;
    const char *list = "";
    dims.dims[axis] *= count;
    for (unsigned i = 0; i < count; i++)
        list = tile_arena_format(&c->x->arena, "%s%s%s", list, i ? ", " : "", parts[i]->name);
    arrangement to = start(c, &dims);
    for (size_t i = 0; i < axis_count(&dims); i++) {
        int64_t at[TILE_MAX_RANK];
        coordinates_of(&dims, i, at);
        int64_t part = at[axis] / a->dims.dims[axis];
        at[axis] %= a->dims.dims[axis];
        to.from[i] = *element(parts[part], at);
    }
    step(c, &to, tile_arena_format(&c->x->arena, "concat %s {axis = %u}", list, axis));
    return to;
}

/* Returns two values of one shape: halves, or the same value twice. */
static void chain_pair(chain *c, const arrangement *a, arrangement pair[2]) {
    unsigned rank = a->dims.rank;
    pair[0] = pair[1] = *a;
    if (rank > 1 && a->dims.dims[rank - 1] == 2)
        chain_split(c, a, pair);
    else if (draw(c, 2))
        pair[1] = chain_transpose(c, a);
    bool same = true;
    for (unsigned d = 0; d < pair[0].dims.rank; d++)
        same &= pair[0].dims.dims[d] == pair[1].dims.dims[d];
    if (!same) pair[1] = pair[0];
}

static arrangement chain_step(chain *c, const arrangement *a) {
    arrangement pair[2];
    size_t count = axis_count(&a->dims);
    switch (draw(c, 6)) {
    case 0: return chain_transpose(c, a);
    case 1:
    case 2: return chain_reshape(c, a);
    case 3: return chain_slice(c, a);
    case 4:
        chain_pair(c, a, pair);
        if (pair[0].dims.rank == TILE_MAX_RANK || count > CHAIN_ELEMENTS / 2) return pair[1];
        return chain_join(c, &pair[1], &pair[0]);
    default:
        chain_pair(c, a, pair);
        return count > CHAIN_ELEMENTS / 3 ? pair[1] : chain_concat(c, &pair[0], &pair[1]);
    }
}

static bool has_tile(const axis_shape *dims) {
    bool can = true;
    for (unsigned d = 0; d < dims->rank; d++) can &= tile_layout_admits_extent(dims->dims[d]);
    return can;
}

/* Returns the next one whose shape a tile can have. */
static arrangement chain_on(chain *c, const arrangement *a) {
    const char *before = c->steps;
    arrangement to = chain_step(c, a);
    while (!has_tile(&to.dims)) {
        c->steps = before;
        to = chain_step(c, a);
    }
    return to;
}

static void check_chain(text_fixture *x, uint32_t seed, tile_scalar scalar, bool powers) {
    static const axis_shape odd[] = {{2, {12, 20}}, {3, {2, 16, 5}},   {1, {192}},
                                     {2, {64, 6}},  {4, {1, 3, 1, 7}}, {2, {48, 32}}};
    static const axis_shape even[] = {{2, {64, 32}},     {1, {256}},   {3, {2, 16, 8}},
                                      {4, {2, 2, 4, 8}}, {2, {16, 2}}, {2, {4, 4}}};
    chain c = {.x = x, .state = seed * 2654435761u + 1, .steps = "", .powers = powers};
    unsigned which = draw(&c, 6), length = 1 + draw(&c, 5);
    const axis_shape *from = powers ? &even[which] : &odd[which];
    unsigned char *wanted = malloc(SHAPE_BYTES), *input = malloc(SHAPE_BYTES);
    size_t size = tile_scalar_bytes(scalar);
    arrangement a = {*from, "%a", TILE_NEW_ARRAY(&x->arena, uint32_t, axis_count(from))};
    for (size_t i = 0; i < axis_count(from); i++) {
        a.from[i] = (uint32_t)i;
        tile_scalar_write(scalar, input + i * size, (double)(int)(i * 7 % 97) - 40);
    }
    for (unsigned i = 0; i < length; i++) a = chain_on(&c, &a);
    shape_sample s = {
        .from = from, .to = &a.dims, .scalar = scalar, .input = input, .steps = c.steps};
    s.warps = 1u << draw(&c, 4);
    s.statement = tile_arena_format(&x->arena, "%%%s", a.name);
    for (size_t i = 0; i < axis_count(&a.dims); i++)
        memcpy(wanted + i * size, input + a.from[i] * size, size);
    shape_check(x, &s, wanted);
    if (seed % 8 == 0) shape_emit_ptx(x, &s);
    free(wanted);
    free(input);
}

Test(shape, chains_of_powers_of_two) {
    static const tile_scalar scalars[] = {TILE_f32, TILE_f16,  TILE_i8,
                                          TILE_f64, TILE_bf16, TILE_i1};
    text_fixture x;
    for (uint32_t seed = 0; seed < 300; seed++) {
        text_open(&x);
        check_chain(&x, seed, scalars[seed % 6], true);
        text_close(&x);
    }
}

Test(shape, chains_of_any_extents) {
    static const tile_scalar scalars[] = {TILE_f32, TILE_f16,  TILE_i8,
                                          TILE_f64, TILE_e4m3, TILE_i64};
    text_fixture x;
    for (uint32_t seed = 0; seed < 300; seed++) {
        text_open(&x);
        check_chain(&x, 1000 + seed, scalars[seed % 6], false);
        text_close(&x);
    }
}
