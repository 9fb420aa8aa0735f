/* Types and problem sizes of products. */
#include "tools/tile-bench/matmul/product.h"

#include <string.h>

/* Types --------------------------------------------------------------------------------------- */

static const bench_type types[] = {
#define TYPE(name, operand, result, precision, a, c, compute, scale, ...) \
    {#name, TILE_##operand, TILE_##result, #precision, a, c, compute, scale, {__VA_ARGS__}},
#include "tools/tile-bench/matmul/types.def"
#undef TYPE
};

static const bench_type *type_at(unsigned index) {
    return index < sizeof types / sizeof *types ? &types[index] : NULL;
}

const bench_type *bench_type_find(const char *name) {
    for (unsigned i = 0; type_at(i); i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

unsigned bench_type_peak(const bench_type *type, unsigned capability) {
    static const unsigned capabilities[BENCH_PEAKS] = {80, 86, 89, 90, 100, 120};
    for (unsigned i = 0; i < BENCH_PEAKS; i++)
        if (capabilities[i] == capability) return type->peak[i];
    return 0;
}

static const char *const trans_names[2][2] = {{"NN", "NT"}, {"TN", "TT"}};

bool bench_read_trans(const char *text, bench_product *product) {
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++)
            if (strcmp(text, trans_names[a][b]) == 0) {
                product->transposed_a = a;
                product->transposed_b = b;
                return true;
            }
    return false;
}

const char *bench_trans_name(const bench_product *product) {
    return trans_names[product->transposed_a][product->transposed_b];
}

tile_scalar bench_type_sum(const bench_type *type) {
    return type->operand == TILE_f64                ? TILE_f64
           : tile_scalar_is_floating(type->operand) ? TILE_f32
                                                    : TILE_i32;
}

bool bench_type_is_ieee(const bench_type *type) {
    return strcmp(type->precision, "ieee") == 0;
}

double bench_product_flop(const bench_product *product) {
    return 2.0 * (double)product->m * (double)product->n * (double)product->k;
}

double bench_product_read_bytes(const bench_product *product) {
    return (double)tile_scalar_bytes(product->type->operand) * (double)product->k *
           ((double)product->m + (double)product->n);
}

double bench_product_write_bytes(const bench_product *product) {
    return (double)tile_scalar_bytes(product->type->result) * (double)product->m *
           (double)product->n;
}
