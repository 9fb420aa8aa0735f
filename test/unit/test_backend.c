/* LLVM's errors are reported once, at the operation that LLVM could not compile. */
#include <criterion/criterion.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/codegen/backend.h"

/* A kernel whose lines 3 and 4 call the parameter. */
#define MODULE(declaration, call) \
    "target triple = \"nvptx64-nvidia-cuda\"\n" \
    "define void @k(ptr addrspace(1) %p) !dbg !4 {\n" \
    "  %a = load float, ptr addrspace(1) %p, !dbg !7\n" \
    "  %b = " call "(float %a), !dbg !7\n" \
    "  %c = " call "(float %b), !dbg !8\n" \
    "  store float %c, ptr addrspace(1) %p, !dbg !8\n" \
    "  ret void\n}\n" declaration "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n" \
    "!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: " \
    "LineTablesOnly)\n" \
    "!1 = !DIFile(filename: \"a.tile\", directory: \"\")\n" \
    "!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n" \
    "!3 = !DISubroutineType(types: !{})\n" \
    "!4 = distinct !DISubprogram(name: \"k\", file: !1, line: 1, type: !3, unit: !0, " \
    "spFlags: DISPFlagDefinition)\n" \
    "!7 = !DILocation(line: 3, column: 5, scope: !4)\n" \
    "!8 = !DILocation(line: 4, column: 6, scope: !4)\n"

static const char no_libcall[] =
    MODULE("declare float @llvm.log2.f32(float)\n", "call float @llvm.log2.f32");
static const char bad_constraint[] = MODULE("", "call float asm \"foo $0, $1;\", \"=w,f\"");
static const char fine[] =
    MODULE("declare float @llvm.fabs.f32(float)\n", "call float @llvm.fabs.f32");

typedef struct heard {
    unsigned errors, notes, line;
    char file[16], message[256];
} heard;

static void listen(const tile_diagnostic *diagnostic, void *user) {
    heard *h = user;
    h->notes += diagnostic->severity == TILE_NOTE;
    if (diagnostic->severity != TILE_ERROR || h->errors++) return;
    h->line = diagnostic->line;
    snprintf(h->file, sizeof h->file, "%s", diagnostic->file);
    snprintf(h->message, sizeof h->message, "%s", diagnostic->message);
}

/* The emitted code; NULL: not kept. */
static tile_blob *made;
static tile_emit_kind made_kind = TILE_EMIT_PTX;

static tile_status make_code(void *user) {
    tile_backend *backend = user;
    tile_blob out = {0};
    tile_status status = tile_backend_optimize(backend);
    if (status == TILE_OK) status = tile_backend_print(backend, made_kind, &out);
    if (made)
        *made = out;
    else
        tile_blob_destroy(&out);
    return status;
}

/* Compiles an LLVM module as if it were the code of a kernel whose head is in line 1 of a.tile. */
static tile_status compile(const char *text, heard *h) {
    static const char source[] = "kernel\nline 2\nline 3\nline 4\n";
    tile_context *context = tile_context_create();
    char *message = NULL;
    tile_backend backend;
    *h = (heard){0};
    tile_context_set_sink(context, listen, h);
    uint32_t file = tile_context_add_source(context, "a.tile", source, sizeof source - 1);
    cr_assert_eq(tile_backend_open(&backend, context, (tile_loc){file, 1, 1}, "k",
                                   tile_target_find("sm_90a"), 80),
                 TILE_OK);
    LLVMDisposeModule(backend.module);
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "k");
    cr_assert_not(LLVMParseIRInContext(backend.llvm, buffer, &backend.module, &message), "%s",
                  message);
    tile_status status = tile_backend_guard(&backend, make_code, &backend);
    tile_backend_close(&backend);
    tile_context_destroy(context);
    return status;
}

/* A longjmp leaves LLVM's fatal error handler, so LLVM's allocations are leaked. */
extern void __lsan_disable(void) __attribute__((weak));

