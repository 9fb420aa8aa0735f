/* Generates kernels of level 3: per-thread and per-warp code. */
#include <stdio.h>
#include <string.h>

#include "test/fuzz/random/random.h"

enum { MAX_ELEMENTS = 4 }; /* of a vector */

shape gen_vector(int elements) {
    return elements ? (shape){1, {elements}} : (shape){.rank = 0};
}

int gen_vector_elements(const value *v) {
    return v->shape.rank ? v->shape.dims[0] : 0;
}

const char *gen_vector_type(tile_scalar scalar, int elements) {
    return elements ? gen_text("vector<%s[%d]>", tile_scalar_name(scalar), elements)
                    : tile_scalar_name(scalar);
}

/* Returns this thread's elements of an array that has the same number for each thread. */
static const char *own_array(gen *g, tile_scalar scalar, int elements, const char *fill) {
    int count = g->grid[0] * (int)g->warps * 32 * (elements ? elements : 1);
    const char *name = gen_name(g, "p");
    if (g->arguments.size) tool_append(", ", 2, &g->arguments);
    const char *text = gen_text("%s: ptr<%s> {divisible = 16}", name, tile_scalar_name(scalar));
    const char *given =
        gen_text(" --arg=%s=%s:%s[%d]", name + 1, fill, tile_scalar_name(scalar), count);
    tool_append(text, strlen(text), &g->arguments);
    tool_append(given, strlen(given), &g->values_text);
    g->argument_count++;
    return name;
}

static const char *own_place(gen *g, int elements) {
    const char *at = gen_name(g, "o"), *wide = gen_name(g, "o");
    gen_say(g, "%s = mul %%id, %d", at, elements ? elements : 1);
    gen_say(g, "%s = cast %s : i64", wide, at);
    return wide;
}

static int draw_elements(gen *g, tile_scalar scalar) {
    int elements = gen_pick(g, 0, 0, 2, 4);
    return elements * (int)tile_scalar_bytes(scalar) > 16 ? 2 : elements;
}

static bool make_load(gen *g) {
    tile_scalar scalar = gen_scalar(g);
    int elements = draw_elements(g, scalar);
    const char *array = own_array(g, scalar, elements, "int"), *at = own_place(g, elements),
               *condition = "";
    if (gen_chance(g, 30)) {
        condition = gen_name(g, "b");
        gen_say(g, "%s = lt %%lane, %d", condition, gen_pick(g, 0, 7, 16, 32));
        condition = gen_text(", %s", condition);
    }
    value v = gen_value(g, scalar, gen_vector(elements), 1);
    gen_say(g, "%s = ld_global %s[%s]%s : %s", v.name, array, at, condition,
            gen_vector_type(scalar, elements));
    gen_add(g, &v);
    return true;
}

static void make_store(gen *g, const value *v) {
    int elements = gen_vector_elements(v);
    if (elements * (int)tile_scalar_bytes(v->scalar) > 16) return; /* too large for one store */
    const char *array = own_array(g, v->scalar, elements, "poison"), *at = own_place(g, elements);
    gen_say(g, "st_global %s, %s[%s]%s", v->name, array, at,
            gen_word(g, "", "", " {cache = evict_first}"));
}

/* Exchanges values between lanes; all lanes participate. */
static bool make_shuffle(gen *g) {
    const value a = *gen_any(g);
    const char *kind = gen_word(g, "idx", "up", "down", "xor"),
               *lane = gen_text("%d", gen_pick(g, 0, 1, 5, 16, 31));
    if (a.scalar == TILE_i1) return false;
    if (gen_chance(g, 30)) lane = "%lane";
    value v = gen_value(g, a.scalar, a.shape, a.small);
    gen_say(g, "%s = shfl_%s %s, %s", v.name, kind, a.name, lane);
    gen_add(g, &v);
    return true;
}

bool gen_redux(gen *g) {
    const value *a = gen_any(g);
    if ((a->scalar != TILE_i32 && a->scalar != TILE_u32) || gen_vector_elements(a)) return false;
    value v = gen_value(g, a->scalar, gen_vector(0), ANYTHING);
    gen_say(g, "%s = redux_%s %s", v.name, gen_word(g, "add", "min", "max", "and", "or", "xor"),
            a->name);
    gen_add(g, &v);
    return true;
}

