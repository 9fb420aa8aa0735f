/* Arguments on the command line: scalars, generated arrays, files. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/arguments.h"

/* xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled").
 */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static double next_unit(uint64_t *state) {
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

static bool fail(const char *text, const char *why) {
    fprintf(stderr, "error: --arg %s: %s\n", text, why);
    return false;
}

static const struct {
    const char *name;
    fill fill;
} fills[] = {{"int", FILL_INT},
             {"rand", FILL_RAND},
             {"zeros", FILL_ZEROS},
             {"poison", FILL_POISON},
             {"values", FILL_VALUES}};

/* Parses what follows TYPE[DIMS]: the list of `values`, or which elements are finite. */
static bool parse_contents(const char *text, const char *at, run_argument *argument) {
    static const char marker[] = ":finite@";
    if (argument->fill == FILL_VALUES) {
        argument->values = at + 1;
        return *at == '=' || fail(text, "values:TYPE[DIMS] is followed by =LIST, as in =3,5*0");
    }
    if (!*at) return true;
    if (strncmp(at, marker, strlen(marker)) != 0)
        return fail(text, "the dims end with ']', and only :finite@DIM=RUNS may follow");
    argument->finite = at + strlen(marker);
    return tile_scalar_is_floating(argument->array.scalar) ||
           fail(text, "all integers are finite: use :finite@DIM=RUNS with a float type");
}

/* Parses TYPE[DIMS] and what follows. */
static bool parse_array(const char *text, const char *at, run_argument *argument) {
    host_array *array = &argument->array;
    size_t length = strcspn(at, "[");
    array->scalar = tile_scalar_from_name(at, length);
    if (array->scalar == TILE_SCALAR_NONE || at[length] != '[')
        return fail(text, "after the generator comes TYPE[DIMS], as in int:f16[128,64]");
    at += length + 1;
    for (array->rank = 0; *at && *at != ']';) {
        char *end;
        long long extent = strtoll(at, &end, 10);
        if (end == at || extent < 0 || array->rank == TILE_MAX_RANK)
            return fail(text, "the dims must be at most six numbers that are not negative");
        array->dims[array->rank++] = extent;
        at = end + (*end == ',');
    }
    if (*at != ']') return fail(text, "the dims end with ']'");
    return parse_contents(text, at + 1, argument);
}

static bool parse_scalar(const char *text, const char *value, run_argument *argument) {
    char *end;
    errno = 0;
    argument->integer = strtoll(value, &end, 0);
    argument->number = (double)argument->integer;
    if (errno && *value != '-') { /* a u64 from 2^63 is passed as its bits */
        errno = 0;
        argument->integer = (int64_t)strtoull(value, &end, 0);
        argument->number = (double)(uint64_t)argument->integer;
    }
    if (*end || errno) {
        argument->number = strtod(value, &end);
        bool fits = argument->number >= -0x1p63 && argument->number < 0x1p63;
        argument->integer = fits ? (int64_t)argument->number : 0;
    }
    if (end == value || *end)
        return fail(text, "the value must be a number; int, rand, zeros or poison for a view; "
                          "rand:f32[128,64] for a pointer; values:f32[3]=1,2,3; or @FILE.npy");
    return true;
}

bool argument_parse(const char *text, run_argument *argument) {
    const char *equals = strchr(text, '=');
    *argument = (run_argument){0};
    if (!equals || equals == text)
        return fail(text, "write NAME=VALUE, as in --arg n=128 or --arg x=rand");
    size_t length = (size_t)(equals - text);
    char *name = calloc(length + 1, 1);
    if (!name) return fail(text, "out of memory");
    memcpy(name, text, length);
    argument->name = name;
    const char *value = equals + 1;
    if (*value == '@') {
        argument->is_array = true;
        argument->fill = FILL_FILE;
        argument->path = value + 1;
        return true;
    }
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        size_t word = strlen(fills[i].name);
        if (strncmp(value, fills[i].name, word) == 0 && (value[word] == ':' || !value[word])) {
            argument->is_array = true;
            argument->fill = fills[i].fill;
            argument->shapeless = !value[word];
            if (argument->shapeless && argument->fill == FILL_VALUES)
                return fail(text, "give the type, the dims and the list: values:TYPE[DIMS]=LIST");
            return argument->shapeless || parse_array(text, value + word + 1, argument);
        }
    }
    return parse_scalar(text, value, argument);
}

run_argument *arguments_find(run_argument *arguments, unsigned count, const char *name,
                             size_t length) {
    for (unsigned i = 0; i < count; i++)
        if (strlen(arguments[i].name) == length && memcmp(arguments[i].name, name, length) == 0)
            return &arguments[i];
    return NULL;
}

static double poison_of(tile_scalar scalar) {
    if (tile_scalar_is_floating(scalar)) return NAN;
    return tile_scalar_is_unsigned(scalar) ? 179 : -77;
}

