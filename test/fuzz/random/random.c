/* Random draws, names, types and arguments. */
#include "test/fuzz/random/random.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* xorshift64* (Vigna). */
uint32_t gen_below(gen *g, uint32_t limit) {
    g->state ^= g->state >> 12;
    g->state ^= g->state << 25;
    g->state ^= g->state >> 27;
    uint64_t drawn = g->state * UINT64_C(2685821657736338717) >> 33;
    return (uint32_t)(drawn % limit);
}

bool gen_chance(gen *g, unsigned percent) {
    return gen_below(g, 100) < percent;
}

const char *gen_text(const char *format, ...) {
    enum { TEXTS = 1 << 14, LENGTH = 512 };
    static char texts[TEXTS][LENGTH];
    static unsigned next;
    char *text = texts[next++ % TEXTS];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, LENGTH, format, rest);
    va_end(rest);
    return text;
}

void gen_say(gen *g, const char *format, ...) {
    char line[1024];
    va_list rest;
    va_start(rest, format);
    int length = vsnprintf(line, sizeof line - 1, format, rest);
    va_end(rest);
    for (unsigned i = 0; i <= g->depth; i++) tool_append("  ", 2, &g->lines);
    tool_append(line, (size_t)length, &g->lines);
    tool_append("\n", 1, &g->lines);
}

const char *gen_name(gen *g, const char *stem) {
    return gen_text("%%%s%u", stem, ++g->names);
}

/* Types --------------------------------------------------------------------------------------- */

const char *gen_dims(shape s) {
    char text[128] = "[";
    for (unsigned d = 0; d < s.rank; d++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", d ? ", " : "",
                 gen_extent(s.dims[d]));
    return gen_text("%s]", text);
}

const char *gen_array(gen *g, tile_scalar scalar, shape s) {
    return gen_text("%s<%s%s>", g->compute ? "tensor" : "tile", tile_scalar_name(scalar),
                    gen_spelled_dims(g, s));
}

const char *gen_type(const char *kind, tile_scalar scalar, shape s) {
    return gen_text("%s<%s%s>", kind, tile_scalar_name(scalar), gen_dims(s));
}

/* Draws powers of two, with odd factors in some dims; at most a few thousand elements. */
shape gen_shape(gen *g) {
    enum { MAX_ELEMENTS = 2048 };
    shape s = {.rank = (unsigned)gen_pick(g, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 4)};
    unsigned odd = (unsigned)gen_pick(g, 0, 40, 90);
    if (g->meaning) odd = gen_chance(g, 30) ? 50 : 0;
    for (unsigned d = 0; d < s.rank; d++) {
        switch (s.rank) {
        case 1:
            s.dims[d] = gen_chance(g, odd) ? gen_pick(g, 3, 31, 48, 96, 100, 192, 272, 768)
                                           : gen_pick(g, 1, 2, 16, 32, 64, 128, 256, 1024);
            break;
        case 2:
            s.dims[d] = gen_chance(g, odd) ? gen_pick(g, 3, 6, 12, 24, 40, 48, 80, 62)
                                           : gen_pick(g, 1, 2, 4, 8, 16, 32, 64);
            break;
        default: s.dims[d] = gen_chance(g, odd) ? gen_pick(g, 3, 5, 6) : gen_pick(g, 1, 2, 4, 8);
        }
        while (gen_elements(s) > MAX_ELEMENTS * 2 && s.dims[d] % 2 == 0) s.dims[d] /= 2;
    }
    return s;
}

shape gen_with(shape s, unsigned dim, int extent) {
    s.dims[dim] = extent;
    return s;
}

void gen_turn(shape *s) {
    int swap = s->dims[s->rank - 1];
    s->dims[s->rank - 1] = s->dims[s->rank - 2];
    s->dims[s->rank - 2] = swap;
}

bool gen_same_shape(shape a, shape b) {
    return a.rank == b.rank && memcmp(a.dims, b.dims, a.rank * sizeof *a.dims) == 0;
}

int64_t gen_elements(shape s) {
    int64_t count = 1;
    for (unsigned d = 0; d < s.rank; d++) count *= s.dims[d] ? s.dims[d] : 1;
    return count;
}

bool gen_is_float(tile_scalar scalar) {
    return tile_scalar_is_floating(scalar);
}

tile_scalar gen_scalar(gen *g) {
    static const tile_scalar scalars[] = {TILE_i8,  TILE_i16,  TILE_i32, TILE_i32, TILE_i64,
                                          TILE_u8,  TILE_u16,  TILE_u32, TILE_u64, TILE_f16,
                                          TILE_f16, TILE_bf16, TILE_f32, TILE_f32, TILE_f64};
    return scalars[gen_below(g, sizeof scalars / sizeof *scalars)];
}

int64_t gen_limit(tile_scalar scalar) {
    if (gen_is_float(scalar))
        return INT64_C(1) << (tile_scalar_mantissa(scalar) + 1 < 40
                                  ? tile_scalar_mantissa(scalar) + 1
                                  : 40);
    unsigned bits = tile_scalar_bits(scalar);
    unsigned digits = tile_scalar_is_unsigned(scalar) ? bits : bits - 1;
    return bits >= 40 ? INT64_C(1) << 40 : (INT64_C(1) << digits) - 1;
}

/* Values -------------------------------------------------------------------------------------- */

