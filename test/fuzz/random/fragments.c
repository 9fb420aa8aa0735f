/* Generates kernels of tiles that contain per-thread code: a tile becomes the vectors that threads
 * hold, which lanes change and exchange, and then a tile again. Threads that hold the same elements
 * must compute the same values. Code that distinguishes such threads is generated only if each
 * element has one holder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/random/random.h"
#include "tile/compile.h"
#include "tile/layout.h"

enum { MAX_REGISTERS = 64, MAX_UNROLLED = 32 };

/* A tile's elements as held by a layout. */
typedef struct fragment {
    const char *tile; /* a value whose type has the layout */
    const char *layout;
    shape shape;
    tile_layout known;
    int registers;
    bool apart;   /* each element is held by only one thread */
    value out[2]; /* further tiles that the code produces */
    unsigned out_count;
} fragment;

/* Layouts ------------------------------------------------------------------------------------- */

static const char *laid_out(const char *layout, tile_scalar scalar, shape s) {
    const char *dims = gen_dims(s);
    return gen_text("tile<%s%.*s], %s>", tile_scalar_name(scalar), (int)strlen(dims) - 1, dims,
                    layout);
}

static void drop_report(const tile_diagnostic *d, void *user) {
    (void)d, (void)user;
}

/* Finds the layout that a name stands for in such a tile; false if it does not fit. */
static bool resolve(const gen *g, const char *layout, tile_scalar scalar, shape s,
                    tile_layout *known) {
    tile_context *context = tile_context_create();
    tool_text text = {NULL, 0, 0};
    const char *head = gen_text("\nkernel @k() grid [1] warps %u { %%t = splat %s : %s }\n",
                                g->warps, gen_number(scalar, 0), laid_out(layout, scalar, s));
    tile_context_set_sink(context, drop_report, NULL);
    tool_append(g->aliases.data, g->aliases.size, &text);
    tool_append(head, strlen(head), &text);
    tile_module *module = tile_module_parse(context, "layout", text.data, text.size);
    bool fits = module && tile_instantiate(module, "k", NULL, 0) == TILE_OK;
    if (fits) {
        const tile_function *f = tile_module_find(module, "k");
        tile_op op = tile_region_first(f, tile_function_body(f));
        while (tile_op_opcode(f, op) != TILE_OP_splat) op = tile_op_next(f, op);
        *known = *tile_value_type(f, tile_op_result(f, op, 0))->layout;
    }
    tile_module_destroy(module);
    tile_context_destroy(context);
    free(text.data);
    return fits;
}

/* One basis per coordinate bit, in random order, some combined with others. */
typedef struct basis {
    int at[MAX_RANK];
} basis;

static unsigned draw_bases(gen *g, shape s, basis bases[TILE_LAYOUT_MAX_BITS]) {
    unsigned count = 0;
    for (unsigned d = 0; d < s.rank; d++)
        for (int bit = 1; s.dims[d] % (2 * bit) == 0; bit *= 2) {
            bases[count] = (basis){{0}};
            bases[count++].at[d] = bit;
        }
    for (unsigned i = count; i > 1; i--) {
        unsigned k = gen_below(g, i);
        basis swap = bases[i - 1];
        bases[i - 1] = bases[k];
        bases[k] = swap;
    }
    for (unsigned i = 1; i < count && gen_chance(g, 40); i++)
        for (unsigned d = 0; d < s.rank; d++) bases[i].at[d] ^= bases[i - 1].at[d];
    return count;
}

/* Returns "lane = [[0, 1], [2, 0]]": the next bases; all of them if `full`, else some are
 * omitted. */
static const char *part_of_layout(gen *g, const char *name, unsigned length, bool full,
                                  unsigned rank, const basis *bases, unsigned *left) {
    char text[500];
    snprintf(text, sizeof text, "%s = [", name);
    for (unsigned i = 0; i < length; i++) {
        basis b = {{0}};
        if (*left && (full || gen_chance(g, 70))) b = bases[--*left];
        for (unsigned d = 0; d < rank; d++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d",
                     d   ? ", "
                     : i ? ", ["
                         : "[",
                     b.at[d]);
        strcat(text, "]");
    }
    return gen_text("%s]", text);
}

