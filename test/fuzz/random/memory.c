/* Generates loads, stores, shared buffers, atomic accesses, and synchronization. */
#include <stdio.h>
#include <string.h>

#include "test/fuzz/random/random.h"

/* Coordinates --------------------------------------------------------------------------------- */

/* An i32 before, in or after the view. */
static const char *start(gen *g, int step) {
    switch (gen_below(g, 5)) {
    case 0: return gen_text("%s * %d", gen_index(g), step);
    case 1: return gen_text("%d", gen_pick(g, 0, 0, step, 1, 2, 7, -1, -step, 1000));
    case 2: return gen_index(g);
    case 3: return "0";
    default:
        return gen_text("%s * %d - %d", gen_index(g), gen_pick(g, 1, 2, 8, step),
                        gen_pick(g, 0, 1, 4, step));
    }
}

static int extent_near(gen *g, int d) {
    int extent = gen_pick(g, d, d, d + 1, d - 1, 2 * d, 2 * d + 3, d / 2 + 1, 1);
    return extent > 0 ? extent : 1;
}

/* Extents of a view from which such a tile is loaded, possibly with more leading dims. */
static shape input_extents(gen *g, shape s) {
    shape e = {.rank = 0};
    if (s.rank < MAX_RANK && gen_chance(g, 20)) e.dims[e.rank++] = gen_pick(g, 1, 2, 3);
    for (unsigned d = 0; d < s.rank; d++) e.dims[e.rank++] = extent_near(g, s.dims[d]);
    return e;
}

static const char *element(gen *g, const char *view, unsigned rank, shape s) {
    char text[400];
    snprintf(text, sizeof text, "%s[", view);
    for (unsigned d = 0; d < rank; d++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", d ? ", " : "",
                 start(g, d + s.rank < rank ? 1 : s.dims[d + s.rank - rank]));
    return gen_text("%s]", text);
}

/* Index tiles, with some points out of bounds and some duplicates. */
static const char *index_tile(gen *g, shape s) {
    const char *name = gen_name(g, "i");
    if (gen_chance(g, 30)) {
        const char *view = gen_view(g, TILE_i32, s, "int"), *at = gen_name(g, "i");
        char zeros[64] = "0";
        for (unsigned d = 1; d < s.rank; d++) strcat(zeros, ", 0");
        gen_say(g, "%s = load %s[%s] {pad = %d} : %s", at, view, zeros, gen_pick(g, -1, 0, 2),
                gen_dims(s));
        gen_say(g, "%s = add %s, %d", name, at, gen_pick(g, 0, 1));
    } else {
        gen_say(g, "%s = iota {axis = %u, start = %d, step = %d} : %s", name, gen_below(g, s.rank),
                gen_pick(g, 0, 0, -1, 2), gen_pick(g, 1, 1, 2, -1), gen_type("tile", TILE_i32, s));
        if (gen_chance(g, 40)) {
            const char *moved = gen_name(g, "i");
            gen_say(g, "%s = add %s, %s", moved, name, gen_index(g));
            name = moved;
        }
    }
    if (!gen_chance(g, 30)) return name;
    const char *wide = gen_name(g, "i");
    gen_say(g, "%s = cast %s : i64", wide, name);
    return wide;
}

/* A tile of i1, perhaps with fewer dims, or a scalar. */
static const char *predicate(gen *g, shape s) {
    const char *name = gen_name(g, "m"), *compare = gen_word(g, "lt", "ne", "ge");
    if (gen_chance(g, 20)) {
        gen_say(g, "%s = %s %s, 1", name, compare, gen_index(g));
        return name;
    }
    const char *at = gen_name(g, "i");
    unsigned axis = gen_below(g, s.rank);
    int extent = s.dims[axis];
    for (unsigned d = 0; d < s.rank; d++)
        if (d != axis && gen_chance(g, 40)) s.dims[d] = 1;
    gen_say(g, "%s = iota {axis = %u} : %s", at, axis, gen_type("tile", TILE_i32, s));
    gen_say(g, "%s = %s %s, %d", name, compare, at, gen_pick(g, 0, 1, extent / 2, extent));
    return name;
}

