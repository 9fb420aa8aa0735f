/* For each row of ops.def: every elementwise operation, for every element type, has the same
 * results at level 1, at levels 2 and 3 on the CPU device and in the constant folder, and compiles
 * to PTX. Or it is refused at all of them with a message that names the operation or the type. */
#include <math.h>

#include "lib/analysis/range.h"
#include "lib/ir/function.h"
#include "lib/support/scalar.h"
#include "test/unit/text_fixture.h"
#include "tile/compute.h"
#include "tile/device.h"

enum { N = 64, MAX_ARITY = 3 };

/* One case: operand types and elements, and the result's type. */
typedef struct sample {
    const char *op, *attributes;
    unsigned arity;
    bool scalar_operand; /* splat */
    tile_scalar from[MAX_ARITY], to;
    unsigned char operands[MAX_ARITY][N * 8];
} sample;

/* Numbers that test wrapping, signs, rounding and NaN. Large ones are exact in f64. */
static const double integers[] = {0,  1,   -1,   2,   -3,  5,     7,     -8,
                                  13, 100, -128, 127, 255, -1000, 32767, 99};
static const double floats[] = {0.0,  -0.0,    1.0,      -1.0,     0.5,  -1.5, 3.0,    -7.25,
                                96.0, 0.09375, -448.0,   1.0 / 3,  1e-3, -2.5, 1e4,    NAN,
                                1e-7, 65504.0, INFINITY, -1.0 / 7, 6.0,  -0.1, -3e-39, 240.0};

static double number_of(tile_scalar scalar, unsigned operand, unsigned i) {
    unsigned spread = operand == 0 ? i : operand == 1 ? i * 7 + i / 16 : i * 5 + 3;
    if (tile_scalar_is_floating(scalar)) return floats[spread % (sizeof floats / sizeof *floats)];
    return integers[spread % (sizeof integers / sizeof *integers)];
}

/* Avoids operands for which ops.def leaves the result undefined. */
static double keep_defined(tile_opcode opcode, tile_scalar scalar, double number) {
    if (tile_scalar_is_floating(scalar)) return number;
    unsigned bits = tile_scalar_bits(scalar);
    bool divides = opcode == TILE_OP_div || opcode == TILE_OP_rem || opcode == TILE_OP_mod;
    if (opcode == TILE_OP_ceildiv)
        return scalar == TILE_i1 ? 1 : fabs(number) < 1 ? 1 : fmod(fabs(number), 100) + 1;
    if (divides && (scalar == TILE_i1 || number == 0)) return 1;
    if (divides) return fmod(number, 100) == 0 ? 3 : fmod(number, 100);
    if (opcode == TILE_OP_shl || opcode == TILE_OP_shr || opcode == TILE_OP_ushr)
        return fmod(fabs(number), bits);
    return number;
}

static void fill(sample *s, tile_opcode opcode) {
    for (unsigned k = 0; k < s->arity; k++)
        for (unsigned i = 0; i < N; i++) {
            unsigned char *at = s->operands[k] + i * tile_scalar_bytes(s->from[k]);
            double number = number_of(s->from[k], k, i);
            if (k == 1) number = keep_defined(opcode, s->from[k], number);
            if (opcode == TILE_OP_ushr && s->from[k] == TILE_i64) /* larger values do not fit f64 */
                number = fabs(number);
            if (s->from[k] == TILE_i1) number = fmod(fabs(number), 2) >= 1;
            tile_scalar_write(s->from[k], at, number);
        }
}

/* Texts ---------------------------------------------------------------------------------------- */

static const char *const letters[MAX_ARITY] = {"a", "b", "c"};

static const char *compute_text(text_fixture *x, const sample *s) {
    text_buffer b = {.arena = &x->arena};
    char piece[128];
    text_append("compute @f(", 11, &b);
    for (unsigned k = 0; k < s->arity; k++) {
        snprintf(piece, sizeof piece, s->scalar_operand ? "%s%%%s: %s" : "%s%%%s: tensor<%s[64]>",
                 k ? ", " : "", letters[k], tile_scalar_name(s->from[k]));
        text_append(piece, strlen(piece), &b);
    }
    snprintf(piece, sizeof piece, ") -> (%%r: tensor<%s[64]>) {\n  %%r = %s ",
             tile_scalar_name(s->to), s->op);
    text_append(piece, strlen(piece), &b);
    for (unsigned k = 0; k < s->arity; k++) {
        snprintf(piece, sizeof piece, "%s%%%s", k ? ", " : "", letters[k]);
        text_append(piece, strlen(piece), &b);
    }
    snprintf(piece, sizeof piece, " %s : tensor<%s[64]>\n}\n", s->attributes,
             tile_scalar_name(s->to));
    text_append(piece, strlen(piece), &b);
    return b.data;
}

