/* What ptxas and nvdisasm report about a kernel. */
#include "tile/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "lib/codegen/marked.h"
#include "lib/dump/dump.h"
#include "lib/support/options.h"
#include "lib/support/target.h"
#include "lib/support/text.h"
#include "runtime/compile/assemble.h"

static bool check(tile_context *context, const tile_blob *ptx, const tile_target *target,
                  const char *program, const char *what) {
    if (!context || !tile_target_check(context, (tile_loc){0}, target)) return false;
    if (ptx && ptx->data && program) return true;
    tile_report(context, TILE_ERROR, (tile_loc){0}, "%s",
                ptx && ptx->data ? what : "there is no PTX to look at");
    return false;
}

/* Resources ------------------------------------------------------------------------------------ */

/* The number before these words, 0 if the text does not have them: "168 registers", "16 bytes
 * smem". */
static unsigned number_before(const char *text, const char *words) {
    const char *at = strstr(text, words);
    if (!at) return 0;
    while (at > text && at[-1] >= '0' && at[-1] <= '9') at--;
    return (unsigned)strtoul(at, NULL, 10);
}

/* Reads the output of -v, where each number precedes its words. False if it has no registers. */
static bool read_verbose(const char *text, tile_resources *out) {
    out->registers = number_before(text, " registers");
    out->stack_bytes = number_before(text, " bytes stack frame");
    out->spill_store_bytes = number_before(text, " bytes spill stores");
    out->spill_load_bytes = number_before(text, " bytes spill loads");
    out->static_shared_bytes = number_before(text, " bytes smem");
    out->barriers = number_before(text, " barriers");
    return out->registers > 0;
}

tile_status tile_inspect_resources(tile_context *context, const tile_blob *ptx, const tile_abi *abi,
                                   const tile_target *target, const char *ptxas,
                                   tile_resources *out) {
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    tile_program program;
    *out = (tile_resources){.target = target, .limit = ""};
    if (!abi || !check(context, ptx, target, ptxas, "ptxas reports the resources; give its path"))
        return TILE_INVALID;
    tile_status status = tile_run_ptxas(context, &program, ptx, target, ptxas, "-v");
    if (status == TILE_OK) {
        char *text = tile_program_read(program.messages, NULL);
        if (!read_verbose(text, out)) {
            tile_report(context, TILE_ERROR, (tile_loc){0}, "%s -v reports no registers", ptxas);
            status = TILE_FAILED;
        }
        free(text);
    }
    tile_program_close(&program);
    out->dynamic_shared_bytes = tile_abi_shared_bytes(abi);
    out->threads = 32 * tile_abi_warps(abi);
    if (status == TILE_OK)
        out->sm_blocks = tile_target_residency(target, tile_abi_warps(abi), out->registers,
                                               out->static_shared_bytes + out->dynamic_shared_bytes,
                                               &out->limit);
    return status;
}

static const char *place_of_spill(const tile_spill *spill) {
    return spill->where ? spill->where : "unknown place";
}

static void print_json(const tile_resources *r, double occupancy, tile_text *to) {
    tile_text_format(to,
                     "{\n  \"target\": \"%s\",\n  \"registers\": %u,\n"
                     "  \"spill_store_bytes\": %u,\n  \"spill_load_bytes\": %u,\n"
                     "  \"stack_bytes\": %u,\n  \"static_shared_bytes\": %u,\n"
                     "  \"dynamic_shared_bytes\": %u,\n  \"barriers\": %u,\n  \"threads\": %u,\n",
                     r->target->name, r->registers, r->spill_store_bytes, r->spill_load_bytes,
                     r->stack_bytes, r->static_shared_bytes, r->dynamic_shared_bytes, r->barriers,
                     r->threads);
    for (unsigned i = 0; i < r->spill_count; i++)
        tile_text_format(
            to, "%s\n    {\"where\": \"%s\", \"store_bytes\": %u, \"load_bytes\": %u}%s",
            i ? "," : "  \"spills\": [", place_of_spill(&r->spills[i]), r->spills[i].store_bytes,
            r->spills[i].load_bytes, i + 1 < r->spill_count ? "" : "\n  ],\n");
    tile_text_format(to, "  \"sm_blocks\": %u,\n  \"occupancy\": %.4f,\n  \"limit\": \"%s\"\n}\n",
                     r->sm_blocks, occupancy, r->limit);
}