/* Loads --------------------------------------------------------------------------------------- */

/* Returns brackets with index tiles for the first dims of the tile; NULL: too many dims. */
static const char *gathered_element(gen *g, tile_scalar scalar, shape s) {
    unsigned points = gen_below(g, s.rank + 1), tiles = points ? (unsigned)gen_pick(g, 1, 1, 2) : 0;
    shape of = s, extents = {.rank = 0};
    of.rank = points;
    if (tiles + s.rank - points > 4) return NULL;
    for (unsigned i = 0; i < tiles; i++) extents.dims[extents.rank++] = gen_pick(g, 1, 2, 5, 9);
    for (unsigned d = points; d < s.rank; d++)
        extents.dims[extents.rank++] = extent_near(g, s.dims[d]);
    if (!extents.rank) return NULL;
    char text[400];
    snprintf(text, sizeof text, "%s[", gen_view(g, scalar, extents, "int"));
    for (unsigned i = 0; i < tiles; i++) {
        const char *at = index_tile(g, of);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? ", " : "", at);
    }
    for (unsigned d = points; d < s.rank; d++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                 d > points || tiles ? ", " : "", start(g, s.dims[d]));
    return gen_text("%s]", text);
}

static const char *alloc(gen *g, tile_scalar scalar, shape s) {
    const char *buffer = gen_name(g, "s");
    gen_say(g, "%s = alloc_shared : %s", buffer, gen_type("shared", scalar, s));
    return buffer;
}

static value meant_load(gen *g, tile_scalar scalar, shape s) {
    value v = gen_value(g, scalar, s, 1);
    const char *name = gen_text("%%a_%s", v.name + 1);
    char zeros[64] = "0";
    for (unsigned d = 1; d < s.rank; d++) strcat(zeros, ", 0");
    if (g->arguments.size) tool_append(", ", 2, &g->arguments);
    if (g->inputs.size) tool_append(", ", 2, &g->inputs);
    const char *view = gen_text("%s: %s", name, gen_type("view", scalar, s));
    const char *input = gen_text("%s: %s", v.name, gen_type("tensor", scalar, s));
    const char *given = gen_text(" --arg=%s=int", name + 1);
    tool_append(view, strlen(view), &g->arguments);
    tool_append(input, strlen(input), &g->inputs);
    tool_append(given, strlen(given), &g->values_text);
    g->argument_count++;
    gen_say(g, "%s = load %s[%s] : %s", v.name, name, zeros, gen_dims(s));
    return v;
}

/* A tile of windows: places and channels, or channels. */
static const char *window_element(gen *g, tile_scalar scalar, shape s) {
    const char *name = gen_name(g, "w");
    int rows = gen_pick(g, 1, 2, 3), columns = gen_pick(g, 1, 2, 3);
    shape e = {.rank = 4,
               .dims = {gen_pick(g, 1, 2, 3), rows + (int)gen_below(g, 5),
                        columns + (int)gen_below(g, 5), extent_near(g, s.dims[s.rank - 1])}};
    gen_say(g, "%s = im2col %s {filter = [%d, %d], strides = [%d, 1], pads = [%d, 0, -1, 2]}", name,
            gen_row_major_view(g, scalar, e, "int"), rows, columns, gen_pick(g, 1, 1, 2, 3),
            gen_pick(g, 0, 1, 2));
    return gen_text("%s[%d, %d, %s]", name, (int)gen_below(g, (uint32_t)(rows * columns)),
                    gen_pick(g, 0, 0, 1, 7, 20), start(g, s.dims[s.rank - 1]));
}