static const char *kernel_text(text_fixture *x, const sample *s) {
    text_buffer b = {.arena = &x->arena};
    char piece[256];
    text_append("kernel @k(", 10, &b);
    for (unsigned k = 0; k < s->arity; k++) {
        snprintf(piece, sizeof piece, s->scalar_operand ? "%%p%s: %s, " : "%%p%s: ptr<%s>, ",
                 letters[k], tile_scalar_name(s->from[k]));
        text_append(piece, strlen(piece), &b);
    }
    snprintf(piece, sizeof piece, "%%pr: ptr<%s>) grid [1] warps 1 {\n", tile_scalar_name(s->to));
    text_append(piece, strlen(piece), &b);
    for (unsigned k = 0; k < s->arity && !s->scalar_operand; k++) {
        snprintf(
            piece, sizeof piece,
            "  %%g%s = view %%p%s, [64] : view<%s[64]>\n  %%%s = load %%g%s[0] : tile<%s[64]>\n",
            letters[k], letters[k], tile_scalar_name(s->from[k]), letters[k], letters[k],
            tile_scalar_name(s->from[k]));
        text_append(piece, strlen(piece), &b);
    }
    snprintf(piece, sizeof piece, "  %%r = %s ", s->op);
    text_append(piece, strlen(piece), &b);
    for (unsigned k = 0; k < s->arity; k++) {
        snprintf(piece, sizeof piece, "%s%%%s%s", k ? ", " : "", s->scalar_operand ? "p" : "",
                 letters[k]);
        text_append(piece, strlen(piece), &b);
    }
    snprintf(
        piece, sizeof piece,
        " %s : tile<%s[64]>\n  %%gr = view %%pr, [64] : view<%s[64]>\n  store %%r, %%gr[0]\n}\n",
        s->attributes, tile_scalar_name(s->to), tile_scalar_name(s->to));
    text_append(piece, strlen(piece), &b);
    return b.data;
}

/* Runs ----------------------------------------------------------------------------------------- */

/* Returns false if it is refused. */
static bool run_compute(text_fixture *x, const sample *s, void *result) {
    const char *text = compute_text(x, s);
    tile_module *module = text_parse(x, text);
    if (!module) return false;
    tile_compute_array in[MAX_ARITY], out = {s->to, 1, {N}, result};
    for (unsigned k = 0; k < s->arity; k++)
        in[k] = (tile_compute_array){s->from[k], !s->scalar_operand, {N}, (void *)s->operands[k]};
    tile_status status = tile_compute_run(tile_module_function(module, 0), in, s->arity, &out, 1);
    tile_module_destroy(module);
    return status == TILE_OK;
}

static bool run_kernel(text_fixture *x, const sample *s, unsigned level, void *result) {
    tile_module *module = text_parse(x, kernel_text(x, s));
    if (!module) return false;
    tile_device_options options = {.size = sizeof options, .level = level, .host_math = true};
    tile_device *device = NULL;
    tile_kernel *kernel = NULL;
    tile_argument arguments[MAX_ARITY + 1] = {{0}};
    cr_assert_eq(tile_device_create_cpu(x->context, &options, &device), TILE_OK);
    for (unsigned k = 0; k <= s->arity; k++) {
        bool is_result = k == s->arity;
        unsigned bytes = N * tile_scalar_bytes(is_result ? s->to : s->from[k]);
        if (s->scalar_operand && !is_result) {
            arguments[k].number = tile_scalar_read(s->from[k], s->operands[k]);
            arguments[k].integer =
                (int64_t)(isfinite(arguments[k].number) ? arguments[k].number : 0);
            continue;
        }
        cr_assert_eq(tile_buffer_create(device, bytes, &arguments[k].buffer), TILE_OK);
        if (!is_result)
            cr_assert_eq(tile_buffer_write(arguments[k].buffer, 0, s->operands[k], bytes), TILE_OK);
    }
    tile_status status = tile_kernel_create(device, module, "k", NULL, 0, &kernel);
    if (status == TILE_OK) {
        status = tile_kernel_launch(kernel, arguments, s->arity + 1, NULL);
        if (status == TILE_OK)
            cr_assert_eq(tile_buffer_read(arguments[s->arity].buffer, 0, result,
                                          N * tile_scalar_bytes(s->to)),
                         TILE_OK);
    }
    tile_kernel_destroy(kernel);
    for (unsigned k = 0; k <= s->arity; k++) tile_buffer_destroy(arguments[k].buffer);
    tile_device_destroy(device);
    tile_module_destroy(module);
    return status == TILE_OK;
}

static bool emit_ptx(text_fixture *x, const sample *s) {
    tile_module *module = text_parse(x, kernel_text(x, s));
    if (!module) return false;
    tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_90a")};
    tile_blob ptx = {NULL, 0};
    tile_status status = tile_compile(module, "k", NULL, 0, &options, &ptx, NULL);
    tile_blob_destroy(&ptx);
    tile_module_destroy(module);
    return status == TILE_OK;
}