bool gen_vote(gen *g) {
    const value a = *gen_any(g);
    if (gen_vector_elements(&a) || a.scalar == TILE_i1) return false;
    const char *condition = gen_name(g, "b"), *kind = gen_word(g, "any", "all", "ballot"),
               *said = gen_name(g, "b");
    gen_say(g, "%s = %s %s, %s", condition, gen_word(g, "lt", "ne", "ge"), a.name,
            gen_number(a.scalar, gen_pick(g, 0, 1)));
    gen_say(g, "%s = vote_%s %s", said, kind, condition);
    value v = gen_value(g, TILE_i32, gen_vector(0), ANYTHING);
    gen_say(g, strcmp(kind, "ballot") == 0 ? "%s = add %s, 0" : "%s = select %s, i32(1), i32(0)",
            v.name, said);
    gen_add(g, &v);
    return true;
}

bool gen_elect(gen *g) {
    const char *condition = gen_name(g, "b"), *one = gen_name(g, "z");
    value v = gen_value(g, TILE_i32, gen_vector(0), 1);
    if (!g->clusters) return false; /* requires sm_90 */
    gen_say(g, "%s = elect", condition);
    gen_say(g, "%s = select %s, i32(1), i32(0)", one, condition);
    gen_say(g, "sync_warp");
    gen_say(g, "%s = redux_add %s", v.name, one);
    gen_add(g, &v);
    return true;
}

bool gen_match(gen *g) {
    const value *a = gen_any(g);
    if (gen_vector_elements(a) || gen_is_float(a->scalar) || tile_scalar_bits(a->scalar) < 32)
        return false;
    value v = gen_value(g, TILE_i32, gen_vector(0), ANYTHING);
    gen_say(g, "%s = match %s", v.name, a->name);
    gen_add(g, &v);
    return true;
}

/* Permutes the vector's elements, with some duplicates. */
void gen_permute(gen *g, const value *a) {
    enum { MOST = 32 };
    const int elements = gen_vector_elements(a);
    value v = gen_value(g, a->scalar, a->shape, a->small);
    char order[4 * MOST + 1] = "";
    for (int i = 0; i < elements && i < MOST; i++)
        snprintf(order + strlen(order), sizeof order - strlen(order), "%s%u", i ? ", " : "",
                 gen_below(g, (uint32_t)elements));
    gen_say(g, "%s = permute %s {order = [%s]} : %s", v.name, a->name, order,
            gen_vector_type(a->scalar, elements));
    gen_add(g, &v);
}

static bool make_vectors(gen *g) {
    const value a = *gen_any(g);
    int elements = gen_vector_elements(&a);
    if (elements < 2) {
        const value b = *gen_like(g, &a);
        if (2 * (elements ? elements : 1) * (int)tile_scalar_bytes(a.scalar) > 16) return false;
        value v = gen_value(g, a.scalar, gen_vector(2 * (elements ? elements : 1)), ANYTHING);
        gen_say(g, "%s = concat %s, %s", v.name, a.name, b.name);
        gen_add(g, &v);
    } else if (gen_chance(g, 50)) {
        value v = gen_value(g, a.scalar, gen_vector(0), a.small);
        gen_say(g, "%s = extract %s, %d", v.name, a.name, (int)gen_below(g, (uint32_t)elements));
        gen_add(g, &v);
    } else {
        gen_permute(g, &a);
    }
    return true;
}

/* Passes values through shared memory, between barriers: another thread's element, or a sum of
 * all. */