Test(backend, a_refusal_is_reported_once_at_its_operation) {
    heard h;
    if (__lsan_disable) __lsan_disable();
    cr_expect_eq(compile(no_libcall, &h), TILE_FAILED);
    cr_expect_eq(h.errors, 1);
    cr_expect_str_eq(h.message, "LLVM: no libcall available for flog2");
    cr_expect_str_eq(h.file, "a.tile");
    cr_expect(h.line == 3 || h.line == 4, "line %u", h.line);
    cr_expect_eq(h.notes, 1);
}

/* If LLVM reports no location, the kernel's location is used. */
Test(backend, a_refusal_without_a_place_is_the_kernels) {
    heard h;
    cr_expect_eq(compile(bad_constraint, &h), TILE_FAILED);
    cr_expect_eq(h.errors, 1);
    cr_expect_not_null(strstr(h.message, "constraint"), "%s", h.message);
    cr_expect_eq(h.line, 1);
}

Test(backend, code_that_llvm_takes_is_not_reported) {
    heard h;
    cr_expect_eq(compile(fine, &h), TILE_OK);
    cr_expect_eq(h.errors, 0);
}

/* Constructs that need passes that run before selection are refused, at their location if they have
 * one. */
Test(backend, what_selection_would_get_wrong_is_refused) {
#define BODY(lines) "define void @k(ptr addrspace(1) %p) {\n" lines "  ret void\n}\n"
    static const struct {
        const char *text, *words;
    } cases[] = {
        {MODULE("declare float @llvm.fabs.f32(float)\ndefine void @other() {\n  "
                "unreachable\n}\n",
                "call float @llvm.fabs.f32"),
         "unreachable"},
        {BODY("  %a = alloca i32\n  store i32 1, ptr %a\n"), "alloca"},
        {BODY("  call void @llvm.memset.p1.i64(ptr addrspace(1) %p, i8 0, i64 99, i1 "
              "false)\n") "declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, "
                          "i1)\n",
         "llvm.memset.p1.i64"},
        {BODY("  %a = call <2 x float> @llvm.masked.load.v2f32.p1(ptr addrspace(1) %p, "
              "<2 x i1> <i1 1, i1 0>, <2 x float> zeroinitializer)\n"
              "  store <2 x float> %a, ptr addrspace(1) %p\n") "declare <2 x float> "
                                                               "@llvm.masked.load.v2f32.p1("
                                                               "ptr addrspace(1), <2 x i1>, "
                                                               "<2 x float>)\n",
         "llvm.masked.load"},
        {BODY("  %a = load <4 x i32>, ptr addrspace(1) %p\n"
              "  %b = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %a)\n"
              "  store i32 %b, ptr addrspace(1) %p\n") "declare i32 "
                                                       "@llvm.vector.reduce.add.v4i32(<4 x "
                                                       "i32>)\n",
         "llvm.vector.reduce"},
        {BODY("  %a = call i32 @__nvvm_reflect(ptr null)\n") "declare i32 "
                                                             "@__nvvm_reflect(ptr)\n",
         "__nvvm_reflect"},
        {BODY("  %a = load float, ptr addrspace(1) %p\n  %b = frem float %a, 3.0\n"
              "  store float %b, ptr addrspace(1) %p\n"),
         "frem"},
        {BODY("  %a = atomicrmw fadd ptr addrspace(1) %p, float 1.0 monotonic\n"), "atomicrmw"},
        {BODY("  %a = atomicrmw add ptr addrspace(1) %p, i16 1 monotonic\n"), "atomicrmw"},
        {BODY("  %a = atomicrmw nand ptr addrspace(1) %p, i32 1 monotonic\n"), "atomicrmw"},
        {BODY("  %a = cmpxchg ptr addrspace(1) %p, i8 1, i8 2 monotonic monotonic\n"), "cmpxchg"},
        {BODY("  %a = load { i32, i32 }, ptr addrspace(1) %p\n"
              "  store { i32, i32 } %a, ptr addrspace(1) %p\n"),
         "load of an aggregate"},
        {BODY("  store [2 x i32] zeroinitializer, ptr addrspace(1) %p\n"), "store of an aggregate"},
        {"@g = global i32 1\n" BODY(""), "global in generic address space"},
        {"@\"a.b\" = addrspace(1) global i32 1\n" BODY(""), "name of a global"},
        {"define void @\"a-b\"() {\n  ret void\n}\n", "name of a function"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        heard h;
        cr_expect_eq(compile(cases[i].text, &h), TILE_FAILED, "case %u", i);
        cr_expect_eq(h.errors, 1, "case %u", i);
        cr_expect(strstr(h.message, "LLVM: instruction selection") == h.message &&
                      strstr(h.message, cases[i].words),
                  "case %u: %s", i, h.message);
        cr_expect_eq(h.line, 1, "case %u", i);
    }
}

Test(backend, what_selection_does_not_take_is_refused_at_its_place) {
    heard h;
    cr_expect_eq(compile(MODULE("define float @f(float %a) {\n  %b = frem float %a, 2.0, !dbg !8\n"
                                "  ret float %b\n}\n",
                                "call float @f"),
                         &h),
                 TILE_FAILED);
    cr_expect_eq(h.line, 4);
}

Test(backend, updates_that_the_machine_has_are_taken) {
    heard h;
    cr_expect_eq(
        compile(BODY("  %a = atomicrmw umax ptr addrspace(1) %p, i64 1 syncscope(\"device\") "
                     "monotonic\n"
                     "  %b = cmpxchg ptr addrspace(1) %p, i32 1, i32 2 monotonic monotonic\n"),
                &h),
        TILE_OK);
    cr_expect_eq(h.errors, 0, "%s", h.message);
}

/* The address of a tensor map must be generic. Without cvta.param the code assembles, but the copy
 * reads from a wrong address. */
Test(backend, a_parameter_by_value_has_its_generic_address) {
    static const char tensor_map[] =
        "target triple = \"nvptx64-nvidia-cuda\"\n"
        "define ptx_kernel void @k(ptr byval([128 x i8]) align 64 \"nvvm.grid_constant\" %map, "
        "ptr addrspace(3) %to, ptr addrspace(3) %barrier) {\n"
        "  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d(ptr addrspace(7) null, "
        "ptr addrspace(3) %barrier, ptr %map, i32 0, i16 0, i64 0, i1 0, i1 0, i32 0)\n"
        "  ret void\n}\n"
        "declare void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d(ptr addrspace(7), "
        "ptr addrspace(3), ptr, i32, i16, i64, i1, i1, i32)\n";
    heard h;
    tile_blob ptx = {0};
    made = &ptx;
    cr_assert_eq(compile(tensor_map, &h), TILE_OK, "%s", h.message);
    const char *convert = strstr(ptx.data, "cvta.param.u64"), *copy;
    cr_assert_not_null(convert, "%s", ptx.data);
    char address[16], wanted[32];
    cr_assert_eq(sscanf(convert, "cvta.param.u64 %15[^,]", address), 1);
    snprintf(wanted, sizeof wanted, "[%s, {", address);
    copy = strstr(ptx.data, "cp.async.bulk.tensor");
    cr_expect(copy && strstr(copy, wanted), "%s", ptx.data);
    tile_blob_destroy(&ptx);
    made = NULL;
}

/* instcombine would turn this into a shift. */
Test(backend, code_is_left_as_it_is) {
    static const char product[] = "define void @k(ptr addrspace(1) %p, i32 %n) {\n"
                                  "  %v = mul i32 %n, 8\n"
                                  "  store volatile i32 %v, ptr addrspace(1) %p\n"
                                  "  ret void\n}\n";
    tile_blob ir = {0};
    heard h;
    made = &ir;
    made_kind = TILE_EMIT_LLVM;
    cr_assert_eq(compile(product, &h), TILE_OK, "%s", h.message);
    cr_expect_not_null(strstr(ir.data, "mul i32"), "%s", ir.data);
    made = NULL;
    made_kind = TILE_EMIT_PTX;
    tile_blob_destroy(&ir);
}