/* Declares a random layout before the kernel. */
static const char *own_layout(gen *g, shape s) {
    basis bases[TILE_LAYOUT_MAX_BITS];
    unsigned left = draw_bases(g, s, bases), warp_bits = 0;
    bool full = gen_chance(g, 60);
    while (1u << warp_bits < g->warps) warp_bits++;
    const char *name = gen_text("#l%u", ++g->names), *counts = "";
    const char *lanes = part_of_layout(g, "lane", TILE_LANE_BITS, full, s.rank, bases, &left);
    const char *warps = part_of_layout(g, "warp", warp_bits, full, s.rank, bases, &left);
    const char *registers = part_of_layout(g, "reg", left, true, s.rank, bases, &left);
    bool odd = false;
    for (unsigned d = 0; d < s.rank; d++) {
        int count = s.dims[d] / (s.dims[d] & -s.dims[d]);
        odd |= count > 1;
        counts = gen_text("%s%s%d", counts, d ? ", " : ", count = [", count);
    }
    const char *text = gen_text("%s = layout {%s, %s, %s%s}\n", name, registers, lanes, warps,
                                odd ? gen_text("%s]", counts) : "");
    tool_append(text, strlen(text), &g->aliases);
    return name;
}

/* False if the layout does not fit or a thread would hold too many elements. */
static bool choose_layout(gen *g, const value *a, fragment *f) {
    f->shape = a->shape;
    f->layout = gen_chance(g, 45) ? own_layout(g, a->shape)
                                  : gen_word(g, "#plain", "#mma_acc", "#mma_lhs", "#mma_rhs");
    if (!resolve(g, f->layout, a->scalar, f->shape, &f->known)) return false;
    f->registers = (int)tile_layout_registers(&f->known);
    f->apart = gen_elements(f->shape) == (int64_t)f->registers * 32 * g->warps;
    return f->registers <= MAX_REGISTERS;
}

/* Elements by their coordinates --------------------------------------------------------------- */

/* Names the coordinates of element `at`; returns them as a list, and each in `names`. */
static const char *say_coordinates(gen *g, const fragment *f, const char *at,
                                   const char *names[MAX_RANK]) {
    const char *list = "";
    for (unsigned d = 0; d < f->shape.rank; d++) {
        names[d] = gen_name(g, "c");
        list = gen_text("%s%s%s", list, d ? ", " : "", names[d]);
    }
    gen_say(g, "%s = coordinates %s, %s", list, f->tile, at);
    return list;
}

/* Returns the element's coordinates in a shared buffer, some of them mirrored. */
static const char *mirrored(gen *g, const fragment *f, const char *at, unsigned mirror) {
    const char *names[MAX_RANK], *list = "";
    say_coordinates(g, f, at, names);
    for (unsigned d = 0; d < f->shape.rank; d++) {
        const char *name = names[d];
        if (mirror >> d & 1) {
            name = gen_name(g, "c");
            gen_say(g, "%s = sub %d, %s", name, f->shape.dims[d] - 1, names[d]);
        }
        list = gen_text("%s%s%s", list, d ? ", " : "", name);
    }
    return list;
}

/* Begins a loop over the fragment's elements; returns its variable. */
static const char *begin_loop(gen *g, const fragment *f, const value *result, const char *inner,
                              const value *init) {
    const char *at = gen_name(g, "k"), *unroll = "";
    if (f->registers <= MAX_UNROLLED && gen_chance(g, 80))
        unroll = gen_text(" unroll (%d)", f->registers);
    gen_say(g, "%sfor %s = 0 to %d step 1%s%s {", result ? gen_text("%s = ", result->name) : "", at,
            f->registers, result ? gen_text(" iter (%s = %s)", inner, init->name) : "", unroll);
    g->depth++;
    return at;
}

static void end_loop(gen *g) {
    g->depth--;
    gen_say(g, "}");
}

static bool is_whole(const fragment *f, const value *v) {
    return gen_vector_elements(v) == f->registers;
}