static bool make_shared(gen *g) {
    const value a = *gen_any(g);
    int threads = (int)g->warps * 32, offset = (int)g->names % 4 * 8192;
    if (gen_vector_elements(&a) || a.scalar == TILE_i1) return false;
    const char *buffer = gen_name(g, "s"), *other = gen_name(g, "o"), *at = gen_name(g, "o");
    value v = gen_value(g, a.scalar, a.shape, a.small);
    gen_say(g, "%s = alloc_shared {offset = %d} : shared<%s[%d]>", buffer, offset,
            tile_scalar_name(a.scalar), threads);
    gen_say(g, "sync");
    gen_say(g, "st_shared %s, %s[%%t]", a.name, buffer);
    gen_say(g, "sync");
    gen_say(g, "%s = xor %%t, %d", other, gen_pick(g, 1, 16, 31, threads / 2));
    gen_say(g, "%s = and %s, %d", at, other, threads - 1);
    if (gen_chance(g, 40) &&
        (a.scalar == TILE_i32 || a.scalar == TILE_i64 || a.scalar == TILE_u32 ||
         a.scalar == TILE_u64 || (a.scalar == TILE_f32 && a.small != ANYTHING))) {
        gen_say(g, "%s = atomic_thread %s, %s[%s] {kind = %s}", gen_name(g, "z"), a.name, buffer,
                at, gen_word(g, "add", "max", "min"));
        gen_say(g, "sync");
        gen_say(g, "%s = ld_shared %s[%%t] : %s", v.name, buffer, tile_scalar_name(a.scalar));
        v.small = ANYTHING;
    } else {
        const char *condition =
            gen_chance(g, 30) ? gen_text(", %s", gen_word(g, "%t < 7", "%t != 3")) : "";
        gen_say(g, "%s = ld_shared %s[%s]%s : %s", v.name, buffer, at, condition,
                tile_scalar_name(a.scalar));
    }
    gen_say(g, "sync");
    gen_add(g, &v);
    return true;
}

static bool make_loop(gen *g) {
    const value a = *gen_any(g);
    if (g->loops) return false;
    value inner = gen_value(g, a.scalar, a.shape, ANYTHING),
          result = gen_value(g, a.scalar, a.shape, ANYTHING);
    bounds b = gen_bounds(g, gen_pick(g, 0, 1, 3), 1);
    gen_say(g, "%s = for %s = %s to %s step %s iter (%s = %s)%s {", result.name, gen_name(g, "k"),
            b.begin, b.end, b.step, inner.name, a.name, gen_word(g, "", " unroll (2)"));
    unsigned count = g->count;
    g->depth++;
    g->loops++;
    gen_add(g, &inner);
    for (unsigned i = 0; i < 3; i++) gen_elementwise(g);
    gen_say(g, "yield %s", gen_like(g, &inner)->name);
    g->count = count;
    g->depth--;
    g->loops--;
    gen_say(g, "}");
    gen_add(g, &result);
    return true;
}

void gen_thread_numbers(gen *g) {
    gen_say(g, "%%t = thread_id");
    gen_say(g, "%%lane = %s", gen_word(g, "lane_id", "and %t, 31"));
    gen_say(g, "%%warp = %s", gen_word(g, "warp_id", "shr %t, 5"));
}

void gen_threads(gen *g) {
    static bool (*const kinds[])(gen * g) = {
        gen_elementwise, gen_elementwise, gen_elementwise, gen_call,  gen_cast,
        gen_bitcast,     make_load,       make_shuffle,    gen_redux, gen_vote,
        gen_match,       make_vectors,    make_shared,     make_loop, gen_elect};
    gen_thread_numbers(g);
    gen_say(g, "%%first = mul %%x, %u", g->warps * 32);
    gen_say(g, "%%id = add %%first, %%t");
    value known[] = {{.name = "%t", .scalar = TILE_i32, .small = 1024},
                     {.name = "%lane", .scalar = TILE_i32, .small = 31},
                     {.name = "%warp", .scalar = TILE_i32, .small = 32}};
    for (unsigned i = 0; i < 3; i++) gen_add(g, &known[i]);
    make_load(g);
    make_load(g);
    unsigned wanted = 3 + gen_below(g, 10);
    for (unsigned made = 0, tries = 0;
         made < wanted && tries < 100 && g->argument_count < MAX_GEN_ARGUMENTS - 8; tries++)
        made += kinds[gen_below(g, sizeof kinds / sizeof *kinds)](g);
    unsigned last = g->count;
    for (unsigned i = 0; i < 4 && i < last; i++) make_store(g, &g->values[last - 1 - i]);
}
