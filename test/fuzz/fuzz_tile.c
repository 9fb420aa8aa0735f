/* What the fuzz target does with a text. The rules:
 *
 *  - A text that is refused was refused with an error, and an error is never behind a TILE_OK.
 *  - What prints, parses, and prints the same again: the module as read, a clone of it, and what
 *    the passes made of it.
 *  - Passes keep the IR's rules (the manager verifies after each one), and LLVM takes what it is
 *    given: TILE_FAILED is a defect here, since nothing of the system can refuse.
 *  - A kernel that runs on the CPU device at level 2 and at level 3 gives the same at both.
 *  - Nothing crashes, hangs or eats the memory; that the sanitizers and libFuzzer's limits see. */
#include "test/fuzz/fuzz_tile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile/compile.h"
#include "tile/device.h"
#include "tools/common/tool.h"

/* Rules -------------------------------------------------------------------------------------- */

static void fail(const char *rule, const char *detail) {
    fprintf(stderr, "fuzz: broken rule: %s: %s\n", rule, detail);
    abort();
}

/* The last error, for the report of a broken rule. */
typedef struct listener {
    char last[256];
} listener;

static void drop(const char *text, size_t length, void *user) {
    (void)text, (void)length, (void)user;
}

static void listen(const tile_diagnostic *d, void *user) {
    listener *l = user;
    if (!*d->message) fail("a diagnostic says something", d->file);
    if (d->text && d->column > d->text_length + 1)
        fail("a diagnostic points into its line", d->message);
    if (d->severity == TILE_ERROR) snprintf(l->last, sizeof l->last, "%s", d->message);
    tile_diagnostic_print(d, drop, NULL);
}

/* One text on its way. */
typedef struct session {
    tile_context *context;
    listener listener;
    uint32_t hash;
    const fuzz_options *options;
    fuzz_counts *counts;
} session;

/* True for one in `of` texts, and for others with another salt; always if all is wanted. */
static bool choose(const session *s, unsigned salt, unsigned of) {
    uint32_t mixed = (s->hash ^ salt * UINT32_C(0x9e3779b9)) * UINT32_C(0x85ebca6b);
    return s->options->all || (mixed >> 16) % of == 0;
}

static uint32_t hash_of(const char *text, size_t length) {
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * UINT32_C(16777619);
    return hash;
}

/* Checks the status of a call that began at `before` errors. True if it is TILE_OK. */
static bool succeeded(session *s, const char *call, tile_status status, unsigned before) {
    bool errors = tile_context_error_count(s->context) != before;
    if (status == TILE_OK && errors) fail("no error behind TILE_OK", s->listener.last);
    if (status != TILE_OK && !errors) fail("no failure without an error", call);
    if (status == TILE_FAILED) fail(call, s->listener.last);
    return status == TILE_OK;
}

/* Text --------------------------------------------------------------------------------------- */

static tool_text print(const tile_module *module) {
    tool_text out = {NULL, 0, 0};
    tool_append("", 0, &out);
    tile_module_print(module, tool_append, &out);
    return out;
}

/* Prints a module, frees what it is compared with. */
static void check_same(const char *rule, tool_text *text, const tile_module *module) {
    tool_text again = print(module);
    if (again.size != text->size || memcmp(again.data, text->data, text->size) != 0) {
        fprintf(stderr, "---- first\n%s---- then\n%s", text->data, again.data);
        fail(rule, "the texts differ");
    }
    free(again.data);
}

/* In a context of its own: types and expressions that are there already would hide a fault. */
static void check_round_trip(const char *rule, const tile_module *module) {
    tool_text text = print(module);
    listener l = {{0}};
    tile_context *context = tile_context_create();
    tile_context_set_sink(context, listen, &l);
    tile_module *again = tile_module_parse(context, "printed", text.data, text.size);
    if (!again) {
        fprintf(stderr, "---- printed\n%s", text.data);
        fail(rule, l.last);
    }
    check_same(rule, &text, again);
    tile_module_destroy(again);
    tile_context_destroy(context);
    free(text.data);
}

/* Code --------------------------------------------------------------------------------------- */

static void emit(session *s, const tile_function *kernel, const tile_target *target,
                 tile_emit_kind kind) {
    const tile_emit_options options = {.size = sizeof options, .target = target};
    unsigned before = tile_context_error_count(s->context);
    tile_blob blob;
    tile_status status = tile_emit(kernel, kind, &options, &blob);
    if (succeeded(s, "tile_emit failed", status, before)) s->counts->emitted++;
    tile_blob_destroy(&blob);
}

static void check_abi(session *s, const tile_function *kernel) {
    unsigned before = tile_context_error_count(s->context);
    tile_abi *abi = tile_abi_create(kernel);
    succeeded(s, "tile_abi_create", abi ? TILE_OK : TILE_INVALID, before);
    if (abi) tile_abi_print(abi, drop, NULL);
    tile_abi_destroy(abi);
}

