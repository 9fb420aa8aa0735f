/* Inline PTX: text, constraints and any number of operands. */
#include "lib/codegen/ptx.h"

#include <criterion/criterion.h>
#include <llvm-c/Analysis.h>
#include <string.h>

#include "lib/support/arena.h"

typedef struct ptx_fixture {
    tile_emitter e;
    LLVMValueRef i8, i16, i32, i64, real, pair, truth;
} ptx_fixture;

static void open_fixture(ptx_fixture *x) {
    tile_emitter *e = &x->e;
    *x = (ptx_fixture){0};
    e->llvm = LLVMContextCreate();
    e->module = LLVMModuleCreateWithNameInContext("test", e->llvm);
    e->builder = LLVMCreateBuilderInContext(e->llvm);
    e->i8 = LLVMInt8TypeInContext(e->llvm);
    e->i16 = LLVMInt16TypeInContext(e->llvm);
    e->i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMTypeRef types[] = {e->i8,
                           e->i16,
                           e->i32,
                           LLVMInt64TypeInContext(e->llvm),
                           LLVMFloatTypeInContext(e->llvm),
                           LLVMVectorType(LLVMHalfTypeInContext(e->llvm), 2),
                           LLVMInt1TypeInContext(e->llvm)};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->llvm), types, 7, false);
    e->function = LLVMAddFunction(e->module, "f", type);
    LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->llvm, e->function, ""));
    LLVMValueRef *params[] = {&x->i8, &x->i16, &x->i32, &x->i64, &x->real, &x->pair, &x->truth};
    for (unsigned i = 0; i < 7; i++) *params[i] = LLVMGetParam(e->function, i);
}

/* Returns the function's text; the caller frees it with LLVMDisposeMessage. */
static char *close_fixture(ptx_fixture *x) {
    char *message = NULL;
    LLVMBuildRetVoid(x->e.builder);
    cr_assert_eq(LLVMVerifyModule(x->e.module, LLVMReturnStatusAction, &message), 0, "%s", message);
    LLVMDisposeMessage(message);
    char *text = LLVMPrintValueToString(x->e.function);
    LLVMDisposeBuilder(x->e.builder);
    LLVMDisposeModule(x->e.module);
    LLVMContextDispose(x->e.llvm);
    tile_arena_reset(&x->e.arena);
    return text;
}

static void expect(const char *text, const char *part) {
    cr_assert(strstr(text, part), "no '%s' in\n%s", part, text);
}

Test(ptx, constraints_follow_from_types) {
    ptx_fixture x;
    open_fixture(&x);
    LLVMValueRef inputs[] = {x.i8, x.i16, x.i32, x.pair};
    tile_ptx ptx = tile_ptx_begin(&x.e, TILE_MACHINE_st_global_if);
    tile_ptx_modify(&ptx, ".v%u", 4u);
    tile_ptx_modify(&ptx, ".b32");
    tile_ptx_add_inputs(&ptx, &x.i64, 1);
    tile_ptx_add_inputs(&ptx, &x.truth, 1);
    tile_ptx_add_inputs(&ptx, inputs, 4);
    tile_ptx_call(&ptx, NULL);
    char *text = close_fixture(&x);
    expect(text, "call void asm sideeffect \"@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};\", "
                 "\"l,b,h,h,r,r,~{memory}\"(i64 %3, i1 %6, i16 %");
    LLVMDisposeMessage(text);
}

Test(ptx, results_come_back_in_their_types) {
    ptx_fixture x;
    open_fixture(&x);
    LLVMTypeRef types[] = {x.e.i8, LLVMTypeOf(x.real)};
    LLVMValueRef results[2];
    tile_ptx ptx = tile_ptx_begin(&x.e, TILE_MACHINE_ld_constant_if);
    tile_ptx_add_results(&ptx, types, 2);
    tile_ptx_add_inputs(&ptx, &x.i64, 1);
    tile_ptx_add_inputs(&ptx, &x.truth, 1);
    tile_ptx_call(&ptx, results);
    cr_assert_eq(LLVMTypeOf(results[0]), types[0]);
    cr_assert_eq(LLVMTypeOf(results[1]), types[1]);
    char *text = close_fixture(&x);
    expect(text, "call { i16, float } asm \"@$3 ld.global.nc {$0, $1}, [$2];\", \"=h,=f,l,b\"");
    LLVMDisposeMessage(text);
}