static void print_table(const tile_resources *r, double occupancy, tile_text *to) {
    tile_text_format(to, "registers      %u a thread, of 255; %u threads a block\n", r->registers,
                     r->threads);
    tile_text_format(to, "spills         %u bytes stored, %u loaded; stack %u bytes\n",
                     r->spill_store_bytes, r->spill_load_bytes, r->stack_bytes);
    for (unsigned i = 0; i < r->spill_count; i++)
        tile_text_format(to, "               %u bytes stored, %u loaded: %s\n",
                         r->spills[i].store_bytes, r->spills[i].load_bytes,
                         place_of_spill(&r->spills[i]));
    tile_text_format(to, "shared memory  %u bytes static, %u dynamic, of %u\n",
                     r->static_shared_bytes, r->dynamic_shared_bytes, r->target->max_shared_bytes);
    tile_text_format(to, "barriers       %u of 16\n", r->barriers);
    tile_text_format(to, "occupancy      %u blocks, %u of %u warps (%.0f %%) of %s; limit: %s\n",
                     r->sm_blocks, r->sm_blocks * (r->threads / 32), r->target->sm_warps,
                     100 * occupancy, r->target->name, r->limit);
}

void tile_resources_print(const tile_resources *resources, bool json, tile_writer writer,
                          void *user) {
    TILE_GUARD(NULL, )
    if (!resources || !resources->target || !writer) return;
    tile_arena arena = {0};
    tile_text text = {.arena = &arena};
    unsigned warps = resources->sm_blocks * (resources->threads / 32);
    double occupancy = (double)warps / resources->target->sm_warps;
    (json ? print_json : print_table)(resources, occupancy, &text);
    writer(text.data, text.length, user);
    tile_arena_reset(&arena);
}

/* Instructions --------------------------------------------------------------------------------- */

static tile_status run_disassembler(tile_context *context, const tile_blob *cubin, const char *path,
                                    tile_blob *sass) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool dumps = strncmp(name, "cuobjdump", 9) == 0;
    char *nvdisasm[] = {(char *)path, (char *)"-c", (char *)"-g", (char *)"/dev/stdin", NULL};
    char *cuobjdump[] = {(char *)path, (char *)"-sass", (char *)"/dev/stdin", NULL};
    tile_program program;
    tile_status status = tile_program_open(context, &program, cubin->data, cubin->size);
    if (status == TILE_OK)
        status = tile_program_run(context, &program, dumps ? cuobjdump : nvdisasm);
    if (status == TILE_OK && program.code != 0)
        status = tile_program_refused(context, &program, name);
    if (status == TILE_OK) sass->data = tile_program_read(program.out, &sass->size);
    tile_program_close(&program);
    return status;
}

static tile_status assemble(tile_context *context, const tile_blob *ptx, const tile_target *target,
                            const char *ptxas, tile_blob *cubin) {
    if (!ptxas) return tile_assemble(context, ptx, target, NULL, cubin);
    tile_program program;
    tile_status status = tile_run_ptxas(context, &program, ptx, target, ptxas, "-lineinfo");
    if (status == TILE_OK) cubin->data = tile_program_read(program.out, &cubin->size);
    tile_program_close(&program);
    return status;
}

tile_status tile_disassemble(tile_context *context, const tile_blob *ptx, const tile_target *target,
                             const char *ptxas, const char *disassembler, tile_blob *sass) {
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    tile_blob cubin = {NULL, 0};
    *sass = (tile_blob){NULL, 0};
    if (!check(context, ptx, target, disassembler,
               "nvdisasm prints the instructions; give its path"))
        return TILE_INVALID;
    tile_status status = assemble(context, ptx, target, ptxas, &cubin);
    if (status == TILE_OK) status = run_disassembler(context, &cubin, disassembler, sass);
    tile_blob_destroy(&cubin);
    return status;
}

/* Comments ------------------------------------------------------------------------------------- */

/* Diagnostics about the code were reported when it was built. */
static tile_status disassemble_quietly(const tile_dump_options *options, tile_blob *marked) {
    tile_context *context = tile_function_context(options->kernel);
    tile_blob sass;
    tile_diversion diversion = tile_context_divert(context, NULL, NULL);
    tile_status status = tile_disassemble(context, marked, options->emit->target, options->ptxas,
                                          options->disassembler, &sass);
    tile_context_restore(&diversion);
    tile_blob_destroy(marked);
    *marked = sass;
    return status;
}