/* Changes each element depending on its coordinates. */
static bool by_coordinates(gen *g, fragment *f) {
    const value a = *gen_any(g);
    const char *names[MAX_RANK], *old = gen_name(g, "e"), *sum = gen_name(g, "e"),
                                 *next = gen_name(g, "e"), *number, *inner = gen_name(g, "v");
    if (!is_whole(f, &a)) return false;
    unsigned d = gen_below(g, f->shape.rank);
    int64_t small = a.small == ANYTHING ? ANYTHING : a.small + f->shape.dims[d];
    value v = gen_value(g, a.scalar, a.shape, small);
    const char *at = begin_loop(g, f, &v, inner, &a);
    say_coordinates(g, f, at, names);
    number = names[d];
    if (a.scalar != TILE_i32) {
        number = gen_name(g, "e");
        gen_say(g, "%s = cast %s : %s", number, names[d], tile_scalar_name(a.scalar));
    }
    gen_say(g, "%s = extract %s, %s : %s", old, inner, at, tile_scalar_name(a.scalar));
    gen_say(g, "%s = %s %s, %s", sum, gen_word(g, "add", "sub", "max"), old, number);
    gen_say(g, "%s = insert %s, %s, %s", next, inner, sum, at);
    gen_say(g, "yield %s", next);
    end_loop(g);
    gen_add(g, &v);
    return true;
}

/* Uses one coordinate of one element, which differs between threads. */
static bool by_one(gen *g, fragment *f) {
    const char *names[MAX_RANK];
    say_coordinates(g, f, gen_text("%u", gen_below(g, (uint32_t)f->registers)), names);
    value v = gen_value(g, TILE_i32, gen_vector(0), 1 << 12);
    gen_say(g, "%s = add %s, 0", v.name, names[gen_below(g, f->shape.rank)]);
    gen_add(g, &v);
    return true;
}

/* Stores a tile in shared memory; threads read elements from mirrored positions. */
static bool take_shared(gen *g, fragment *f) {
    const value a = *gen_any(g);
    if (!is_whole(f, &a)) return false;
    value from = gen_load(g, a.scalar, f->shape), v = gen_value(g, a.scalar, a.shape, a.small);
    if (v.small == 0) v.small = 1; /* loaded numbers are this large */
    const char *buffer = gen_name(g, "s"), *inner = gen_name(g, "v"), *taken = gen_name(g, "e"),
               *next = gen_name(g, "e");
    gen_say(g, "%s = alloc_shared : %s", buffer, gen_type("shared", a.scalar, f->shape));
    gen_say(g, "store_shared %s, %s", from.name, buffer);
    const char *at = begin_loop(g, f, &v, inner, &a);
    const char *place = mirrored(g, f, at, gen_below(g, 1u << f->shape.rank));
    gen_say(g, "%s = ld_shared %s[%s] : %s", taken, buffer, place, tile_scalar_name(a.scalar));
    gen_say(g, "%s = insert %s, %s, %s", next, inner, taken, at);
    gen_say(g, "yield %s", next);
    end_loop(g);
    gen_add(g, &v);
    return true;
}

/* Threads store their elements to mirrored positions in shared memory, from which a tile is
 * loaded. */
static bool give_shared(gen *g, fragment *f) {
    const value a = *gen_any(g);
    if (!is_whole(f, &a) || !f->apart || f->out_count == 2) return false;
    value v = gen_value(g, a.scalar, f->shape, a.small);
    const char *buffer = gen_name(g, "s"), *given = gen_name(g, "e");
    gen_say(g, "%s = alloc_shared : %s", buffer, gen_type("shared", a.scalar, f->shape));
    const char *at = begin_loop(g, f, NULL, NULL, NULL);
    const char *place = mirrored(g, f, at, gen_below(g, 1u << f->shape.rank));
    gen_say(g, "%s = extract %s, %s : %s", given, a.name, at, tile_scalar_name(a.scalar));
    gen_say(g, "st_shared %s, %s[%s]", given, buffer, place);
    end_loop(g);
    gen_say(g, "%s = load_shared %s : %s", v.name, buffer, gen_dims(f->shape));
    f->out[f->out_count++] = v;
    return true;
}

/* Vectors ------------------------------------------------------------------------------------- */

/* Extracts a part of a vector, or one element. */
static bool take_part(gen *g, fragment *f) {
    const value a = *gen_any(g);
    int elements = gen_vector_elements(&a), part = gen_chance(g, 50) ? elements / 2 : 0;
    (void)f;
    if (!elements) return false;
    uint32_t places = (uint32_t)(elements - (part ? part - 1 : 0));
    value v = gen_value(g, a.scalar, gen_vector(part), a.small);
    gen_say(g, "%s = extract %s, %u : %s", v.name, a.name, gen_below(g, places),
            part ? gen_dims(v.shape) : tile_scalar_name(a.scalar));
    gen_add(g, &v);
    return true;
}