value gen_load(gen *g, tile_scalar scalar, shape s) {
    if (g->compute) return gen_input(g, scalar, s);
    if (g->meaning) return meant_load(g, scalar, s);
    const char *flags = "", *condition = "", *from = NULL;
    int pad = 0;
    bool storage = !tile_scalar_has_arithmetic(scalar);
    if (gen_chance(g, 25) && !storage) from = gathered_element(g, scalar, s);
    if (from && gen_chance(g, 40)) condition = gen_text(", %s", predicate(g, s));
    if (from && gen_chance(g, 50)) {
        pad = tile_scalar_is_unsigned(scalar) ? 1 : gen_pick(g, 1, -1);
        flags = gen_text(gen_is_float(scalar) ? " {pad = %d.0}" : " {pad = %d}", pad);
    } else if (gen_chance(g, 15)) {
        flags = gen_text(" {cache = %s}", gen_word(g, "evict_first", "evict_last", "no_allocate"));
    }
    if (!from && *flags && s.rank > 0 && s.rank <= 2) from = window_element(g, scalar, s);
    if (!from) {
        shape extents = input_extents(g, s);
        from = element(g, gen_view(g, scalar, extents, "int"), extents.rank, s);
    }
    value v = gen_value(g, scalar, s, 1);
    if (gen_chance(g, 65)) {
        gen_say(g, "%s = load %s%s%s : %s", v.name, from, condition, flags, gen_dims(s));
        return v;
    }
    bool staged = gen_chance(g, 30), background = g->plain && !*condition && gen_chance(g, 50);
    const char *buffer = gen_name(g, "s"), *stage = "";
    const char *type = gen_type("shared", scalar, s);
    if (staged) {
        int stages = gen_pick(g, 1, 2, 3);
        type = gen_text("shared<%s[%d]%s>", tile_scalar_name(scalar), stages, gen_dims(s));
        stage = gen_text("[%d]", gen_below(g, (uint32_t)stages));
    }
    gen_say(g, "%s = alloc_shared : %s", buffer, type);
    gen_say(g, "%s %s, %s%s%s%s", background ? "copy_async" : "copy", from, buffer, stage,
            condition, flags);
    if (background) {
        gen_say(g, "commit_group");
        gen_say(g, "wait_group 0");
    }
    gen_say(g, "%s = load_shared %s%s : %s", v.name, buffer, stage, gen_dims(s));
    if (gen_chance(g, 40)) gen_say(g, "free_shared %s", buffer);
    return v;
}

/* A prefetch has no effect on results. */
bool gen_prefetch(gen *g) {
    const value a = *gen_any(g);
    if (g->meaning || a.shape.rank > 4) return false;
    shape extents = input_extents(g, a.shape);
    const char *view = gen_view(g, a.scalar, extents, "int");
    gen_say(g, "prefetch_l2 %s, %s", element(g, view, extents.rank, a.shape), gen_dims(a.shape));
    return true;
}

/* Computes whether a load's elements are in bounds. */
bool gen_inside(gen *g) {
    const value a = *gen_any(g);
    if (g->meaning || a.shape.rank > 4) return false;
    shape extents = input_extents(g, a.shape);
    const char *view = gen_view(g, TILE_i32, extents, "int"), *condition = gen_name(g, "m");
    const value *b = gen_like(g, &a);
    gen_say(g, "%s = inside %s : %s", condition, element(g, view, extents.rank, a.shape),
            gen_dims(a.shape));
    value v = gen_value(g, a.scalar, a.shape,
                        a.small > b->small && b->small != ANYTHING ? a.small : b->small);
    if (a.small == ANYTHING) v.small = ANYTHING;
    gen_say(g, "%s = select %s, %s, %s", v.name, condition, a.name, b->name);
    gen_add(g, &v);
    return true;
}

/* Shared buffers ------------------------------------------------------------------------------ */

static value reload(gen *g, const value *a, const char *from) {
    value v = gen_value(g, a->scalar, a->shape, a->small);
    gen_say(g, "%s = load_shared %s : %s", v.name, from, gen_dims(a->shape));
    return v;
}

