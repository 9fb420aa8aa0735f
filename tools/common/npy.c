/* NumPy's .npy files, version 1.0: a magic, a Python dict in text, the elements. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/arguments.h"

/* A type is written as its first row says. NumPy has no names for bf16, e4m3 and e5m2. ml_dtypes
 * saves them as opaque bytes, which NumPy loads, and e5m2 also as f1, which NumPy does not load.
 * Opaque bytes, u1 and u2 may hold any type of their size. */
static const struct {
    const char *code;
    tile_scalar scalar;
    bool bytes;
} codes[] = {
    {"|b1", TILE_i1, false},   {"|i1", TILE_i8, false},  {"<i2", TILE_i16, false},
    {"<i4", TILE_i32, false},  {"<i8", TILE_i64, false}, {"|u1", TILE_u8, true},
    {"<u2", TILE_u16, true},   {"<u4", TILE_u32, false}, {"<u8", TILE_u64, false},
    {"<f2", TILE_f16, false},  {"<f4", TILE_f32, false}, {"<f8", TILE_f64, false},
    {"<V2", TILE_bf16, true},  {"|V2", TILE_bf16, true}, {"<V1", TILE_e4m3, true},
    {"|V1", TILE_e4m3, true},  {"<V1", TILE_e5m2, true}, {"<f1", TILE_e5m2, false},
    {"<f4", TILE_tf32, false},
};

bool array_allocate(host_array *array) {
    array->count = 1;
    for (unsigned d = 0; d < array->rank; d++) {
        if (array->dims[d] && array->count > SIZE_MAX / 16 / (size_t)array->dims[d]) return false;
        array->count *= (size_t)array->dims[d];
    }
    array->data = calloc(array->count ? array->count : 1, tile_scalar_bytes(array->scalar));
    return array->data != NULL;
}

double array_get(const host_array *array, size_t index) {
    return tile_scalar_read(array->scalar, array->data + index * tile_scalar_bytes(array->scalar));
}

double array_root_mean_square(const host_array *array) {
    double largest = 0, sum = 0;
    for (size_t i = 0; i < array->count; i++) {
        double value = fabs(array_get(array, i));
        if (isfinite(value) && value > largest) largest = value;
    }
    for (size_t i = 0; largest > 0 && i < array->count; i++) {
        double value = array_get(array, i) / largest; /* squares overflow f64 */
        sum += isfinite(value) ? value * value : 0;
    }
    return largest > 0 ? largest * sqrt(sum / (double)array->count) : 0;
}

void array_set(host_array *array, size_t index, double value) {
    tile_scalar_write(array->scalar, array->data + index * tile_scalar_bytes(array->scalar), value);
}

static bool fail(const char *path, const char *why) {
    fprintf(stderr, "error: %s: %s\n", path, why);
    return false;
}

/* {'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), } */
static bool parse_header(const char *path, const char *header, host_array *array) {
    const char *descr = strstr(header, "'descr'"), *shape = strstr(header, "'shape'");
    const char *fortran = strstr(header, "'fortran_order'");
    if (!descr || !shape || !fortran) return fail(path, "its header is not that of a .npy file");
    const char *code = descr + 7 + strspn(descr + 7, ": ");
    bool plain = *code == '\'' && strcspn(code + 1, "'") == 3; /* [('x', '<f4')] is a record */
    array->scalar = TILE_SCALAR_NONE;
    for (size_t i = 0; plain && i < sizeof codes / sizeof *codes; i++)
        if (array->scalar == TILE_SCALAR_NONE && strncmp(code + 1, codes[i].code, 3) == 0) {
            array->scalar = codes[i].scalar;
            array->bytes = codes[i].bytes;
        }
    if (array->scalar == TILE_SCALAR_NONE)
        return fail(path,
                    "its element type is not one of b1 i1 i2 i4 i8 f2 f4 f8, little-endian, nor "
                    "bytes: V1 (or u1, f1) of e4m3 and e5m2, V2 (or u2) of bf16");
    const char *order = strpbrk(fortran + 15, "TF");
    if (!order || *order == 'T') return fail(path, "it is in Fortran order; save it in C order");
    const char *at = strchr(shape, '(');
    for (array->rank = 0; at && *at != ')';) {
        at += strspn(at, "(, ");
        if (*at == ')' || !*at) break;
        char *end;
        long long extent = strtoll(at, &end, 10);
        if (end == at || extent < 0 || array->rank == TILE_MAX_RANK)
            return fail(path, "its shape has more than four extents");
        array->dims[array->rank++] = extent;
        at = end;
    }
    return at != NULL || fail(path, "it has no shape");
}

static bool read_all(const char *path, FILE *file, host_array *array) {
    unsigned char start[10];
    char header[65536];
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0 || start[6] != 1)
        return fail(path, "it is not a .npy file of version 1");
    size_t length = start[8] | (size_t)start[9] << 8;
    if (fread(header, 1, length, file) != length) return fail(path, "it ends in its header");
    header[length < sizeof header ? length : sizeof header - 1] = 0;
    if (!parse_header(path, header, array)) return false;
    if (!array_allocate(array)) return fail(path, "out of memory");
    size_t bytes = array->count * tile_scalar_bytes(array->scalar);
    return fread(array->data, 1, bytes, file) == bytes ||
           fail(path, "it ends before its last element");
}

bool npy_read(const char *path, host_array *array) {
    FILE *file = fopen(path, "rb");
    if (!file) return fail(path, strerror(errno));
    bool ok = read_all(path, file, array);
    fclose(file);
    return ok;
}

void npy_take_type(host_array *array, tile_scalar scalar) {
    if (!array->bytes || tile_scalar_bytes(scalar) != tile_scalar_bytes(array->scalar)) return;
    if (tile_scalar_is_floating(scalar)) array->scalar = scalar;
}

bool npy_write(const char *path, const host_array *array) {
    const char *code = NULL;
    for (size_t i = 0; i < sizeof codes / sizeof *codes && !code; i++)
        if (codes[i].scalar == array->scalar) code = codes[i].code;
    if (!code) return fail(path, "NumPy has no name for this element type");
    char header[512];
    int at =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", code);
    for (unsigned d = 0; d < array->rank; d++)
        at += snprintf(header + at, sizeof header - (size_t)at, "%" PRId64 ",%s", array->dims[d],
                       d + 1 < array->rank ? " " : "");
    at += snprintf(header + at, sizeof header - (size_t)at, "), }");
    int padded = (10 + at + 1 + 63) / 64 * 64 - 10; /* the elements begin at a multiple of 64 */
    const unsigned char start[10] = {0x93,
                                     'N',
                                     'U',
                                     'M',
                                     'P',
                                     'Y',
                                     1,
                                     0,
                                     (unsigned char)(padded & 255),
                                     (unsigned char)(padded >> 8)};
    FILE *file = fopen(path, "wb");
    if (!file) return fail(path, strerror(errno));
    size_t bytes = array->count * tile_scalar_bytes(array->scalar);
    bool ok = fwrite(start, 1, 10, file) == 10 &&
              fprintf(file, "%-*s\n", padded - 1, header) == padded &&
              fwrite(array->data, 1, bytes, file) == bytes;
    ok &= fclose(file) == 0;
    return ok || fail(path, "it could not be written");
}