/* Checks --------------------------------------------------------------------------------------- */

static bool same_number(tile_scalar scalar, const unsigned char *a, const unsigned char *b) {
    double x = tile_scalar_read(scalar, a), y = tile_scalar_read(scalar, b);
    if (tile_scalar_is_floating(scalar) && isnan(x) && isnan(y)) return true;
    return memcmp(a, b, tile_scalar_bytes(scalar)) == 0;
}

static void expect_same(const sample *s, const unsigned char *level_1, const unsigned char *other,
                        const char *what) {
    unsigned size = tile_scalar_bytes(s->to);
    for (unsigned i = 0; i < N; i++)
        cr_expect(same_number(s->to, level_1 + i * size, other + i * size),
                  "%s of %s to %s, element %u (%g, %g): level 1 gives %g, %s %g", s->op,
                  tile_scalar_name(s->from[s->arity - 1]), tile_scalar_name(s->to), i,
                  tile_scalar_read(s->from[0],
                                   s->operands[0] +
                                       (s->scalar_operand ? 0 : i * tile_scalar_bytes(s->from[0]))),
                  s->arity > 1 ? tile_scalar_read(s->from[1], s->operands[1] +
                                                                  i * tile_scalar_bytes(s->from[1]))
                               : 0.0,
                  tile_scalar_read(s->to, level_1 + i * size), what,
                  tile_scalar_read(s->to, other + i * size));
}

static bool has_floats(const sample *s) {
    bool found = tile_scalar_is_floating(s->to);
    for (unsigned k = 0; k < s->arity; k++) found |= tile_scalar_is_floating(s->from[k]);
    return found;
}

/* Builds a store of the operation on constants for each element. */
static void build_constants(tile_function *f, const sample *s, tile_opcode opcode) {
    tile_context *context = tile_function_context(f);
    tile_value result = tile_function_add_arg(f, "r", tile_type_ptr(context, s->to));
    tile_builder b = tile_builder_at_end(f, tile_function_body(f));
    for (unsigned i = 0; i < N; i++) {
        tile_segment operands[MAX_ARITY] = {{{0}, NULL, 0}};
        for (unsigned k = 0; k < s->arity; k++) {
            const void *at = s->operands[k] + i * tile_scalar_bytes(s->from[k]);
            operands[k].head =
                tile_build_constant(&b, tile_type_scalar(context, s->from[k]),
                                    tile_expr_int(context, tile_integer_read(s->from[k], at)));
        }
        tile_value value =
            tile_build_op_value(&b, opcode, operands, s->arity, tile_type_scalar(context, s->to));
        if (strstr(s->attributes, "unsigned"))
            tile_op_set_flag(f, tile_value_op(f, value), TILE_ATTR_unsigned);
        if (strstr(s->attributes, "saturate"))
            tile_op_set_flag(f, tile_value_op(f, value), TILE_ATTR_saturate);
        tile_value index = tile_build_int(&b, (int64_t)i);
        tile_build_st_global(&b, value, result, &index, 1, TILE_NO_VALUE);
    }
}

/* Integers: each operation on constants folds to the constant that level 1 computes. */
static void check_folder(text_fixture *x, const sample *s, tile_opcode opcode,
                         const unsigned char *level_1) {
    if (has_floats(s) || s->scalar_operand) return;
    const tile_expr *one = tile_expr_int(x->context, 1);
    tile_module *module = tile_module_create(x->context);
    tile_function *f = tile_function_create(module, TILE_KERNEL, "k", (tile_loc){0});
    tile_function_set_grid(f, 1, &one);
    tile_function_set_warps(f, one);
    build_constants(f, s, opcode);
    cr_assert_eq(tile_run_passes(module, "canonicalize", NULL), TILE_OK, "%s", x->messages);
    unsigned i = 0, size = tile_scalar_bytes(s->to);
    TILE_FOR_EACH_OP (f, op, f->body) {
        int64_t value = 0;
        if (tile_op_opcode(f, op) != TILE_OP_st_global) continue;
        bool folded = tile_value_is_int(f, tile_op_operand(f, op, 0), &value);
        int64_t expected = tile_integer_read(s->to, level_1 + i * size);
        cr_expect(folded && tile_wrap_int(s->to, value) == tile_wrap_int(s->to, expected),
                  "%s of %s to %s, element %u: folded %d to %lld, level 1 gives %lld", s->op,
                  tile_scalar_name(s->from[0]), tile_scalar_name(s->to), i, folded,
                  (long long)value, (long long)expected);
        i++;
    }
    cr_expect_eq(i, N);
    tile_module_destroy(module);
}