/* The kernel as a clone of its own, through the passes of a level; NULL if the target or the
 * passes refuse it. */
static tile_function *lower(session *s, tile_module *module, const char *kernel, unsigned level,
                            const tile_target *target) {
    const tile_pass_options options = {.size = sizeof options, .target = target};
    tile_function *f;
    unsigned before = tile_context_error_count(s->context);
    tile_status status =
        tile_lower(module, kernel, NULL, 0, tile_default_pipeline(level), &options, &f);
    return succeeded(s, "tile_lower failed", status, before) ? f : NULL;
}

static void try_target(session *s, const tile_module *module, const char *kernel,
                       const char *name) {
    const tile_target *target = tile_target_find(name);
    tile_module *own = tile_module_clone(module);
    tile_function *f = lower(s, own, kernel, 3, target);
    if (f) {
        s->counts->lowered++;
        check_round_trip("what level 3 prints reads back", own);
        check_abi(s, f);
        if (choose(s, 1, 32)) emit(s, f, target, TILE_EMIT_LLVM);
        if (choose(s, 2, 16)) emit(s, f, target, TILE_EMIT_PTX);
    }
    tile_module_destroy(own);
}

static void try_level_2(session *s, const tile_module *module, const char *kernel) {
    tile_module *own = tile_module_clone(module);
    if (lower(s, own, kernel, 2, NULL)) check_round_trip("what level 2 prints reads back", own);
    tile_module_destroy(own);
}

/* Runs ---------------------------------------------------------------------------------------- */

/* Small launches only: nothing bounds what a random text wants. */
enum {
    MAX_RUN_ARGS = 16,
    MAX_RUN_BLOCKS = 4,
    RUN_BYTES = 1 << 14, /* of each buffer; at most this much scratch, too */
    MAX_RUN_OPERATIONS = 10000,
};

/* One kernel on the CPU device at one level. */
typedef struct run {
    tile_device *device;
    tile_kernel *kernel;
    const tile_abi *abi;
    tile_argument arguments[MAX_RUN_ARGS];
    int64_t integers[MAX_RUN_ARGS];
    unsigned count;
} run;