static void write_annotated(const tile_dump_options *options, const tile_blob *code,
                            const tile_blob *marked, tile_blob *out) {
    tile_arena arena = {0};
    tile_text text = {.arena = &arena};
    tile_dump_write(options, code, marked, &text);
    out->data = tile_malloc(text.length + 1);
    memcpy(out->data, text.data, text.length);
    out->data[text.length] = 0;
    out->size = text.length;
    tile_arena_reset(&arena);
}

/* Copies the caller's options. Returns false, after a diagnostic if the cause is not plain, unless
 * they describe a kernel at level 3 and there is code. */
static bool take_dump_options(tile_context *context, const tile_dump_options *given,
                              const tile_blob *code, tile_dump_options *options,
                              tile_emit_options *emit) {
    if (!TILE_TAKE_OPTIONS(context, tile_dump_options, options, given)) return false;
    const tile_function *kernel = options->kernel;
    if (!kernel || kernel->level != 3 || !options->abi || !code || !code->data ||
        (unsigned)options->kind > TILE_DUMP_SASS)
        return false;
    bool taken = TILE_TAKE_OPTIONS(context, tile_emit_options, emit, options->emit);
    options->emit = emit;
    return taken && tile_target_check(context, kernel->loc, emit->target);
}

/* The same code, whose places are operations. */
static tile_status make_marked(const tile_dump_options *options, tile_blob *marked) {
    tile_emit_kind kind = options->kind == TILE_DUMP_LLVM ? TILE_EMIT_LLVM : TILE_EMIT_PTX;
    tile_status status = tile_emit_marked(options->kernel, kind, options->emit, marked);
    if (status == TILE_OK && options->kind == TILE_DUMP_SASS)
        status = disassemble_quietly(options, marked);
    return status;
}

tile_status tile_annotate(const tile_dump_options *given, const tile_blob *code, tile_blob *out) {
    tile_dump_options options;
    tile_emit_options emit;
    tile_blob marked = {NULL, 0};
    *out = (tile_blob){NULL, 0};
    tile_context *context = given && given->kernel ? tile_function_context(given->kernel) : NULL;
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    if (!take_dump_options(context, given, code, &options, &emit)) return TILE_INVALID;
    tile_status status = make_marked(&options, &marked);
    if (status == TILE_OK) write_annotated(&options, code, &marked, out);
    tile_blob_destroy(&marked);
    return status;
}

/* The spills with their words in one allocation. */
static void copy_spills(const tile_spill *spills, unsigned count, tile_resources *to) {
    size_t size = sizeof *spills * count;
    for (unsigned i = 0; i < count; i++) size += spills[i].where ? strlen(spills[i].where) + 1 : 0;
    to->spills = tile_malloc(size + 1);
    to->spill_count = count;
    char *words = (char *)(to->spills + count);
    for (unsigned i = 0; i < count; i++) {
        to->spills[i] = spills[i];
        if (!spills[i].where) continue;
        to->spills[i].where = strcpy(words, spills[i].where);
        words += strlen(words) + 1;
    }
}

tile_status tile_inspect_spills(const tile_dump_options *given, const tile_blob *sass,
                                tile_resources *resources) {
    tile_dump_options options;
    tile_emit_options emit;
    tile_blob marked = {NULL, 0};
    tile_arena arena = {0};
    unsigned count;
    tile_context *context = given && given->kernel ? tile_function_context(given->kernel) : NULL;
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    if (!take_dump_options(context, given, sass, &options, &emit) || !resources ||
        options.kind != TILE_DUMP_SASS)
        return TILE_INVALID;
    tile_resources_destroy(resources);
    tile_status status = make_marked(&options, &marked);
    if (status == TILE_OK) {
        const tile_spill *spills = tile_dump_spills(&options, sass, &marked, &arena, &count);
        copy_spills(spills, count, resources);
    }
    tile_blob_destroy(&marked);
    tile_arena_reset(&arena);
    return status;
}

void tile_resources_destroy(tile_resources *resources) {
    if (!resources) return;
    free(resources->spills);
    resources->spills = NULL;
    resources->spill_count = 0;
}
