/* The interface to LLVM's NVPTX backend. */
#include "lib/codegen/backend.h"

#include <llvm-c/Analysis.h> /* LLVMVerifyModule */
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/codegen/selectable.h"
#include "lib/support/arena.h"
#include "lib/support/context.h"

/* The code of a tile kernel needs hardly any LLVM passes. The tile passes have already folded,
 * merged and moved code, ptxas does it once more, and what LLVM's passes move out of loops costs
 * registers: without them the shipped kernels take fewer. nvptx-lower-args is the only pass of
 * those that code generation skips (start_llvm) which is needed: without it the address of a
 * parameter that is passed by value, as tensor maps are, is wrong. */
static const char passes[] = "function(nvptx-lower-args)";

/* LLVM diagnostics ----------------------------------------------------------------------------- */

/* Reads the location after the name of a source in LLVM's message, ":3:5". */
static bool find_place(const tile_backend *backend, const char *words, tile_loc *place) {
    for (uint32_t file = 0; file < backend->context->source_count; file++) {
        const char *name = tile_context_source_name(backend->context, file);
        for (const char *at = words; *name && (at = strstr(at, name)); at++) {
            *place = (tile_loc){.file = file};
            if (sscanf(at + strlen(name), ":%" SCNu32 ":%" SCNu32, &place->line, &place->column) ==
                2)
                return true;
        }
    }
    return false;
}

/* Copies the message as one line, truncated to size: the graph of a whole node may follow. */
static void keep_words(char *to, size_t size, const char *words) {
    snprintf(to, size, "%s", words);
    for (char *at = to; (at = strchr(at, '\n')); at++) *at = at[1] ? ' ' : 0;
}

static void complain(tile_backend *backend, const char *words) {
    tile_loc place;
    if (!backend->errors++) keep_words(backend->first, sizeof backend->first, words);
    keep_words(backend->last, sizeof backend->last, words);
    if (!backend->place.line && find_place(backend, words, &place)) backend->place = place;
}

/* Returns the status after a step and reports one diagnostic if LLVM reported anything. */
static tile_status end_step(tile_backend *backend) {
    if (!backend->errors) return TILE_OK;
    tile_loc loc = backend->place.line ? backend->place : backend->loc;
    tile_report(backend->context, TILE_ERROR, loc, "LLVM: %s", backend->first);
    if (strcmp(backend->first, backend->last) != 0)
        tile_report(backend->context, TILE_NOTE, loc, "LLVM: %s", backend->last);
    return TILE_FAILED;
}

static void complain_and_free(tile_backend *backend, char *words) {
    complain(backend, words);
    LLVMDisposeMessage(words);
}

/* Remarks arrive here as well. LLVM does not return an error status for an error reported here. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
        complain_and_free(user, LLVMGetDiagInfoDescription(info));
}

/* Fatal errors --------------------------------------------------------------------------------- */

/* Where this thread's emission continues instead of LLVM ending the process. */
typedef struct rescue {
    jmp_buf place;
    tile_backend *backend;
} rescue;

static _Thread_local rescue *current_rescue;

enum { FATAL_ERROR = 1, NO_MEMORY };

/* C++ and LLVM call this handler if memory is exhausted; LLVM's C interface has none. */
typedef void (*new_handler)(void);
extern new_handler set_new_handler(new_handler handler) __asm__("_ZSt15set_new_handlerPFvvE");
extern void install_bad_alloc_error_handler(
    void (*handler)(void *, const char *, bool),
    void *user) __asm__("_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");

/* Outside of our emission it does the default. */
static void on_new_failure(void) {
    if (current_rescue) longjmp(current_rescue->place, NO_MEMORY);
    set_new_handler(NULL); /* the allocation is tried again, and throws an exception */
}

static void on_bad_alloc(void *user, const char *reason, bool diagnose) {
    (void)user, (void)reason, (void)diagnose;
    if (current_rescue) longjmp(current_rescue->place, NO_MEMORY);
}

static void on_fatal_error(const char *reason) {
    if (!current_rescue) return; /* not our emission: LLVM ends the process */
    complain(current_rescue->backend, reason);
    longjmp(current_rescue->place, FATAL_ERROR);
}