/* The second number of a filling with `int`: exact in sums. As an i8, a u8 of 128 is negative. */
static double other_than_one(tile_scalar scalar) {
    if (!tile_scalar_is_unsigned(scalar)) return -1;
    return tile_scalar_bits(scalar) == 8 ? 128 : 2;
}

static void fill_array(run_argument *argument, uint64_t *state, double density) {
    host_array *array = &argument->array;
    for (size_t i = 0; i < array->count; i++) {
        double value = 0;
        if (argument->fill == FILL_RAND)
            value = next_unit(state) - 0.5;
        else if (argument->fill == FILL_POISON)
            value = poison_of(array->scalar);
        else if (argument->fill == FILL_INT && next_unit(state) < density)
            value = next_random(state) >> 63 ? 1 : other_than_one(array->scalar);
        array_set(array, i, value);
    }
}

/* Reads a number of a list into an element: all bits of a 64-bit integer, which a double does not
 * hold. Returns the number's end. */
static const char *set_number(host_array *array, const char *at, size_t index, size_t count) {
    char *end, *whole_end;
    bool wide = !tile_scalar_is_floating(array->scalar) && tile_scalar_bits(array->scalar) == 64;
    double value = strtod(at, &end);
    errno = 0;
    int64_t whole = array->scalar == TILE_u64 ? (int64_t)strtoull(at, &whole_end, 10)
                                              : strtoll(at, &whole_end, 10);
    bool fits = !errno && whole_end == end && (array->scalar != TILE_u64 || *at != '-');
    for (size_t i = index; i < index + count; i++)
        if (wide && fits)
            memcpy(array->data + i * sizeof whole, &whole, sizeof whole);
        else
            array_set(array, i, value);
    return end;
}

/* Fills the array from the list of `values`, whose counts must add up to the array's elements. */
static bool fill_values(run_argument *argument) {
    host_array *array = &argument->array;
    size_t index = 0;
    for (const char *at = argument->values; *at;) {
        char *end;
        long long count = strtoll(at, &end, 10);
        const char *number = *end == '*' ? end + 1 : at;
        if (number == at) count = 1;
        bool fits = count >= 0 && (uint64_t)count <= array->count - index;
        const char *next = set_number(array, number, index, fits ? (size_t)count : 0);
        if (next == number || (*next && *next != ',') || !fits) break;
        index += (size_t)count;
        at = next + (*next == ',');
        if (!*at && index == array->count) return true;
    }
    return (!array->count && !*argument->values) ||
           fail(argument->name, "the list of values needs one number for each element, or "
                                "COUNT*NUMBER for several, separated by commas");
}

/* Stores a random infinity or NaN; NaN if the type cannot represent the infinity. */
static void set_nonfinite(host_array *array, size_t index, uint64_t *state) {
    const double numbers[] = {INFINITY, -INFINITY, NAN};
    array_set(array, index, numbers[next_random(state) % 3]);
    if (isfinite(array_get(array, index))) array_set(array, index, NAN);
}

/* Parses RUNS of DIM=RUNS: lengths of alternating finite and non-finite runs of indices along the
 * dim, the first one finite. Indices after the last run are of the opposite kind. Returns the end
 * of the list, or NULL if it is not a list of lengths. */
static const char *read_runs(const char *at, bool *finite, size_t extent) {
    size_t index = 0;
    bool is_finite = true;
    for (bool more = true; more; is_finite = !is_finite) {
        char *end;
        long long length = strtoll(at, &end, 10);
        if (end == at || length < 0) return NULL;
        for (; length > 0 && index < extent; length--) finite[index++] = is_finite;
        more = *end == ',';
        at = end + more;
    }
    while (index < extent) finite[index++] = is_finite;
    return at;
}

/* Stores infinities and NaNs where the index along the dim is in a non-finite run. About half of
 * the elements there are left unchanged, so that sums also meet single infinities. One list of runs
 * applies to all indices of the outermost dim; otherwise each of these indices has its own list,
 * separated by slashes. */
static bool put_nonfinite(run_argument *argument, uint64_t *state) {
    host_array *array = &argument->array;
    char *end;
    unsigned long dim = strtoul(argument->finite, &end, 10);
    bool ok = end != argument->finite && *end == '=' && dim < array->rank;
    size_t extent = ok ? (size_t)array->dims[dim] : 0, inner = 1;
    size_t parts = dim ? (size_t)array->dims[0] : 1;
    for (unsigned d = array->rank; d-- > dim + 1;) inner *= (size_t)array->dims[d];
    bool *finite = ok ? calloc(extent + 1, sizeof *finite) : NULL;
    const char *at = finite ? read_runs(end + 1, finite, extent) : NULL;
    bool same = at && !*at;
    for (size_t part = 0; part < parts && at; part++) {
        for (size_t i = 0; i < array->count / parts; i++)
            if (!finite[i / inner % extent] && next_random(state) >> 63)
                set_nonfinite(array, part * (array->count / parts) + i, state);
        if (!same && part + 1 < parts) at = *at == '/' ? read_runs(at + 1, finite, extent) : NULL;
    }
    free(finite);
    return (at && !*at) ||
           fail(argument->name, "finite@DIM=RUNS needs a dim of the array, and one list of "
                                "lengths, or one for each index of dim 0, separated by slashes");
}

