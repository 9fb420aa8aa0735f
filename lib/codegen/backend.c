/* LLVM's NVPTX backend behind one door. */
#include "lib/codegen/backend.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "lib/support/arena.h"

/* One tile kernel needs little: its loops are as they should be, and nothing is to be inlined. LICM
 * and the splitting of constant offsets off addresses are what saves registers (measured against
 * default<O3>: the same count from ptxas in a fifth of the time). */
static const char passes[] =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),"
    "separate-const-offset-from-gep<lower-gep>,early-cse,dce)";
/* Fatal errors --------------------------------------------------------------------------------- */

/* Where this thread's emission goes on when LLVM would end the process. */
typedef struct rescue {
    jmp_buf place;
    char message[512];
} rescue;

static _Thread_local rescue *current_rescue;

static void on_fatal_error(const char *reason) {
    if (!current_rescue) return; /* not ours: LLVM ends the process */
    snprintf(current_rescue->message, sizeof current_rescue->message, "%s", reason);
    longjmp(current_rescue->place, 1);
}

tile_status tile_backend_guard(tile_backend *backend, tile_status (*step)(void *user), void *user) {
    rescue here;
    volatile tile_status status = TILE_FAILED;
    current_rescue = &here;
    if (setjmp(here.place) == 0) {
        status = step(user);
    } else {
        tile_report(backend->context, TILE_ERROR, backend->loc, "LLVM: %s", here.message);
        backend->machine = NULL;
        backend->module = NULL;
        backend->llvm = NULL;
    }
    current_rescue = NULL;
    return status;
}

/* Remarks come this way as well. An error here is no error status of the call that meets it. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
    tile_backend *backend = user;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
    char *text = LLVMGetDiagInfoDescription(info);
    tile_report(backend->context, TILE_ERROR, backend->loc, "LLVM: %s", text);
    LLVMDisposeMessage(text);
    backend->errors++;
}

/* Set-up --------------------------------------------------------------------------------------- */

/* Shared memory is addressed with 32 bits: half the registers and no wide arithmetic for its
 * addresses. The option belongs to the process, that is, to the LLVM inside this library. */
static void start_llvm(void) {
    static const char *const options[] = {"tile", "--nvptx-short-ptr"};
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMParseCommandLineOptions(2, options, "");
    LLVMInstallFatalErrorHandler(on_fatal_error);
}

bool tile_backend_has_ptx(unsigned version) {
    static const uint8_t versions[] = {70, 71, 72, 73, 74, 75, 76, 77, 78, 80,
                                       81, 82, 83, 84, 85, 86, 87, 88, 90};
    return memchr(versions, (int)(version & 0xff), sizeof versions) && version <= 0xff;
}

tile_status tile_backend_open(tile_backend *backend, tile_context *context, tile_loc loc,
                              const char *module_name, const tile_target *target,
                              unsigned ptx_version) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_llvm);
    *backend = (tile_backend){.context = context, .loc = loc};
    LLVMTargetRef nvptx;
    char *message = NULL;
    if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &nvptx, &message)) {
        tile_report(context, TILE_ERROR, loc, "LLVM: %s", message);
        LLVMDisposeMessage(message);
        return TILE_FAILED;
    }
    char features[16];
    snprintf(features, sizeof features, "+ptx%u", ptx_version);
    LLVMTargetMachineOptionsRef options = LLVMCreateTargetMachineOptions();
    LLVMTargetMachineOptionsSetCPU(options, target->name);
    LLVMTargetMachineOptionsSetFeatures(options, features);
    LLVMTargetMachineOptionsSetCodeGenOptLevel(options, LLVMCodeGenLevelDefault);
    backend->machine = LLVMCreateTargetMachineWithOptions(nvptx, "nvptx64-nvidia-cuda", options);
    LLVMDisposeTargetMachineOptions(options);
    backend->llvm = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(backend->llvm, on_diagnostic, backend);
    backend->module = LLVMModuleCreateWithNameInContext(module_name, backend->llvm);
    LLVMSetTarget(backend->module, "nvptx64-nvidia-cuda");
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(backend->machine);
    char *layout_text = LLVMCopyStringRepOfTargetData(layout);
    LLVMSetDataLayout(backend->module, layout_text);
    LLVMDisposeMessage(layout_text);
    LLVMDisposeTargetData(layout);
    return TILE_OK;
}

void tile_backend_close(tile_backend *backend) {
    if (backend->module) LLVMDisposeModule(backend->module);
    if (backend->machine) LLVMDisposeTargetMachine(backend->machine);
    if (backend->llvm) LLVMContextDispose(backend->llvm);
    *backend = (tile_backend){0};
}

/* Work ----------------------------------------------------------------------------------------- */

static tile_status fail(tile_backend *backend, char *message) {
    tile_report(backend->context, TILE_ERROR, backend->loc, "LLVM: %s", message);
    LLVMDisposeMessage(message);
    return TILE_FAILED;
}

tile_status tile_backend_optimize(tile_backend *backend) {
    char *message = NULL;
    if (LLVMVerifyModule(backend->module, LLVMReturnStatusAction, &message))
        return fail(backend, message);
    LLVMDisposeMessage(message);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(backend->module, passes, backend->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (error) {
        char *text = LLVMGetErrorMessage(error);
        tile_report(backend->context, TILE_ERROR, backend->loc, "LLVM: %s", text);
        LLVMDisposeErrorMessage(text);
        return TILE_FAILED;
    }
    return backend->errors ? TILE_FAILED : TILE_OK;
}

static void set_blob(tile_blob *out, const char *text, size_t size) {
    out->data = tile_malloc(size + 1);
    memcpy(out->data, text, size);
    out->data[size] = 0;
    out->size = size;
}

tile_status tile_backend_print(tile_backend *backend, tile_emit_kind kind, tile_blob *out) {
    if (kind == TILE_EMIT_LLVM) {
        char *text = LLVMPrintModuleToString(backend->module);
        set_blob(out, text, strlen(text));
        LLVMDisposeMessage(text);
        return TILE_OK;
    }
    char *message = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(backend->machine, backend->module, LLVMAssemblyFile,
                                            &message, &buffer))
        return fail(backend, message);
    if (!backend->errors) set_blob(out, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return backend->errors ? TILE_FAILED : TILE_OK;
}