/* Inserts an element or a part into a vector of its type. */
static bool put_part(gen *g, fragment *f) {
    const value a = *gen_any(g), part = *gen_any(g);
    int elements = gen_vector_elements(&a), length = gen_vector_elements(&part);
    (void)f;
    if (!elements || part.scalar != a.scalar || length >= elements) return false;
    int64_t small = a.small == ANYTHING || part.small == ANYTHING ? ANYTHING
                    : a.small > part.small                        ? a.small
                                                                  : part.small;
    value v = gen_value(g, a.scalar, a.shape, small);
    gen_say(g, "%s = insert %s, %s, %u", v.name, a.name, part.name,
            gen_below(g, (uint32_t)(elements - (length ? length - 1 : 0))));
    gen_add(g, &v);
    return true;
}

/* Concatenates two vectors, or permutes the elements of one. */
static bool arrange(gen *g, fragment *f) {
    const value a = *gen_any(g), b = *gen_like(g, &a);
    int elements = gen_vector_elements(&a);
    if (2 * elements == f->registers) {
        value v = gen_value(g, a.scalar, gen_vector(f->registers), ANYTHING);
        gen_say(g, "%s = concat %s, %s", v.name, a.name, b.name);
        gen_add(g, &v);
        return elements > 0;
    }
    if (!is_whole(f, &a) || elements > 32) return false;
    gen_permute(g, &a);
    return true;
}

/* Splats a scalar. */
static bool spread(gen *g, fragment *f) {
    const value a = *gen_any(g);
    if (gen_vector_elements(&a)) return false;
    value v = gen_value(g, a.scalar, gen_vector(f->registers), a.small);
    gen_say(g, "%s = splat %s : %s", v.name, a.name, gen_vector_type(a.scalar, f->registers));
    gen_add(g, &v);
    return true;
}

/* Lanes --------------------------------------------------------------------------------------- */

/* Lanes that hold the same elements also have equal partners, except for up, down and
 * lane-dependent sources. */
static bool exchange(gen *g, fragment *f) {
    const value a = *gen_any(g);
    const char *kind =
                   f->apart ? gen_word(g, "idx", "xor", "up", "down") : gen_word(g, "idx", "xor"),
               *lane = gen_text("%d", gen_pick(g, 0, 1, 5, 16, 31));
    if (f->apart && gen_chance(g, 30)) lane = gen_word(g, "%lane", "%warp");
    value v = gen_value(g, a.scalar, a.shape, a.small);
    gen_say(g, "%s = shfl_%s %s, %s", v.name, kind, a.name, lane);
    gen_add(g, &v);
    return true;
}

static bool ask(gen *g, fragment *f) {
    (void)f;
    switch (gen_below(g, 4)) {
    case 0: return gen_redux(g);
    case 1: return gen_match(g);
    case 2: return gen_elect(g);
    default: return gen_vote(g);
    }
}

static bool number(gen *g, fragment *f) {
    if (!f->apart) return false;
    value v = gen_value(g, TILE_i32, gen_vector(0), 1024);
    gen_say(g, "%s = add %s, 0", v.name, gen_word(g, "%lane", "%warp", "%t"));
    gen_add(g, &v);
    return true;
}

/* Generates a divergent branch. */
static bool diverge(gen *g, fragment *f) {
    const value a = *gen_any(g), b = *gen_like(g, &a);
    if (!f->apart) return false;
    value v = gen_value(g, a.scalar, a.shape, ANYTHING);
    const char *condition = gen_name(g, "b");
    gen_say(g, "%s = lt %%lane, %d", condition, gen_pick(g, 0, 7, 16, 32));
    gen_say(g, "%s = if %s {", v.name, condition);
    unsigned count = g->count;
    g->depth++;
    gen_elementwise(g);
    gen_say(g, "yield %s", gen_like(g, &a)->name);
    g->depth--;
    g->count = count;
    gen_say(g, "} else {");
    gen_say(g, "  yield %s", b.name);
    gen_say(g, "}");
    gen_add(g, &v);
    return true;
}