/* Gathers elements of a buffer with index tiles; the remaining dims start at scalar offsets. */
static bool picked(gen *g, const value *a) {
    const char *buffer = alloc(g, a->scalar, a->shape);
    unsigned tiles = a->shape.rank > 1 ? (unsigned)gen_pick(g, 1, 1, 2) : 1;
    shape points = {1, {gen_pick(g, 1, 2, 8, 16, 32)}}, result = points;
    char at[400] = "";
    for (unsigned i = 0; i < tiles; i++)
        snprintf(at + strlen(at), sizeof at - strlen(at), "%s%s", i ? ", " : "",
                 index_tile(g, points));
    for (unsigned d = tiles; d < a->shape.rank; d++) {
        result.dims[result.rank++] = a->shape.dims[d];
        snprintf(at + strlen(at), sizeof at - strlen(at), ", %s", start(g, a->shape.dims[d]));
    }
    const char *condition = gen_chance(g, 30) ? gen_text(", %s", predicate(g, result)) : "";
    value v = gen_value(g, a->scalar, result, a->small);
    gen_say(g, "store_shared %s, %s", a->name, buffer);
    gen_say(g, "%s = load %s[%s]%s : %s", v.name, buffer, at, condition, gen_dims(result));
    gen_add(g, &v);
    return true;
}

/* Passes a tile through a buffer as a whole, in parts, or by elements. */
bool gen_through_shared(gen *g) {
    const value a = *gen_any(g);
    if (g->meaning || a.scalar == TILE_i1) return false;
    if (gen_chance(g, 25)) return picked(g, &a);
    bool powers = true;
    for (unsigned d = 0; d < a.shape.rank; d++)
        powers &= (a.shape.dims[d] & (a.shape.dims[d] - 1)) == 0;
    if (a.shape.rank == 2 && powers && gen_chance(g, 40) && gen_elements(a.shape) <= 2048) {
        const value b = *gen_like(g, &a);
        unsigned axis = gen_below(g, 2);
        shape both = gen_with(a.shape, axis, 2 * a.shape.dims[axis]);
        const char *buffer = alloc(g, a.scalar, both);
        int half = a.shape.dims[axis];
        gen_say(g, "store_shared %s, %s[0, 0]", a.name, buffer);
        gen_say(g, "store_shared %s, %s[%d, %d]", b.name, buffer, axis ? 0 : half, axis ? half : 0);
        bool first = gen_chance(g, 50);
        value v = reload(
            g, first ? &a : &b,
            gen_text("%s[%d, %d]", buffer, axis || first ? 0 : half, !axis || first ? 0 : half));
        gen_add(g, &v);
        return true;
    }
    const char *buffer = alloc(g, a.scalar, a.shape);
    gen_say(g, "store_shared %s, %s", a.name, buffer);
    value v = reload(g, &a, buffer);
    if (gen_chance(g, 40)) gen_say(g, "free_shared %s", buffer);
    gen_add(g, &v);
    return true;
}

/* Atomic accesses ----------------------------------------------------------------------------- */

/* Atomic operations whose result does not depend on their order: sums of floats must be exact. */
static const char *atomic_kind(gen *g, const value *v) {
    if (!gen_is_float(v->scalar))
        return gen_word(g, "add", "add", "min", "max", "and", "or", "xor");
    bool exact = v->small != ANYTHING && v->small * 64 <= gen_limit(v->scalar);
    return exact && gen_chance(g, 70) ? "add" : gen_word(g, "min", "max");
}

static bool atomic_shared(gen *g, const value *a) {
    const value b = *gen_like(g, a);
    const char *buffer = alloc(g, a->scalar, a->shape), *condition = "";
    value old = gen_value(g, a->scalar, a->shape, a->small);
    gen_say(g, "store_shared %s, %s", a->name, buffer);
    bool swaps = gen_chance(g, 25);
    if (gen_chance(g, 30)) condition = gen_text(", %s", predicate(g, a->shape));
    if (swaps) {
        gen_say(g, "%s = atomic_cas %s, %s, %s%s", old.name, gen_like(g, a)->name, b.name, buffer,
                condition);
    } else {
        gen_say(g, "%s = atomic_%s %s, %s%s", old.name,
                gen_chance(g, 25) ? "exch" : atomic_kind(g, &b), b.name, buffer, condition);
    }
    value now = reload(g, a, buffer);
    now.small = ANYTHING;
    gen_add(g, &old);
    gen_add(g, &now);
    return true;
}

