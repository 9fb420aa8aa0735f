/* Code generation: contents of the PTX, and refusals. */
#include <criterion/criterion.h>

#include "lib/codegen/backend.h"
#include "lib/codegen/emitter.h"
#include "test/unit/codegen_fixture.h"
#include "test/unit/llvm_fixture.h"
#include "tile/inspect.h"

#define KERNEL(args, body) \
    "kernel @k(" args ") grid [1] warps 4 {\n" \
    "  %bx, %by, %bz = block_id : i32\n" \
    "  %t = thread_id : i32\n" body "}\n"

static const char vector_add[] =
    KERNEL("%n: i32, %x: ptr<f32> {divisible = 16}, %y: ptr<f32>, %z: ptr<f32>",
           "  %o = add %bx * 512, %t * 4 : i32\n"
           "  %in = le %o + 4, %n : i1\n"
           "  %a = ld_global %x[%o], %in : vector<f32[4]>\n"
           "  %b = ld_global %y[%o] : vector<f32[4]>\n"
           "  %c = add %a, %b : vector<f32[4]>\n"
           "  st_global %c, %z[%o], %in\n");

static void expect(const char *text, const char *piece, unsigned times) {
    cr_assert_eq(count_of(text, piece), times,
                 "'%s' should be there %u times, it is %u times in\n%s", piece, times,
                 count_of(text, piece), text);
}

Test(codegen, every_intrinsic_exists) {
    for (int i = 0; i < TILE_MACHINE_COUNT; i++)
        cr_expect(tile_machine_exists((tile_machine)i), "row %d of machine.def", i);
}

Test(codegen, vector_add_for_every_target) {
    for (unsigned i = 0; tile_target_at(i); i++) {
        char target[32];
        tile_blob ptx = codegen_of(vector_add, TILE_EMIT_PTX, tile_target_at(i)->name);
        snprintf(target, sizeof target, ".target %s\n", tile_target_at(i)->architecture);
        expect(ptx.data, target,
               1); /* nothing may follow: `, debug` would disable ptxas's optimizer */
        expect(ptx.data, ".reqntid 128", 1);
        expect(ptx.data, "ld.global.v4.b32", 2);
        expect(ptx.data, "st.global.v4.b32", 1);
        expect(ptx.data, "add.rn.f32", 4);
        expect(ptx.data, "\"test.tile\"", 1);
        cr_assert_eq(ptx.size, strlen(ptx.data));
        tile_blob_destroy(&ptx);
    }
}

Test(codegen, the_librarys_own_code_has_no_comments) {
    tile_blob ptx = codegen_of(vector_add, TILE_EMIT_PTX, "sm_80"), annotated;
    const tile_dump_options nothing = {.size = sizeof nothing, .kind = TILE_DUMP_PTX};
    expect(ptx.data, "// kernel", 0);
    expect(ptx.data, "// ----", 0);
    cr_assert_eq(tile_annotate(&nothing, &ptx, &annotated), TILE_INVALID);
    cr_assert_null(annotated.data);
    cr_assert_eq(tile_annotate(NULL, &ptx, &annotated), TILE_INVALID);
    tile_blob_destroy(&ptx);
}

Test(codegen, output_is_deterministic) {
    tile_blob one = codegen_of(vector_add, TILE_EMIT_PTX, "sm_80");
    tile_blob two = codegen_of(vector_add, TILE_EMIT_PTX, "sm_80");
    cr_assert_str_eq(one.data, two.data);
    tile_blob_destroy(&one);
    tile_blob_destroy(&two);
}