/* The sum of n products of -1, 0 and 1 with density q has standard deviation q sqrt(n). The density
 * is chosen so that eight standard deviations stay below the limit. */
static double exact_sum_density(const run_argument *arguments, unsigned count, double limit) {
    int64_t depth = 1;
    for (unsigned i = 0; i < count; i++)
        for (unsigned d = 0; d < arguments[i].array.rank; d++)
            if (arguments[i].fill == FILL_INT && arguments[i].array.dims[d] > depth)
                depth = arguments[i].array.dims[d];
    double density = limit / (8 * sqrt((double)depth));
    return density < 2.0 / 3 ? density : 2.0 / 3;
}

bool argument_is_whole(const run_argument *a) {
    return (a->fill == FILL_INT || a->fill == FILL_ZEROS) && !a->finite;
}

/* A number from 2^63 is given as the bits of a u64. */
static bool fits(const run_argument *given, tile_scalar scalar) {
    unsigned bits = tile_scalar_bits(scalar);
    int64_t value = given->integer;
    bool is_large = value < 0 && given->number > 0;
    if (scalar == TILE_i1) return value == 0 || value == 1;
    if (tile_scalar_is_unsigned(scalar))
        return given->number >= 0 && (bits == 64 || (!is_large && value >> bits == 0));
    return !bits || (!is_large && value >> (bits - 1) == (value < 0 ? -1 : 0));
}

const void *argument_element(const run_argument *given, tile_scalar *type) {
    bool whole = argument_is_integer(given);
    *type = !whole ? TILE_f64 : given->number >= 0x1p63 ? TILE_u64 : TILE_i64;
    return whole ? (const void *)&given->integer : &given->number;
}

bool argument_fits(const run_argument *given, tile_scalar scalar) {
    if (fits(given, scalar)) return true;
    unsigned bits = tile_scalar_bits(scalar);
    bool is_signed = !tile_scalar_is_unsigned(scalar) && bits > 1;
    uint64_t most = UINT64_MAX >> (64 - bits + is_signed);
    fprintf(
        stderr,
        "error: %s: the number is outside of the range of the argument's type: %s holds %" PRId64
        " to %" PRIu64 "\n",
        given->name, tile_scalar_name(scalar), is_signed ? -(int64_t)most - 1 : 0, most);
    return false;
}

static void print_number(FILE *to, const run_argument *given) {
    char text[32];
    snprintf(text, sizeof text, "%g", given->number);
    if (!argument_is_integer(given) && strtod(text, NULL) == given->number)
        fputs(text, to);
    else if (!argument_is_integer(given))
        fprintf(to, "%.17g", given->number);
    else if (given->number >= 0x1p63)
        fprintf(to, "%" PRIu64, (uint64_t)given->integer);
    else
        fprintf(to, "%" PRId64, given->integer);
}

void arguments_print(FILE *to, const char *prefix, const run_argument *arguments, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (arguments[i].is_array) continue;
        fprintf(to, "%s%s=", prefix, arguments[i].name);
        print_number(to, &arguments[i]);
    }
}

bool argument_is_integer(const run_argument *given) {
    return given->number == (double)given->integer ||
           (given->number >= 0x1p63 && given->number == (double)(uint64_t)given->integer);
}

bool argument_is_given(const run_argument *a) {
    return a->fill == FILL_FILE || a->fill == FILL_VALUES || a->finite;
}

bool argument_read(run_argument *argument) {
    host_array *array = &argument->array;
    return argument->fill != FILL_FILE || array->data || npy_read(argument->path, array);
}

bool arguments_fill(run_argument *arguments, unsigned count, uint64_t seed, double limit) {
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    double density = exact_sum_density(arguments, count, limit);
    for (unsigned i = 0; i < count; i++) {
        if (!arguments[i].is_array) continue;
        if (arguments[i].fill == FILL_FILE) {
            if (!argument_read(&arguments[i])) return false;
            continue;
        }
        if (!array_allocate(&arguments[i].array)) return fail(arguments[i].name, "out of memory");
        if (arguments[i].fill == FILL_VALUES) {
            if (!fill_values(&arguments[i])) return false;
            continue;
        }
        fill_array(&arguments[i], &state, density);
        if (arguments[i].finite && !put_nonfinite(&arguments[i], &state)) return false;
    }
    return true;
}