/* One atomic access per block; the result is uniform. */
static bool counter(gen *g) {
    const char *view = gen_view(g, TILE_i32, (shape){1, {gen_pick(g, 1, 3)}}, "int"),
               *old = gen_name(g, "o");
    gen_say(g, "%s = atomic_xor 0, %s[%s] {ordering = %s}", old, view, start(g, 1),
            gen_word(g, "relaxed", "release", "acquire", "acq_rel"));
    gen_add_index(g, old);
    return true;
}

bool gen_atomic(gen *g) {
    const value a = *gen_any(g);
    if (g->meaning || a.scalar == TILE_i1) return false;
    switch (gen_below(g, 4)) {
    case 0: return g->plain && counter(g);
    case 1:
    case 2: return atomic_shared(g, &a);
    default: break;
    }
    if (g->loops) return false; /* a sum would grow with each iteration */
    shape extents = input_extents(g, a.shape);
    const char *view = gen_view(g, a.scalar, extents, "int");
    gen_say(
        g, "atomic_%s %s, %s%s%s", atomic_kind(g, &a), a.name,
        element(g, view, extents.rank, a.shape),
        gen_chance(g, 25) ? gen_text(", %s", predicate(g, a.shape)) : "",
        gen_word(g, "", "", " {ordering = release}", " {ordering = acq_rel}", " {scope = sys}"));
    if (gen_chance(g, 20))
        gen_say(g, "fence%s", gen_word(g, "", " {ordering = sc}", " {scope = cta}"));
    return true;
}

/* Scratch, turns, barriers -------------------------------------------------------------------- */

/* Uses the block's own part of scratch memory. */
bool gen_scratch(gen *g) {
    const value a = *gen_any(g);
    if (g->meaning || !g->plain || a.shape.rank > 3 || a.scalar == TILE_i1) return false;
    const char *memory = gen_name(g, "w");
    shape all = {.rank = a.shape.rank + 2, .dims = {g->grid[0], g->grid[1]}};
    memcpy(&all.dims[2], a.shape.dims, a.shape.rank * sizeof *all.dims);
    char at[96];
    snprintf(at, sizeof at, "%s[%%x, %%y", memory);
    for (unsigned d = 0; d < a.shape.rank; d++) strcat(at, ", 0");
    gen_say(g, "%s = scratch %s : %s", memory, gen_dims(all), tile_scalar_name(a.scalar));
    gen_say(g, "store %s, %s]", a.name, at);
    value v = gen_value(g, a.scalar, a.shape, a.small);
    gen_say(g, "%s = load %s] : %s", v.name, at, gen_dims(a.shape));
    gen_add(g, &v);
    return true;
}

/* Blocks add to one location, in order: with a semaphore, or with a counter that they wait for. */
bool gen_turns(gen *g) {
    const value a = *gen_any(g);
    if (g->meaning || !g->plain || a.scalar == TILE_i1 || !tile_scalar_has_arithmetic(a.scalar))
        return false;
    const char *turns = gen_name(g, "w"), *number = gen_name(g, "t"), *row = gen_name(g, "t");
    int blocks = g->grid[0] * g->grid[1];
    g->turns = true;
    const char *view = gen_view(g, a.scalar, a.shape, "int");
    char zeros[64] = "0";
    for (unsigned d = 1; d < a.shape.rank; d++) strcat(zeros, ", 0");
    gen_say(g, "%s = scratch [1] {clean} : i32", turns);
    gen_say(g, "%s = mul %%y, %d", row, g->grid[0]);
    gen_say(g, "%s = add %s, %%x", number, row);
    if (gen_chance(g, 60))
        gen_say(g, "lock_semaphore %s[0], %s", turns, number);
    else
        gen_say(g, "wait_value %s[0], %s {compare = %s}", turns, number, gen_word(g, "eq", "ge"));
    value old = gen_value(g, a.scalar, a.shape, ANYTHING),
          new = gen_value(g, a.scalar, a.shape, ANYTHING);
    gen_say(g, "%s = load %s[%s] : %s", old.name, view, zeros, gen_dims(a.shape));
    gen_say(g, "%s = %s %s, %s", new.name, gen_word(g, "add", "sub", "max"), old.name, a.name);
    gen_say(g, "store %s, %s[%s]", new.name, view, zeros);
    const char *next = gen_name(g, "t"), *last = gen_name(g, "b"), *left = gen_name(g, "t");
    gen_say(g, "%s = add %s, 1", next, number);
    gen_say(g, "%s = eq %s, %d", last, next, blocks);
    gen_say(g, "%s = select %s, 0, %s", left, last, next);
    gen_say(g, "release_semaphore %s[0], %s", turns, left);
    gen_add(g, &old);
    return true;
}