/* As many accumulators as the widest wgmma has, and more. */
Test(ptx, any_number_of_tied_operands) {
    enum { COUNT = 300 };
    ptx_fixture x;
    open_fixture(&x);
    LLVMValueRef values[COUNT];
    for (unsigned i = 0; i < COUNT; i++) values[i] = i % 2 ? x.real : x.i32;
    tile_ptx ptx = tile_ptx_begin(&x.e, TILE_MACHINE_ld_global_if);
    tile_ptx_add_tied(&ptx, values, COUNT);
    tile_ptx_add_inputs(&ptx, &x.i64, 1);
    tile_ptx_add_inputs(&ptx, &x.truth, 1);
    tile_ptx_call(&ptx, values);
    for (unsigned i = 0; i < COUNT; i++)
        cr_assert_eq(LLVMGetTypeKind(LLVMTypeOf(values[i])),
                     i % 2 ? LLVMFloatTypeKind : LLVMIntegerTypeKind);
    char *text = close_fixture(&x);
    expect(text, ", $298, $299}, [$300];\", \"=r,=f,=r,");
    expect(text, "=r,=f,l,b,0,1,2,3,");
    expect(text, ",298,299,~{memory}\"(i64 %3, i1 %6, i32 %2, float %4, i32 %2");
    LLVMDisposeMessage(text);
}

static LLVMValueRef further(const ptx_fixture *x, LLVMTypeRef element, LLVMValueRef from,
                            int64_t elements) {
    LLVMTypeRef type = LLVMInt64TypeInContext(x->e.llvm);
    LLVMValueRef index = LLVMConstInt(type, (uint64_t)elements, true);
    return LLVMBuildGEP2(x->e.builder, element, from, &index, 1, "");
}

static void store_to(ptx_fixture *x, LLVMValueRef address) {
    tile_ptx ptx = tile_ptx_begin(&x->e, TILE_MACHINE_st_global_if);
    tile_ptx_modify(&ptx, ".b32");
    tile_ptx_add_address(&ptx, address);
    tile_ptx_add_inputs(&ptx, &x->truth, 1);
    tile_ptx_add_inputs(&ptx, &x->i32, 1);
    tile_ptx_call(&ptx, NULL);
}

Test(ptx, constants_behind_an_address_stand_in_the_text) {
    ptx_fixture x;
    open_fixture(&x);
    LLVMTypeRef real = LLVMFloatTypeInContext(x.e.llvm), half = LLVMHalfTypeInContext(x.e.llvm);
    LLVMValueRef base = LLVMBuildIntToPtr(x.e.builder, x.i64,
                                          LLVMPointerTypeInContext(x.e.llvm, SPACE_GLOBAL), "base");
    LLVMValueRef index[] = {x.i32};
    store_to(&x, base);
    store_to(&x, further(&x, half, further(&x, real, base, 4), -1));
    store_to(&x, further(&x, half, base, -1));
    store_to(&x, further(&x, real, base, INT64_C(1) << 29)); /* 2^31: too far */
    store_to(&x, further(&x, real, LLVMBuildGEP2(x.e.builder, real, base, index, 1, "i"), 3));
    char *text = close_fixture(&x);
    expect(text, "st.global.b32 [$0], $2;\", \"l,b,r,~{memory}\"(ptr addrspace(1) %base,");
    expect(text, "[$0+14], $2;\", \"l,b,r,~{memory}\"(ptr addrspace(1) %base,");
    expect(text, "[$0+-2], $2;\", \"l,b,r,~{memory}\"(ptr addrspace(1) %base,");
    expect(text, "[$0+12], $2;\", \"l,b,r,~{memory}\"(ptr addrspace(1) %i,");
    cr_assert_not(strstr(text, "2147483648]"), "%s", text);
    LLVMDisposeMessage(text);
}

Test(ptx, what_follows_the_operands) {
    ptx_fixture x;
    open_fixture(&x);
    LLVMValueRef sums[] = {x.real, x.real, x.real, x.real};
    tile_ptx ptx = tile_ptx_begin(&x.e, TILE_MACHINE_wgmma);
    tile_ptx_modify(&ptx, "m64n8k16.f32.f16.f16");
    tile_ptx_set_tail(&ptx, ", 1, 1, 0, 1");
    tile_ptx_add_tied(&ptx, sums, 4);
    tile_ptx_add_inputs(&ptx, &x.i64, 1);
    tile_ptx_add_inputs(&ptx, &x.i64, 1);
    tile_ptx_add_inputs(&ptx, &x.truth, 1);
    tile_ptx_call(&ptx, sums);
    char *text = close_fixture(&x);
    expect(text,
           "\"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $4, $4, $5, "
           "1, 1, 0, 1;\", \"=f,=f,=f,=f,l,b,0,1,2,3,~{memory}\"");
    LLVMDisposeMessage(text);
}