/* Zeros and ones: as sizes, coordinates and values they lead somewhere. */
static bool fill_arguments(run *r) {
    uint8_t bytes[RUN_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = i % 24 == 0;
    r->count = tile_abi_arg_count(r->abi);
    for (unsigned i = 0; i < r->count; i++) {
        const tile_abi_arg *arg = tile_abi_arg_at(r->abi, i);
        tile_argument *to = &r->arguments[i];
        to->integer = r->integers[i] = 64 % arg->divisible ? arg->divisible : 64;
        to->number = 1.5;
        if (arg->type->kind != TILE_TYPE_PTR) continue;
        if (tile_buffer_create(r->device, sizeof bytes, &to->buffer) != TILE_OK ||
            tile_buffer_write(to->buffer, 0, bytes, sizeof bytes) != TILE_OK)
            return false;
    }
    return true;
}

static bool is_small(const run *r) {
    int64_t grid[3], clean, plain;
    return tile_abi_grid(r->abi, r->integers, grid) == TILE_OK &&
           tile_abi_scratch(r->abi, r->integers, &clean, &plain) == TILE_OK &&
           grid[0] * grid[1] * grid[2] <= MAX_RUN_BLOCKS && clean + plain <= RUN_BYTES;
}

/* False if the kernel does not run, or does what is forbidden and is ended. */
static bool run_kernel(session *s, run *r, const tile_module *module, const char *kernel,
                       unsigned level) {
    const tile_device_options options = {
        .size = sizeof options, .level = level, .max_operations = MAX_RUN_OPERATIONS};
    unsigned before = tile_context_error_count(s->context);
    *r = (run){.count = 0};
    tile_status status = tile_device_create_cpu(s->context, &options, &r->device);
    if (status == TILE_OK)
        status = tile_kernel_create(r->device, module, kernel, NULL, 0, &r->kernel);
    if (!succeeded(s, "tile_kernel_create failed", status, before)) return false;
    r->abi = tile_kernel_abi(r->kernel);
    if (tile_abi_arg_count(r->abi) > MAX_RUN_ARGS || !fill_arguments(r) || !is_small(r))
        return false;
    before = tile_context_error_count(s->context);
    status = tile_kernel_launch(r->kernel, r->arguments, r->count, NULL);
    s->counts->launched++;
    return succeeded(s, "tile_kernel_launch failed", status, before);
}

static void end_run(run *r) {
    for (unsigned i = 0; i < r->count; i++) tile_buffer_destroy(r->arguments[i].buffer);
    tile_kernel_destroy(r->kernel);
    tile_device_destroy(r->device);
}

/* NaNs have many payloads. */
static bool is_equal(tile_scalar scalar, const uint8_t *a, const uint8_t *b) {
    if (memcmp(a, b, tile_scalar_bytes(scalar)) == 0) return true;
    return tile_scalar_is_floating(scalar) && isnan(tile_scalar_read(scalar, a)) &&
           isnan(tile_scalar_read(scalar, b));
}

static void compare_argument(const run *x, const run *y, unsigned index) {
    const tile_abi_arg *arg = tile_abi_arg_at(x->abi, index);
    uint8_t a[RUN_BYTES], b[RUN_BYTES];
    unsigned step = tile_scalar_bytes(arg->type->scalar);
    if (!x->arguments[index].buffer) return;
    tile_buffer_read(x->arguments[index].buffer, 0, a, sizeof a);
    tile_buffer_read(y->arguments[index].buffer, 0, b, sizeof b);
    for (size_t at = 0; at < sizeof a; at += step)
        if (!is_equal(arg->type->scalar, a + at, b + at)) {
            fprintf(stderr, "%%%s[%zu] is %g at level 2, %g at level 3\n", arg->name, at / step,
                    tile_scalar_read(arg->type->scalar, a + at),
                    tile_scalar_read(arg->type->scalar, b + at));
            fail("level 2 and level 3 give the same", tile_abi_entry(x->abi));
        }
}

/* Buffers that are not alive at the same time share their bytes, and then the device does not see
 * that one is read before it is written: what is read is not the same at both levels. */
static bool may_share_bytes(const tile_module *module, const char *kernel) {
    tool_text text = {NULL, 0, 0};
    unsigned buffers = 0;
    tile_function_print(tile_module_find(module, kernel), tool_append, &text);
    for (const char *at = text.data; (at = strstr(at, "= alloc_shared")); at++) buffers++;
    free(text.data);
    return buffers > 1;
}

static void try_runs(session *s, const tile_module *module, const char *kernel) {
    run two, three;
    bool ok = run_kernel(s, &two, module, kernel, 2);
    ok &= run_kernel(s, &three, module, kernel, 3);
    ok = ok && !may_share_bytes(module, kernel);
    for (unsigned i = 0; i < two.count && ok; i++) compare_argument(&two, &three, i);
    end_run(&two);
    end_run(&three);
}

/* Kernels ------------------------------------------------------------------------------------- */

static void try_kernel(session *s, const tile_module *module, const char *kernel) {
    if (choose(s, 3, 2)) try_target(s, module, kernel, "sm_90a");
    if (choose(s, 4, 4)) try_target(s, module, kernel, "sm_80");
    if (choose(s, 5, 2)) try_level_2(s, module, kernel);
    if (choose(s, 6, 4)) try_runs(s, module, kernel);
}

/* Modules ------------------------------------------------------------------------------------ */

/* The passes of all levels, on functions whose parameters are not bound. */
static void try_general_passes(session *s, const tile_module *module) {
    const tile_pass_options options = {.size = sizeof options};
    tile_module *own = tile_module_clone(module);
    unsigned before = tile_context_error_count(s->context);
    tile_status status = tile_run_passes(own, "canonicalize,cse,dce", &options);
    if (succeeded(s, "tile_run_passes failed", status, before))
        check_round_trip("what the passes print reads back", own);
    tile_module_destroy(own);
}

static void try_module(session *s, const tile_module *module) {
    enum { MAX_KERNELS = 4 };
    tool_text text = print(module);
    tile_module *copy = tile_module_clone(module);
    if (s->options->plant) text.size--;
    check_same("a clone prints the same", &text, copy);
    tile_module_destroy(copy);
    free(text.data);
    check_round_trip("what prints reads back", module);
    if (choose(s, 8, 2)) try_general_passes(s, module);
    tile_function *f;
    for (unsigned i = 0; i < MAX_KERNELS && (f = tile_module_function(module, i)); i++)
        if (tile_function_get_kind(f) == TILE_KERNEL) try_kernel(s, module, tile_function_name(f));
}

void fuzz_text(const char *text, size_t length, const fuzz_options *options, fuzz_counts *counts) {
    session s = {.context = tile_context_create(),
                 .hash = hash_of(text, length),
                 .options = options,
                 .counts = counts};
    tile_context_set_sink(s.context, listen, &s.listener);
    tile_module *module = tile_module_parse(s.context, "input", text, length);
    succeeded(&s, "tile_module_parse", module ? TILE_OK : TILE_INVALID, 0);
    counts->inputs++;
    counts->parsed += module != NULL;
    if (module) try_module(&s, module);
    tile_module_destroy(module);
    tile_context_destroy(s.context);
}