static bool compute(gen *g, fragment *f) {
    (void)f;
    return gen_chance(g, 75)   ? gen_elementwise(g)
           : gen_chance(g, 80) ? gen_cast(g)
                               : gen_bitcast(g);
}

/* Regions ------------------------------------------------------------------------------------- */

/* Returns a vector of all registers that fits the layout; the first value if there is none. */
static value choose_result(gen *g, const fragment *f) {
    for (unsigned tries = 0; tries < 12; tries++) {
        const value v = *gen_any(g);
        tile_layout known;
        if (is_whole(f, &v) && resolve(g, f->layout, v.scalar, f->shape, &known) &&
            memcmp(&known, &f->known, sizeof known) == 0)
            return v;
    }
    return g->values[g->first];
}

static value leave(gen *g, const fragment *f, const value *v) {
    value held = gen_value(g, v->scalar, f->shape, v->small),
          tile = gen_value(g, v->scalar, f->shape, v->small);
    gen_say(g, "%s = from_fragment %s : %s", held.name, v->name,
            laid_out(f->layout, v->scalar, f->shape));
    gen_say(g, "%s = convert_layout %s : %s", tile.name, held.name,
            gen_type("tile", v->scalar, f->shape));
    return tile;
}

static void enter(gen *g, fragment *f, const value *a) {
    f->tile = gen_name(g, "t");
    gen_say(g, "%s = convert_layout %s : %s", f->tile, a->name,
            laid_out(f->layout, a->scalar, f->shape));
    value v = gen_value(g, a->scalar, gen_vector(f->registers), a->small);
    gen_say(g, "%s = to_fragment %s : [%d]", v.name, f->tile, f->registers);
    g->first = g->count;
    gen_add(g, &v);
}

bool gen_fragments(gen *g) {
    static bool (*const kinds[])(gen * g, fragment * f) = {
        compute,     compute,     compute,   by_coordinates, by_coordinates, by_one,
        take_shared, give_shared, take_part, put_part,       arrange,        spread,
        exchange,    exchange,    ask,       number,         diverge};
    const value a = *gen_any(g);
    fragment f = {.out_count = 0};
    if (!g->mixed || a.scalar == TILE_i1 || g->count > MAX_VALUES / 2 || !choose_layout(g, &a, &f))
        return false;
    unsigned first = g->first, count = g->count, wanted = 1 + gen_below(g, 8), made = 0;
    bool threads = g->threads;
    g->threads = true;
    enter(g, &f, &a);
    for (unsigned tries = 0; made < wanted && tries < 60; tries++)
        made += kinds[gen_below(g, sizeof kinds / sizeof *kinds)](g, &f);
    const value v = choose_result(g, &f);
    const value tile = leave(g, &f, &v);
    g->first = first;
    g->count = count;
    g->threads = threads;
    gen_add(g, &tile);
    for (unsigned i = 0; i < f.out_count; i++) gen_add(g, &f.out[i]);
    return true;
}

/* Generates a product of three fragments; each warp has 16 rows. */
bool gen_mma(gen *g) {
    const int rows = 16 * (int)g->warps;
    const shape shapes[3] = {{2, {rows, 16}}, {2, {16, 8}}, {2, {rows, 8}}};
    const char *const layouts[3] = {"#mma_lhs", "#mma_rhs", "#mma_acc"};
    const char *held[3];
    if (!g->mixed) return false;
    tile_scalar scalar = gen_chance(g, 50) ? TILE_f16 : TILE_bf16;
    for (unsigned i = 0; i < 3; i++) {
        tile_scalar of = i == 2 ? TILE_f32 : scalar;
        const value loaded = gen_load(g, of, shapes[i]);
        const char *tile = gen_name(g, "t");
        held[i] = gen_name(g, "f");
        gen_say(g, "%s = convert_layout %s : %s", tile, loaded.name,
                laid_out(layouts[i], of, shapes[i]));
        gen_say(g, "%s = to_fragment %s : [%d]", held[i], tile, i ? 4 : 8);
    }
    const fragment f = {.layout = layouts[2], .shape = shapes[2]};
    value v = gen_value(g, TILE_f32, gen_vector(4), 17);
    gen_say(g, "%s = mma %s, %s, %s", v.name, held[0], held[1], held[2]);
    const value tile = leave(g, &f, &v);
    gen_add(g, &tile);
    return true;
}