static void check(text_fixture *x, sample *s, tile_opcode opcode) {
    unsigned char level_1[N * 8] = {0}, level_2[N * 8] = {0}, level_3[N * 8] = {0};
    fill(s, opcode);
    x->length = 0;
    bool ran = run_compute(x, s, level_1);
    bool ran_2 = run_kernel(x, s, 2, level_2), ran_3 = run_kernel(x, s, 3, level_3);
    const char *type = tile_scalar_name(s->from[s->arity - 1]);
    cr_expect(ran == ran_2 && ran == ran_3, "%s of %s: level 1 %d, level 2 %d, level 3 %d: %s",
              s->op, type, ran, ran_2, ran_3, x->messages);
    if (!ran)
        cr_expect(strstr(x->messages, s->op), "%s of %s: refused without its name: %s", s->op, type,
                  x->messages);
    if (!ran || !ran_2 || !ran_3) return;
    expect_same(s, level_1, level_2, "level 2");
    expect_same(s, level_1, level_3, "level 3");
    check_folder(x, s, opcode, level_1);
    x->length = 0;
    if (!emit_ptx(x, s))
        cr_expect(strstr(x->messages, s->op) &&
                      (strstr(x->messages, type) || strstr(x->messages, tile_scalar_name(s->to))),
                  "%s of %s to %s: no PTX, and no word about the type: %s", s->op, type,
                  tile_scalar_name(s->to), x->messages);
}

/* All rows ------------------------------------------------------------------------------------- */

static void check_row_with(text_fixture *x, tile_opcode opcode, tile_scalar scalar,
                           const char *attributes) {
    const tile_op_info *info = tile_op_get_info(opcode);
    sample s = {
        .op = info->name, .attributes = attributes, .arity = info->operand_count, .to = scalar};
    cr_assert_leq(info->operand_count, MAX_ARITY, "%s has more operands than this test",
                  info->name);
    for (unsigned k = 0; k < s.arity; k++) {
        s.from[k] = info->operands[k].class_ == TILE_CLASS_boolean ? TILE_i1 : scalar;
        s.scalar_operand |= info->operands[k].class_ == TILE_CLASS_scalar;
    }
    if (info->traits & TILE_TRAIT_COMPARE) s.to = TILE_i1;
    if (!(info->traits & TILE_TRAIT_CONVERT)) {
        check(x, &s, opcode);
        return;
    }
    for (unsigned to = 1; to < TILE_barrier; to++) { /* there are no values of barrier type */
        s.to = (tile_scalar)to;
        check(x, &s, opcode);
    }
}

/* Also checks the variants of an operation that attributes select. */
static void check_row(text_fixture *x, tile_opcode opcode, tile_scalar scalar) {
    static const struct {
        tile_opcode opcode;
        const char *attributes;
    } variants[] = {
        {TILE_OP_round, "{kind = even}"},
        {TILE_OP_round, "{kind = zero}"},
        {TILE_OP_round, "{kind = up}"},
        {TILE_OP_round, "{kind = down}"},
        {TILE_OP_min, "{nan}"},
        {TILE_OP_max, "{nan}"},
        {TILE_OP_mul_hi, "{unsigned}"},
        {TILE_OP_cast, "{unsigned}"},
        {TILE_OP_cast, "{saturate}"},
        {TILE_OP_cast, "{saturate, unsigned}"},
        {TILE_OP_cast, "{round = even}"},
        {TILE_OP_cast, "{round = zero}"},
        {TILE_OP_cast, "{round = up}"},
        {TILE_OP_cast, "{round = down, unsigned}"},
        {TILE_OP_cast, "{saturate, round = zero}"},
    };
    if (opcode != TILE_OP_round) check_row_with(x, opcode, scalar, "");
    for (unsigned i = 0; i < sizeof variants / sizeof *variants; i++)
        if (variants[i].opcode == opcode) check_row_with(x, opcode, scalar, variants[i].attributes);
}

static void walk(tile_scalar first, tile_scalar last) {
    text_fixture x;
    unsigned rows = 0;
    text_open(&x);
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        if (!tile_op_has_trait((tile_opcode)i, TILE_TRAIT_ELEMENTWISE)) continue;
        rows++;
        for (unsigned scalar = first; scalar <= last; scalar++)
            check_row(&x, (tile_opcode)i, (tile_scalar)scalar);
    }
    cr_assert_geq(rows, 44u);
    text_close(&x);
}

Test(meaning, is_one_for_all_levels_and_integers) {
    walk(TILE_i1, TILE_i64);
}

Test(meaning, is_one_for_all_levels_and_wide_floats) {
    walk(TILE_f16, TILE_f64);
}

Test(meaning, is_one_for_all_levels_and_narrow_floats) {
    walk(TILE_tf32, TILE_e5m2);
}