/* An unsigned value counts as ANYTHING: a difference may wrap. */
value gen_value(gen *g, tile_scalar scalar, shape s, int64_t small) {
    if (tile_scalar_is_unsigned(scalar)) small = ANYTHING;
    value v = {.scalar = scalar, .shape = s, .small = small > gen_limit(scalar) ? ANYTHING : small};
    snprintf(v.name, sizeof v.name, "%s", gen_name(g, "v"));
    return v;
}

void gen_add(gen *g, const value *v) {
    if (g->count < MAX_VALUES) g->values[g->count++] = *v;
}

/* Later values are more likely. */
const value *gen_any(gen *g) {
    unsigned count = g->count - g->first;
    if (count > 4 && gen_chance(g, 50)) return &g->values[g->count - 1 - gen_below(g, 4)];
    return &g->values[g->first + gen_below(g, count)];
}

const value *gen_like(gen *g, const value *v) {
    for (unsigned tries = 0; tries < 12; tries++) {
        const value *other = gen_any(g);
        if (other->scalar == v->scalar && gen_same_shape(other->shape, v->shape)) return other;
    }
    return v;
}

const char *gen_number(tile_scalar scalar, int number) {
    if (tile_scalar_is_unsigned(scalar)) number = abs(number);
    return gen_text(gen_is_float(scalar) ? "%s(%d.0)" : "%s(%d)", tile_scalar_name(scalar), number);
}

/* Indices and arguments ----------------------------------------------------------------------- */

const char *gen_index(gen *g) {
    return g->index_count ? g->indices[gen_below(g, g->index_count)] : "0";
}

void gen_add_index(gen *g, const char *name) {
    if (g->index_count < sizeof g->indices / sizeof *g->indices)
        snprintf(g->indices[g->index_count++], sizeof *g->indices, "%s", name);
}

static void add_argument(gen *g, const char *name, const char *type, const char *given) {
    if (g->arguments.size) tool_append(", ", 2, &g->arguments);
    tool_append(name, strlen(name), &g->arguments);
    tool_append(": ", 2, &g->arguments);
    tool_append(type, strlen(type), &g->arguments);
    const char *word = gen_text(" --arg=%s=%s", name + 1, given);
    tool_append(word, strlen(word), &g->values_text);
    g->argument_count++;
}

const char *gen_argument(gen *g, int number, int divisible) {
    const char *name = gen_name(g, "n"), *note = "";
    if (divisible > 1) note = gen_text(" {divisible = %d}", divisible);
    add_argument(g, name, gen_text("i32%s", note), gen_text("%d", number));
    return name;
}

/* Returns an extent or stride as an argument or a number. */
static const char *extent_text(gen *g, int64_t extent) {
    if (g->argument_count > MAX_GEN_ARGUMENTS - 12 || gen_chance(g, 45))
        return gen_text("%lld", (long long)extent);
    int divisible = gen_pick(g, 1, 1, 2, 4, 8, 16);
    return gen_argument(g, (int)extent, extent && extent % divisible == 0 ? divisible : 1);
}

/* Draws strides: row-major, column-major, or with gaps. Returns the number of elements spanned. */
static int64_t make_strides(gen *g, shape extents, int64_t strides[MAX_RANK]) {
    bool turned = gen_chance(g, 45);
    int64_t step = gen_chance(g, 75) ? 1 : gen_pick(g, 2, 3), span = 1;
    for (unsigned i = 0; i < extents.rank; i++) {
        unsigned d = turned ? i : extents.rank - 1 - i;
        strides[d] = step;
        span += (extents.dims[d] - 1) * step;
        step = step * extents.dims[d] + gen_pick(g, 0, 0, 0, 1, 3, 8);
    }
    return span;
}

static const char *make_view(gen *g, tile_scalar scalar, shape extents, const char *fill,
                             bool strided) {
    const char *pointer = gen_name(g, "p"), *type = tile_scalar_name(scalar);
    int64_t strides[MAX_RANK], span = gen_elements(extents);
    char shape_text[400] = "[", stride_text[400] = "";
    if (strided) span = make_strides(g, extents, strides);
    for (unsigned d = 0; d < extents.rank; d++)
        snprintf(shape_text + strlen(shape_text), sizeof shape_text - strlen(shape_text), "%s%s",
                 d ? ", " : "", extent_text(g, extents.dims[d]));
    for (unsigned d = 0; d < extents.rank && strided; d++)
        snprintf(stride_text + strlen(stride_text), sizeof stride_text - strlen(stride_text),
                 "%s%s", d ? ", " : "", extent_text(g, strides[d]));
    const char *notes =
        gen_word(g, "", "", " {noalias}", " {divisible = 8}", " {divisible = 4, noalias}");
    const char *array = gen_text("%s:%s[%lld]", fill, type, (long long)(span > 0 ? span : 1));
    if (gen_chance(g, 60)) {
        const char *behind = strided ? gen_text(", strides [%s]", stride_text) : "";
        add_argument(g, pointer, gen_text("view<%s%s]%s>%s", type, shape_text, behind, notes),
                     array);
        return pointer;
    }
    add_argument(g, pointer, gen_text("ptr<%s>%s", type, notes), array);
    const char *name = gen_name(g, "g");
    gen_say(g, "%s = view %s, %s]%s", name, pointer, shape_text,
            strided ? gen_text(", [%s]", stride_text) : "");
    return name;
}

const char *gen_view(gen *g, tile_scalar scalar, shape extents, const char *fill) {
    return make_view(g, scalar, extents, fill, gen_chance(g, 40));
}

const char *gen_row_major_view(gen *g, tile_scalar scalar, shape extents, const char *fill) {
    return make_view(g, scalar, extents, fill, false);
}