/* Redundant barriers, and one phase of a barrier in shared memory. */
bool gen_barriers(gen *g) {
    if (g->meaning || !g->plain) return false;
    switch (gen_below(g, g->clusters ? 5 : 4)) {
    case 0: gen_say(g, "sync"); break;
    case 1: gen_say(g, g->clusters ? "fence_async" : "sync"); break;
    case 2: gen_say(g, "pdl_trigger"); break;
    case 3: gen_say(g, "pdl_wait"); break;
    default: {
        const char *bar = gen_name(g, "q");
        g->barriers = true;
        gen_say(g, "%s = alloc_barrier {count = %u} : shared<barrier[1]>", bar, g->warps);
        gen_say(g, "barrier_arrive %s[0]", bar);
        gen_say(g, "barrier_wait %s[0], 0", bar);
    }
    }
    return true;
}

/* Accesses the buffer of the other block in the cluster. */
bool gen_cluster(gen *g) {
    const value a = *gen_any(g);
    if (!g->cluster || !g->plain || a.scalar == TILE_i1) return false;
    const char *buffer = alloc(g, a.scalar, a.shape), *rank = gen_name(g, "r");
    const char *peer = gen_name(g, "r"), *theirs = gen_name(g, "s");
    value v = gen_value(g, a.scalar, a.shape, a.small);
    gen_say(g, "store_shared %s, %s", a.name, buffer);
    gen_say(g, "cluster_arrive");
    gen_say(g, "cluster_wait");
    gen_say(g, "%s = cluster_rank", rank);
    gen_say(g, "%s = xor %s, 1", peer, rank);
    gen_say(g, "%s = map_shared %s, %s", theirs, buffer, peer);
    gen_say(g, "%s = load_shared %s : %s", v.name, theirs, gen_dims(a.shape));
    gen_say(g, "cluster_arrive");
    gen_say(g, "cluster_wait");
    if (gen_chance(g, 30)) {
        const char *x = gen_name(g, "u"), *dim = gen_name(g, "u");
        gen_say(g, "%s = %s", x, gen_word(g, "cluster_id", "cluster_dim"));
        gen_say(g, "%s = add %s, 0", dim, x);
        gen_add_index(g, dim);
    }
    gen_add(g, &v);
    return true;
}

/* Scalars ------------------------------------------------------------------------------------- */

/* A tile's largest or smallest element. */
static bool whole_tile(gen *g, const char *name) {
    const value a = *gen_any(g);
    const char *left = a.name, *kind = gen_word(g, "min", "max");
    if (a.scalar != TILE_i32) return false;
    for (unsigned axis = 0; axis < a.shape.rank; axis++) {
        const char *reduced = gen_name(g, "r");
        gen_say(g, "%s = reduce_%s %s {axis = %u}", reduced, kind, left, axis);
        left = reduced;
    }
    gen_say(g, "%s = scalar %s", name, left);
    gen_add_index(g, name);
    return true;
}