/* LLVM has no 8-bit floats: a constant is emitted as its bits, as a scalar and in a vector. */
Test(codegen, constants_of_8_bit_floats) {
    static const struct {
        const char *constant, *ir;
    } cases[] = {{"e4m3(2.0)", "store i8 64,"},   {"e4m3(-1.5)", "store i8 -68,"},
                 {"e4m3(0.0)", "store i8 0,"},    {"e4m3(1000.0)", "store i8 126,"},
                 {"e4m3(nan)", "store i8 127,"},  {"e5m2(2.0)", "store i8 64,"},
                 {"e5m2(-1.5)", "store i8 -66,"}, {"e5m2(-0.0)", "store i8 -128,"},
                 {"e5m2(0.0001)", "store i8 7,"}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        const char *constant = cases[i].constant;
        snprintf(text, sizeof text,
                 "kernel @k(%%x: ptr<%.4s> {divisible = 16}) grid [1] warps 1 {\n"
                 "  st_global %s, %%x[0]\n"
                 "  %%v = splat %s : vector<%.4s[16]>\n"
                 "  st_global %%v, %%x[16]\n}\n",
                 constant, constant, constant, constant);
        tile_blob ir = codegen_of(text, TILE_EMIT_LLVM, "sm_90a");
        expect(ir.data, cases[i].ir, 1);
        tile_blob_destroy(&ir);
        tile_blob ptx = codegen_of(text, TILE_EMIT_PTX, "sm_80");
        expect(ptx.data, "st.global.v4.b32", 1);
        tile_blob_destroy(&ptx);
    }
}

/* Only memory that is noalias and never written may be read through the non-coherent cache. */
Test(codegen, read_only_loads) {
#define COPY(attr, more) \
    KERNEL("%x: ptr<f32>" attr ", %y: ptr<f32>, %p: i1", \
           "  %a = ld_global %x[%t] : f32\n  %b = ld_global %x[%t + 128], %p : f32\n" \
           "  %c = add %a, %b : f32\n  st_global %c, %y[%t]\n" more)
    static const struct {
        const char *text;
        unsigned count;
    } cases[] = {{COPY(" {noalias}", ""), 2},
                 {COPY("", ""), 0},
                 {COPY(" {noalias}", "  st_global %a, %x[%t]\n"), 0}};
    for (unsigned i = 0; i < 3; i++) {
        tile_blob ptx = codegen_of(cases[i].text, TILE_EMIT_PTX, "sm_90");
        expect(ptx.data, "ld.global.nc", cases[i].count);
        tile_blob_destroy(&ptx);
    }
}

/* The first branch implies the second one. Jump threading would merge them and duplicate the
 * mma. */
static const char two_branches[] = KERNEL("%x: ptr<f32>, %y: ptr<f32>, %n: i32",
                                          "  %s = alloc_shared {offset = 0} : shared<f16[64, 64]>\n"
                                          "  %a = ldmatrix %s[%t * 8] : vector<f16[8]>\n"
                                          "  %b = ldmatrix %s[%t * 8] : vector<f16[4]>\n"
                                          "  %zero = splat 0.0 : vector<f32[4]>\n"
                                          "  if %t < %n { st_global 1.0, %y[%t] }\n"
                                          "  %d = mma %a, %b, %zero : vector<f32[4]>\n"
                                          "  if %t < %n { st_global %d, %x[%t * 4] }\n");

/* Runs LLVM's O3 pipeline on the emitted code, with or without our marks, and counts the mma
 * calls. */
static unsigned mma_after_o3(bool keep_marks) {
    tile_blob ir = codegen_of(two_branches, TILE_EMIT_LLVM, "sm_80");
    if (!keep_marks)
        for (char *at = ir.data; (at = strstr(at, "convergent")); at += 10)
            memcpy(at, "nounwind  ", 10);
    run_llvm_passes(&ir, "default<O3>");
    unsigned count = count_of(ir.data, "@llvm.nvvm.mma.m16n8k16.row.col.f32.f32(") -
                     count_of(ir.data, "declare { float, float, float, float } @llvm.nvvm.mma");
    tile_blob_destroy(&ir);
    return count;
}

Test(codegen, collective_calls_stay_one) {
    cr_assert_eq(mma_after_o3(true), 1);
    cr_assert_gt(mma_after_o3(false), 1, "without the mark the test would not notice anything");
}