/* LLVM has stopped in the middle of an operation: its objects are leaked. */
static void forget_llvm(tile_backend *backend) {
    backend->machine = NULL;
    backend->module = NULL;
    backend->llvm = NULL;
}

tile_status tile_backend_guard(tile_backend *backend, tile_status (*step)(void *user), void *user) {
    TILE_GUARD(backend->context, (current_rescue = NULL, TILE_OUT_OF_MEMORY))
    rescue here = {.backend = backend};
    volatile tile_status status = TILE_FAILED;
    current_rescue = &here;
    switch (setjmp(here.place)) {
    case 0: status = step(user); break;
    case NO_MEMORY:
        forget_llvm(backend);
        current_rescue = NULL;
        tile_out_of_memory();
    default:
        status = end_step(backend);
        forget_llvm(backend);
        break;
    }
    current_rescue = NULL;
    return status;
}

/* Set-up --------------------------------------------------------------------------------------- */

/* Shared memory is addressed with 32 bits: half the registers and no wide arithmetic for its
 * addresses. Sinking into the block of the use is disabled: it takes the arithmetic of an unrolled
 * loop out from between its loads, so that thousands of registers are live until it, and ptxas
 * takes minutes. Code generation starts at instruction selection, see selectable.c. After
 * selection, tail duplication is disabled: it would need another phi for each sum of a loop. The
 * options are global to the process, that is, to the LLVM inside this library. */
static void start_llvm(void) {
    static const char *const options[] = {"tile", "--nvptx-short-ptr",
                                          "--instcombine-code-sinking=0",
                                          "--start-before=nvptx-isel", "--disable-early-taildup"};
    enum { OPTION_COUNT = sizeof options / sizeof *options };
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMParseCommandLineOptions(OPTION_COUNT, options, "");
    LLVMInstallFatalErrorHandler(on_fatal_error);
    set_new_handler(on_new_failure);
    install_bad_alloc_error_handler(on_bad_alloc, NULL);
}

bool tile_backend_has_ptx(unsigned version) {
    static const uint8_t versions[] = {70, 71, 72, 73, 74, 75, 76, 77, 78, 80,
                                       81, 82, 83, 84, 85, 86, 87, 88, 90};
    return memchr(versions, (int)(version & 0xff), sizeof versions) && version <= 0xff;
}

/* LLVM starts once per process, and its initializers cannot be aborted half-way. So more memory
 * than they need is allocated first: if there is not enough, that allocation fails. */
static void start_llvm_once(void) {
    enum { START_BYTES = 4 << 20 }; /* generous; test/exec/memory.test tries every limit */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static atomic_bool has_started;
    if (!atomic_load(&has_started)) free(tile_malloc(START_BYTES));
    pthread_once(&once, start_llvm);
    atomic_store(&has_started, true);
}

typedef struct opening {
    tile_backend *backend;
    const char *module_name;
    const tile_target *target;
    unsigned ptx_version;
} opening;

/* A step for tile_backend_guard: creates the target machine, the LLVM context and an empty module.
 */
static tile_status open_llvm(void *user) {
    const opening *given = user;
    tile_backend *backend = given->backend;
    LLVMTargetRef nvptx;
    char *message = NULL;
    if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &nvptx, &message)) {
        tile_report(backend->context, TILE_ERROR, backend->loc, "LLVM: %s", message);
        LLVMDisposeMessage(message);
        return TILE_FAILED;
    }
    char features[16];
    snprintf(features, sizeof features, "+ptx%u", given->ptx_version);
    LLVMTargetMachineOptionsRef options = LLVMCreateTargetMachineOptions();
    LLVMTargetMachineOptionsSetCPU(options, given->target->architecture);
    LLVMTargetMachineOptionsSetFeatures(options, features);
    LLVMTargetMachineOptionsSetCodeGenOptLevel(options, LLVMCodeGenLevelDefault);
    backend->machine = LLVMCreateTargetMachineWithOptions(nvptx, "nvptx64-nvidia-cuda", options);
    LLVMDisposeTargetMachineOptions(options);
    backend->llvm = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(backend->llvm, on_diagnostic, backend);
    backend->module = LLVMModuleCreateWithNameInContext(given->module_name, backend->llvm);
    LLVMSetTarget(backend->module, "nvptx64-nvidia-cuda");
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(backend->machine);
    char *layout_text = LLVMCopyStringRepOfTargetData(layout);
    LLVMSetDataLayout(backend->module, layout_text);
    LLVMDisposeMessage(layout_text);
    LLVMDisposeTargetData(layout);
    return TILE_OK;
}

