/* LLVM's refusals: reported once, at the operation that LLVM could not do. */
#include <criterion/criterion.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <string.h>

#include "lib/codegen/backend.h"

/* A kernel of which lines 3 and 4 call what the parameter says. */
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

static tile_status make_code(void *user) {
    tile_backend *backend = user;
    tile_blob out = {0};
    tile_status status = tile_backend_optimize(backend);
    if (status == TILE_OK) status = tile_backend_print(backend, TILE_EMIT_PTX, &out);
    tile_blob_destroy(&out);
    return status;
}

/* Compiles an LLVM module in place of a kernel's whose head is in line 1 of a.tile. */
static tile_status compile(const char *text, heard *h) {
    static const char source[] = "kernel\nline 2\nline 3\nline 4\n";
    tile_context *context = tile_context_create();
    char *message = NULL;
    tile_backend backend;
    *h = (heard){0};
    tile_context_set_sink(context, listen, h);
    uint32_t file = tile_context_add_source(context, "a.tile", source, sizeof source - 1);
    cr_assert_eq(tile_backend_open(&backend, context, (tile_loc){file, 1, 1}, "k",
                                   tile_target_find("sm_80"), 80),
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

/* LLVM's fatal handler is left by a jump, so what LLVM had allocated is lost. */
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

/* LLVM tells no place: the kernel's is taken. */
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