/* Errors in a kernel are reported before LLVM sees it. */
Test(codegen, refusals) {
    static const tile_target old = {.name = "sm_70",
                                    .architecture = "sm_70",
                                    .features = 1 << TILE_FEATURE_base,
                                    .ptx_version = 70,
                                    .max_shared_bytes = 98304};
    static const struct {
        const char *text;
        const tile_target *target;
        unsigned ptx_version;
        const char *message;
    } cases[] = {
        {KERNEL("%x: ptr<f16>",
                "  %v = view %x, [8] : view<f16[8]>\n  %a = load %v[0] : tile<f16[8]>\n"),
         NULL, 0, "is not an operation of level 3"},
        {KERNEL("%x: ptr<f16>", "  %s = alloc_shared : shared<f16[64]>\n"), NULL, 0,
         "has no offset"},
        {KERNEL("%x: ptr<f16>", "  %s = alloc_shared {offset = 8} : shared<f16[64]>\n"), NULL, 0,
         "not a multiple of 16"},
        {KERNEL("%x: ptr<f16>", "  %s = alloc_shared {offset = 0} : shared<f16[1024, 1024]>\n"),
         NULL, 0, "needs 2097152 bytes of shared memory, sm_80 has 166912"},
        {KERNEL("%x: ptr<f64>", "  %a = ld_global %x[%t] : f64\n  %b = rsqrt %a : f64\n"), NULL, 0,
         "rsqrt: there is no instruction for f64; cast to f32 first"},
        {KERNEL("%x: ptr<e4m3>", "  %a = ld_global %x[%t] : e4m3\n  %b = add %a, %a : e4m3\n"),
         NULL, 0, "e4m3 has no arithmetic; cast to f32 first"},
        {KERNEL("%x: ptr<tf32>", "  %a = ld_global %x[%t] : tf32\n  %b = add %a, %a : tf32\n"),
         NULL, 0, "tf32 has no arithmetic; cast to f32 first"},
        {KERNEL("%x: ptr<e4m3>", "  %a = splat e4m3(1.0) : vector<e4m3[16]>\n"
                                 "  %b = splat e4m3(1.0) : vector<e4m3[8]>\n"
                                 "  %c = splat 0.0 : vector<f32[4]>\n"
                                 "  %d = mma %a, %b, %c : vector<f32[4]>\n"),
         NULL, 0,
         "mma needs 8-bit floating-point matrix products (mma.sync), which sm_80 lacks; compile "
         "for "
         "sm_89"},
        {KERNEL("%x: ptr<f16>", "  commit_group\n"), &old, 0,
         "commit_group needs asynchronous copies (cp.async), which sm_70 lacks"},
        {KERNEL("%x: ptr<i32>",
                "  for %i = 0 to 9 step 1 unroll (20) {\n"
                "    for %j = 0 to 9 step 1 unroll (20) { st_global %j, %x[%i] }\n  }\n"),
         NULL, 0,
         "the product of the unroll factors of nested loops must be at most 256; unroll less"},
        {KERNEL("%x: ptr<i32>", "  %v = splat %t : vector<i32[1024]>\n"
                                "  for %i = 0 to 9 step 1 unroll (128) { %w = add %v, %v }\n"),
         NULL, 0, "add: here one thread's code exceeds 49152 instructions"},
        {KERNEL("%x: ptr<i64>", "  %y = ld_global %x[%t] : i64\n"
                                "  %v = splat %y : vector<i64[1024]>\n"
                                "  %w = div %v, %v\n  %u = div %w, %v\n  %r = div %u, %v\n"),
         NULL, 0, "div: here one thread's code exceeds 49152 instructions"},
        {KERNEL("%x: ptr<i64>", "  %y = ld_global %x[%t] : i64\n"
                                "  %v = splat %y : vector<i64[1024]>\n"
                                "  for %i = 0 to 9 step 1 unroll (10) { %w = mul %v, %v }\n"),
         NULL, 0, "mul: here one thread's code exceeds 49152 instructions"},
        {KERNEL("%x: ptr<f16>", "  %y = ld_global %x[%t] : f16\n"
                                "  %v = splat %y : vector<f16[1024]>\n"
                                "  for %i = 0 to 9 step 1 unroll (4) { %w = sqrt %v }\n"),
         NULL, 0, "sqrt: here one thread's code exceeds 49152 instructions"},
        {KERNEL("", ""), NULL, 79, "PTX version 7.9 is not supported"},
        {"kernel @k() grid [1] cluster [2] warps 4 {\n}\n", NULL, 0,
         "@k needs thread block clusters (barrier.cluster, mapa), which sm_80 lacks"},
        {"compute @k(%x: tensor<f16[8]>) -> (%y: tensor<f16[8]>) { %y = add %x, %x : "
         "tensor<f16[8]> }\n",
         NULL, 0, "@k is a compute, and PTX is generated from kernels only"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        codegen_fixture x;
        codegen_open(&x, cases[i].text);
        const tile_target *target = cases[i].target ? cases[i].target : tile_target_find("sm_80");
        const tile_emit_options options = {
            .size = sizeof options, .target = target, .ptx_version = cases[i].ptx_version};
        tile_blob out;
        unsigned ptx;
        tile_status status = cases[i].target /* not in the table, so tile_emit is not called */
                                 ? tile_emit_check(x.kernel, target, 0, &ptx)
                                 : tile_emit(x.kernel, TILE_EMIT_PTX, &options, &out);
        cr_expect_eq(status, TILE_INVALID, "case %u", i);
        cr_expect(cases[i].target || !out.data);
        cr_expect(strstr(x.messages, cases[i].message), "case %u: %s", i, x.messages);
        codegen_close(&x);
    }
}

Test(codegen, ptx_version) {
    codegen_fixture x;
    codegen_open(&x, vector_add);
    tile_emit_options options = {
        .size = sizeof options, .target = tile_target_find("sm_90a"), .ptx_version = 90};
    tile_blob out;
    cr_assert_eq(tile_emit(x.kernel, TILE_EMIT_PTX, &options, &out), TILE_OK);
    expect(out.data, ".version 9.0", 1);
    tile_blob_destroy(&out);
    options.ptx_version = 78;
    cr_assert_eq(tile_emit(x.kernel, TILE_EMIT_PTX, &options, &out), TILE_INVALID);
    cr_assert(strstr(x.messages, "needs PTX 8.0, not 7.8"), "%s", x.messages);
    options.ptx_version = 0;
    options.no_line_info = true;
    cr_assert_eq(tile_emit(x.kernel, TILE_EMIT_PTX, &options, &out), TILE_OK);
    expect(out.data, ".version 8.0", 1);
    expect(out.data, ".loc", 0);
    tile_blob_destroy(&out);
    codegen_close(&x);
}

/* The loop must end even if index + step exceeds the largest i32. */
Test(codegen, loop_to_the_largest_index) {
    tile_blob ir =
        codegen_of(KERNEL("%x: ptr<i32>, %n: i32, %step: i32",
                          "  for %i = 0 to %n step %step { st_global %i, %x[%i] }\n"
                          "  for %i = 0 to 2147483647 step 1024 { st_global %i, %x[%i] }\n"),
                   TILE_EMIT_LLVM, "sm_80");
    fold_with_llvm(&ir);
    expect(ir.data, "call i32 @llvm.ssub.sat.i32", 1);
    expect(ir.data, ", 2147482623", 1);
    tile_blob_destroy(&ir);
}

/* Remainders of values below twice the divisor. The bounds are exact: with 6 it takes two
 * subtractions. */
Test(codegen, remainders_that_wrap_once) {
#define REMAINDER(op, operand) \
    KERNEL("%x: ptr<i32>, %n: i32", \
           "  %few = and %t, 3 : i32\n  %a = " op " " operand " : i32\n  st_global %a, %x[%t]\n")
    static const struct {
        const char *text;
        bool once;
    } cases[] = {{REMAINDER("mod", "%few + 2, 3"), true},  {REMAINDER("rem", "%few + 2, 3"), true},
                 {REMAINDER("mod", "%few + 3, 3"), false}, {REMAINDER("mod", "%few + 4, 4"), false},
                 {REMAINDER("mod", "%few - 1, 3"), false}, {REMAINDER("mod", "%few, %n"), false}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_blob ir = codegen_of(cases[i].text, TILE_EMIT_LLVM, "sm_80");
        bool once = count_of(ir.data, "select i1") == 1 && count_of(ir.data, "rem i32") == 0;
        cr_expect_eq(once, cases[i].once, "case %u: %s", i, ir.data);
        tile_blob_destroy(&ir);
    }
}

/* The stage index of a ring buffer repeats after as many copies as it has stages. */
#define RING(copies, step) \
    KERNEL("%x: ptr<i32>, %n: i32", \
           "  %s = alloc_shared {offset = 0} : shared<f32[3][32, 32]>\n" \
           "  %last, %sum = for %i = 0 to %n step 1 iter (%stage = 2, %acc = 0.0) unroll (" copies \
           ") {\n" \
           "    %o = mul %stage, 1024 : i32\n" \
           "    %v = ld_shared %s[%o + %t] : f32\n" \
           "    %more = add %acc, %v : f32\n" \
           "    %next = mod %stage + " step ", 3 : i32\n" \
           "    yield %next, %more\n" \
           "  }\n" \
           "  st_global %last, %x[%t]\n" \
           "  %w = cast %sum : i32\n  st_global %w, %x[%t + 128]\n")

Test(codegen, unrolled_ring) {
    static const struct {
        const char *text;
        int64_t copies;
        bool periodic;
    } cases[] = {{RING("3", "1"), 3, true},  {RING("6", "1"), 6, true}, {RING("2", "1"), 2, false},
                 {RING("1", "1"), 1, false}, {RING("3", "2"), 3, true}, {RING("4", "1"), 4, false},
                 {RING("2", "3"), 2, true}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        codegen_fixture x;
        tile_blob ir;
        int64_t value = -1;
        codegen_open(&x, cases[i].text);
        tile_op loop = tile_region_first(x.kernel, tile_function_body(x.kernel));
        while (tile_op_opcode(x.kernel, loop) != TILE_OP_for) loop = tile_op_next(x.kernel, loop);
        bool periodic = tile_loop_is_periodic(x.kernel, loop, 0, cases[i].copies, &value);
        cr_expect_eq(periodic, cases[i].periodic, "case %u", i);
        cr_expect(!periodic || value == 2, "case %u: %d", i, (int)value);
        cr_expect_not(tile_loop_is_periodic(x.kernel, loop, 1, cases[i].copies, &value));
        cr_assert_eq(codegen_emit(&x, TILE_EMIT_LLVM, "sm_80", &ir), TILE_OK, "%s", x.messages);
        fold_with_llvm(&ir);
        expect(ir.data, "fadd float", (unsigned)cases[i].copies);
        /* a remainder; below twice the divisor it becomes one subtraction */
        cr_expect_eq(count_of(ir.data, "urem") + count_of(ir.data, "icmp ult"),
                     periodic ? 0 : (unsigned)cases[i].copies, "%s", ir.data);
        expect(ir.data, "llvm.loop.unroll.disable", cases[i].copies == 1);
        tile_blob_destroy(&ir);
        codegen_close(&x);
    }
}

/* The f64 base-2 logarithm has no instruction. LLVM's fatal error must not end this process. */
static tile_status give_up(void *user) {
    static const char ir[] = "declare double @llvm.log2.f64(double)\n"
                             "define double @f(double %x) {\n"
                             "  %y = call double @llvm.log2.f64(double %x)\n  ret double %y\n}\n";
    tile_backend *backend = user;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, sizeof ir - 1, "ir");
    char *message;
    cr_assert_eq(LLVMParseIRInContext2(backend->llvm, buffer, &backend->module, &message), 0);
    LLVMDisposeMemoryBuffer(buffer);
    tile_blob out;
    tile_status status = tile_backend_print(backend, TILE_EMIT_PTX, &out);
    tile_blob_destroy(&out);
    return status;
}

/* After a fatal error LLVM's objects stay allocated; this known leak is not reported. */
extern void __lsan_disable(void) __attribute__((weak));

Test(codegen, fatal_error_of_llvm) {
    codegen_fixture x;
    if (__lsan_disable) __lsan_disable();
    codegen_open(&x, vector_add);
    for (unsigned i = 0; i < 2; i++) {
        tile_backend backend;
        cr_assert_eq(tile_backend_open(&backend, x.context, (tile_loc){0}, "m",
                                       tile_target_find("sm_80"), 70),
                     TILE_OK);
        cr_assert_eq(tile_backend_guard(&backend, give_up, &backend), TILE_FAILED);
        cr_assert(strstr(x.messages, "LLVM: "), "%s", x.messages);
        tile_backend_close(&backend);
    }
    tile_blob out;
    cr_assert_eq(codegen_emit(&x, TILE_EMIT_PTX, "sm_80", &out), TILE_OK, "later work goes on");
    tile_blob_destroy(&out);
    codegen_close(&x);
}