/* Uniform i32 values: loads, arithmetic, properties of the grid, reduced tiles. */
bool gen_scalars(gen *g) {
    const char *name = gen_name(g, "u");
    if (g->meaning) return false;
    switch (gen_below(g, 5)) {
    case 4: return whole_tile(g, name);
    case 0: {
        const char *view = gen_view(g, TILE_i32, (shape){1, {gen_pick(g, 1, 4)}}, "int");
        gen_say(g, "%s = load %s[%s]", name, view, start(g, 1));
        break;
    }
    case 1:
        gen_say(g, "%s = %s %s, %d", name, gen_word(g, "add", "sub", "mul", "min", "and"),
                gen_index(g), gen_pick(g, 1, 2, 3));
        break;
    case 2: gen_say(g, "%s, %s, %s = grid_dim", name, gen_name(g, "u"), gen_name(g, "u")); break;
    default: gen_say(g, "%s = uniform %s", name, gen_index(g));
    }
    gen_add_index(g, name);
    return true;
}

/* Assertions and assumptions that hold, and output that is discarded. */
bool gen_assert_assume(gen *g) {
    const value *a = gen_any(g);
    const char *condition = gen_name(g, "b");
    if (g->meaning) return false;
    switch (gen_below(g, 3)) {
    case 0:
        if (a->small == ANYTHING || !tile_scalar_has_arithmetic(a->scalar) || a->small > 100)
            return false;
        gen_say(g, "%s = le %s, %s", condition, a->name, gen_number(a->scalar, (int)a->small));
        gen_say(g, "assert %s {text = \"bounds\"}", condition);
        break;
    case 1:
        gen_say(g, "%s = ge %%x, 0", condition);
        gen_say(g, "assume %s", condition);
        break;
    default:
        if (!g->inexact) return false; /* a GPU would write it to stdout */
        gen_say(g, "print %s {text = \"x\"}", gen_index(g));
    }
    return true;
}

/* Stores -------------------------------------------------------------------------------------- */

static void meant_store(gen *g, const value *v) {
    const char *name = gen_text("%%o_%s", v->name + 1);
    char zeros[64] = "0";
    for (unsigned d = 1; d < v->shape.rank; d++) strcat(zeros, ", 0");
    const char *view = gen_text(", %s: %s", name, gen_type("view", v->scalar, v->shape));
    const char *given = gen_text(" --arg=%s=poison", name + 1);
    const char *result = gen_text("%s%s: %s", g->results.size ? ", " : "", v->name,
                                  gen_type("tensor", v->scalar, v->shape));
    tool_append(view, strlen(view), &g->arguments);
    tool_append(given, strlen(given), &g->values_text);
    tool_append(result, strlen(result), &g->results);
    g->argument_count++;
    gen_say(g, "store %s, %s[%s]", v->name, name, zeros);
}

/* Each block stores to its own region; the last blocks reach out of bounds. */
void gen_store(gen *g, const value *v) {
    if (g->meaning) {
        meant_store(g, v);
        return;
    }
    bool lead = v->shape.rank < 2 || (v->shape.rank < 5 && gen_chance(g, 30));
    shape extents = {.rank = 0};
    char at[256] = "";
    if (lead) {
        extents = (shape){2, {g->grid[0], g->grid[1]}};
        strcpy(at, "%x, %y");
    }
    for (unsigned d = 0; d < v->shape.rank; d++) {
        bool blocks = !lead && d < 2;
        int size = (blocks ? g->grid[d] : 1) * v->shape.dims[d];
        int less = gen_pick(g, 0, 0, 1, 3, v->shape.dims[d] / 2);
        extents.dims[extents.rank++] = size > less ? size - less : 1;
        snprintf(at + strlen(at), sizeof at - strlen(at), "%s%s", *at ? ", " : "",
                 blocks ? gen_text("%%%c * %d", "xy"[d], v -> shape.dims[d]) : "0");
    }
    const char *view = gen_view(g, v->scalar, extents, "poison");
    const char *flags = gen_chance(g, 10) ? " {cache = evict_first}" : "";
    if (gen_chance(g, 25)) {
        const char *buffer = alloc(g, v->scalar, v->shape);
        gen_say(g, "store_shared %s, %s", v->name, buffer);
        gen_say(g, "copy %s, %s[%s]", buffer, view, at);
        return;
    }
    const char *condition = gen_chance(g, 15) ? gen_text(", %s", predicate(g, v->shape)) : "";
    gen_say(g, "store %s, %s[%s]%s%s", v->name, view, at, condition, flags);
}