tile_status tile_backend_open(tile_backend *backend, tile_context *context, tile_loc loc,
                              const char *module_name, const tile_target *target,
                              unsigned ptx_version) {
    *backend = (tile_backend){.context = context, .loc = loc};
    start_llvm_once();
    opening given = {backend, module_name, target, ptx_version};
    return tile_backend_guard(backend, open_llvm, &given);
}

void tile_backend_close(tile_backend *backend) {
    if (backend->module) LLVMDisposeModule(backend->module);
    if (backend->machine) LLVMDisposeTargetMachine(backend->machine);
    if (backend->llvm) LLVMContextDispose(backend->llvm);
    *backend = (tile_backend){0};
}

/* Work ----------------------------------------------------------------------------------------- */

/* An invalid LLVM module is a bug in this compiler: developer builds verify it. */
static bool is_valid(tile_backend *backend) {
#ifdef TILE_VERIFY_LLVM
    char *message = NULL;
    if (LLVMVerifyModule(backend->module, LLVMReturnStatusAction, &message)) {
        complain_and_free(backend, message);
        return false;
    }
    LLVMDisposeMessage(message);
#endif
    LLVMValueRef at;
    const char *found = tile_find_unselectable(backend->module, &at);
    if (!found) return true;
    char words[256];
    unsigned length = 0;
    const char *file = at ? LLVMGetDebugLocFilename(at, &length) : NULL;
    if (file) {
        snprintf(words, sizeof words, "%.*s:%u:%u", (int)length, file, LLVMGetDebugLocLine(at),
                 LLVMGetDebugLocColumn(at));
        find_place(backend, words, &backend->place);
    }
    snprintf(words, sizeof words, "instruction selection does not take this: %s", found);
    complain(backend, words);
    return false;
}

static void run_passes(tile_backend *backend, const char *list) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(backend->module, list, backend->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (error) {
        char *text = LLVMGetErrorMessage(error);
        complain(backend, text);
        LLVMDisposeErrorMessage(text);
    }
}

/* Returns whether the instruction has no effect except its result. */
static bool is_pure(LLVMValueRef instruction) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMStore:
    case LLVMLoad:
    case LLVMCall:
    case LLVMFence:
    case LLVMAtomicCmpXchg:
    case LLVMAtomicRMW:
    case LLVMAlloca: return false;
    default: return !LLVMIsATerminatorInst(instruction);
    }
}

/* Offsets are emitted with their operations, and most accesses split them again (address.c). The
 * unused sums are removed here: each would be a node that LLVM's selection combines before it finds
 * that it is unused. */
static void sweep(tile_backend *backend) {
    for (LLVMValueRef f = LLVMGetFirstFunction(backend->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetLastBasicBlock(f); b; b = LLVMGetPreviousBasicBlock(b))
            for (LLVMValueRef at = LLVMGetLastInstruction(b), before; at; at = before) {
                before = LLVMGetPreviousInstruction(at);
                if (!LLVMGetFirstUse(at) && is_pure(at)) LLVMInstructionEraseFromParent(at);
            }
}

tile_status tile_backend_optimize(tile_backend *backend) {
    sweep(backend);
    if (backend->has_variables) run_passes(backend, "function(mem2reg)");
    if (backend->errors || !is_valid(backend)) return end_step(backend);
    run_passes(backend, passes);
    return end_step(backend);
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
        complain_and_free(backend, message);
    else if (!backend->errors)
        set_blob(out, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    if (buffer) LLVMDisposeMemoryBuffer(buffer);
    return end_step(backend);
}
