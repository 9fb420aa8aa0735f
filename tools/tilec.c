/* tilec: compiles a kernel from Tile IR to any later form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tile/artifact.h"
#include "tile/inspect.h"
#include "tools/common/annotate.h"
#include "tools/common/assembler.h"
#include "tools/common/cache.h"
#include "tools/common/include.h"
#include "tools/common/points.h"

static const char help[] =
    "usage: tilec FILE [options]\n"
    "Compiles a kernel of a .tile file (-: standard input) for an NVIDIA GPU.\n"
    "\n"
    "  --target=NAME         the GPU (default: sm_80), one of\n"
    "     "
#define TARGET(name, ...) " " #name
#include "tile/targets.def"
#undef TARGET
    "\n"
    "  --param NAME=VALUE    sets a compile-time parameter; may be repeated. A parameter that is\n"
    "                        not set has its default, or the value of the first tuning point that\n"
    "                        agrees with the parameters that are set\n"
    "  --kernel=NAME         the kernel, plan or compute to compile (a compute is first turned\n"
    "                        into a kernel or plan). Required if the file has several; without\n"
    "                        it, a plan comes first\n"
    "  --emit=KIND           what to write:\n"
    "                        tile   the IR after the passes\n"
    "                        llvm   LLVM IR after LLVM's passes\n"
    "                        ptx    PTX (default)\n"
    "                        cubin  a cubin, by ptxas if it is found, else by the driver\n"
    "                        abi    the launch interface as JSON\n"
    "                        key    the key of the PTX in a cache: equal keys mean equal PTX\n"
    "                        sass   machine instructions with their source lines, disassembled by\n"
    "                               nvdisasm or cuobjdump\n"
    "                        resources  registers, spills, shared memory, barriers and occupancy,\n"
    "                               as reported by ptxas; as JSON with --json\n"
    "  --variant=N|all       the variant of the kernel to compile (--emit=abi lists them). The\n"
    "                        default, 0, relies on everything that the kernel declares. all\n"
    "                        writes each variant to its own file, with the number before the\n"
    "                        extension of FILE: k.ptx gives k.0.ptx\n"
    "  --step=N              compiles only kernel N of several launches (of a plan, or of a point\n"
    "                        whose `split` adds one), counted from 0 as in \"kernels\" of\n"
    "                        --emit=abi. Without it, the output has all of them, each after a\n"
    "                        line with its number and name; cubins go into files as with\n"
    "                        --variant=all\n"
    "  -o FILE               output file (default: -, standard output)\n"
    "  --passes=PIPELINE     runs these passes after instantiate instead of the default ones\n"
    "  --ptx-version=N.N     writes a higher PTX version than the kernel needs\n"
    "  --ptxas=PATH          the assembler to use; `driver` is the driver's\n"
    "  --disassembler=PATH   the nvdisasm or cuobjdump to use. Without it and --ptxas, the tools\n"
    "                        are searched on PATH, in $CUDA_HOME/bin and in /usr/local/cuda/bin\n"
    "  --bare                writes LLVM IR, PTX and SASS without comments. Otherwise the output\n"
    "                        begins with a description of the kernel and its launch, and comments\n"
    "                        name source lines, warp roles, pipeline stages and barriers\n"
    "  --no-line-info        writes no .loc directives\n"
    "  --stamps              adds code that records in a global array when each warp synchronizes\n"
    "                        (tile-run --trace reads it on a GPU); the kernel becomes "
    "slower\n" TOOL_INCLUDE_HELP TOOL_REMARKS_HELP TOOL_CACHE_HELP
    "  --timing              prints the time of each step to standard error\n"
    "  --help                prints this text\n"
    "  --version             prints the version\n";

enum { MAX_PARAMS = 64 };

typedef struct options {
    const char *input, *output, *emit, *kernel, *passes, *ptxas, *disassembler;
    const tile_target *target;
    tile_binding params[MAX_PARAMS];
    unsigned param_count;
    unsigned ptx_version, variant, step;
    bool one_step, all_variants, no_line_info, timing, json, stamps, bare, help, version;
    tool_remarks remarks;
    tool_cache cache;
    tool_points points;
} options;

static bool complain(const char *what, const char *word) {
    fprintf(stderr, "error: %s '%s'; see tilec --help\n", what, word);
    return false;
}

static bool add_param(options *o, const char *text) {
    const char *why = tool_add_binding(o->params, MAX_PARAMS, &o->param_count, text);
    return !why || complain(why, text);
}

static bool set_target(options *o, const char *name) {
    o->target = tile_target_find(name);
    if (o->target) return true;
    fprintf(stderr, "error: there is no target '%s'; there are", name);
    for (unsigned i = 0; tile_target_at(i); i++) fprintf(stderr, " %s", tile_target_at(i)->name);
    fputc('\n', stderr);
    return false;
}

static bool set_emit(options *o, const char *kind) {
    static const char *const kinds[] = {"tile", "llvm", "ptx",  "cubin",
                                        "abi",  "key",  "sass", "resources"};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0) o->emit = kinds[i];
    return o->emit ||
           complain("--emit takes tile, llvm, ptx, cubin, abi, key, sass or resources, not", kind);
}

/* Parses "8.0" or "80". */
static bool set_ptx_version(options *o, const char *text) {
    unsigned major, minor;
    char rest;
    if (sscanf(text, "%1u.%1u%c", &major, &minor, &rest) != 2 &&
        sscanf(text, "%1u%1u%c", &major, &minor, &rest) != 2)
        return complain("--ptx-version takes a version such as 8.0, not", text);
    o->ptx_version = 10 * major + minor;
    return true;
}

static bool set_variant(options *o, const char *text) {
    char rest;
    o->all_variants = strcmp(text, "all") == 0;
    o->variant = 0;
    bool digit = *text >= '0' && *text <= '9'; /* sscanf would also accept a sign */
    return o->all_variants || (digit && sscanf(text, "%2u%c", &o->variant, &rest) == 1) ||
           complain("--variant takes a number from 0 to 99 or 'all', not", text);
}

static bool set_step(options *o, const char *text) {
    char rest;
    o->one_step = sscanf(text, "%3u%c", &o->step, &rest) == 1;
    return o->one_step || complain("--step takes a number from 0 to 999, not", text);
}

static bool take_option(tool_arguments *words, options *o) {
    const char *value;
    bool ok;
    if (tool_include_option(words, &ok) || tool_remarks_option(words, &o->remarks, &ok)) return ok;
    if (tool_option(words, "--target", &value)) return set_target(o, value);
    if (tool_option(words, "--param", &value)) return add_param(o, value);
    if (tool_points_option(words, &o->points, &ok)) return ok;
    if (tool_option(words, "--emit", &value)) {
        o->emit = NULL;
        return set_emit(o, value);
    }
    if (tool_option(words, "--ptx-version", &value)) return set_ptx_version(o, value);
    if (tool_option(words, "--variant", &value)) return set_variant(o, value);
    if (tool_option(words, "--step", &value)) return set_step(o, value);
    if (tool_option(words, "--kernel", &o->kernel) || tool_option(words, "-o", &o->output) ||
        tool_option(words, "--passes", &o->passes) || tool_option(words, "--ptxas", &o->ptxas) ||
        tool_option(words, "--disassembler", &o->disassembler))
        return true;
    if (tool_flag(words, "--no-line-info")) return o->no_line_info = true;
    if (tool_flag(words, "--timing")) return o->timing = true;
    if (tool_flag(words, "--stamps")) return o->stamps = true;
    if (tool_flag(words, "--json")) return o->json = o->points.json = true;
    if (tool_flag(words, "--bare")) return o->bare = true;
    if (tool_flag(words, "--help") || tool_flag(words, "-h")) return o->help = true;
    if (tool_flag(words, "--version")) return o->version = true;
    if (tool_cache_option(words, &o->cache)) return true;
    if (!o->input && tool_positional(words, &o->input)) return true;
    return tool_refuse_option(words, "tilec", help);
}

/* Timing -------------------------------------------------------------------------------------- */

static double now(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void print_time(const char *step, double seconds, void *user) {
    const options *o = user;
    if (o->timing) fprintf(stderr, "%9.3f ms  %s\n", seconds * 1e3, step);
}

/* Steps --------------------------------------------------------------------------------------- */

static bool is_wanted(const options *o, const char *kind) {
    return strcmp(o->emit, kind) == 0;
}

static bool lower(const options *o, tile_module *module, const char *kernel) {
    const tile_pass_options passes = {
        .size = sizeof passes, .target = o->target, .timing = print_time, .report_user = (void *)o};
    const char *after = o->passes ? o->passes : tile_default_pipeline(3);
    tool_text text = {NULL, 0, 0};
    char choice[40];
    if (o->variant) {
        snprintf(choice, sizeof choice, "choose-variant{variant=%u}%s", o->variant,
                 *after ? "," : "");
        tool_append(choice, strlen(choice), &text);
        tool_append(after, strlen(after), &text);
    }
    tile_status status = tile_lower(module, kernel, o->params, o->param_count,
                                    text.data ? text.data : o->passes, &passes, NULL);
    free(text.data);
    return status == TILE_OK;
}

/* Emits the forms before code generation. */
static bool emit_tile(const options *o, tile_module *module, const char *kernel, tool_text *text) {
    bool ok = lower(o, module, kernel);
    if (ok) tile_module_print(module, tool_append, text);
    return ok;
}

static tile_emit_options emit_options(const options *o) {
    return (tile_emit_options){.size = sizeof(tile_emit_options),
                               .target = o->target,
                               .ptx_version = o->ptx_version,
                               .no_line_info = o->no_line_info,
                               .stamps = o->stamps,
                               .timing = print_time,
                               .report_user = (void *)o};
}

/* Appends the code, annotated with comments if the module has the kernel at level 3 (NULL: not). */
static bool put_code(const options *o, tile_dump_options dump, const tile_module *lowered,
                     const tile_blob *code, tool_text *text) {
    tile_emit_options emit = emit_options(o);
    emit.timing = NULL;
    dump.size = sizeof dump;
    dump.emit = &emit;
    return tool_put_code(&dump, lowered, code, text);
}

static bool emit_llvm(const options *o, const tile_function *f, const tile_module *lowered,
                      const tile_abi *abi, tool_text *text) {
    tile_blob llvm = {NULL, 0};
    const tile_emit_options emit = emit_options(o);
    bool ok =
        tile_emit(f, TILE_EMIT_LLVM, &emit, &llvm) == TILE_OK &&
        put_code(o, (tile_dump_options){.kind = TILE_DUMP_LLVM, .abi = abi}, lowered, &llvm, text);
    tile_blob_destroy(&llvm);
    return ok;
}

static bool emit_sass(const options *o, tile_context *context, const tile_module *lowered,
                      const tile_artifact_kernel *made, const char *ptxas, tool_text *text) {
    char *found;
    const char *program = tool_find_disassembler(o->disassembler, &found);
    tile_blob sass = {NULL, 0};
    const tile_dump_options dump = {
        .kind = TILE_DUMP_SASS, .abi = made->abi, .ptxas = ptxas, .disassembler = program};
    bool ok =
        program ? tile_disassemble(context, &made->ptx, o->target, ptxas, program, &sass) == TILE_OK
                : tool_need_program("--emit=sass", "nvdisasm or cuobjdump", "--disassembler");
    ok = ok && put_code(o, dump, lowered, &sass, text);
    tile_blob_destroy(&sass);
    free(found);
    return ok;
}

static bool emit_resources(const options *o, tile_context *context, const tile_module *lowered,
                           const tile_artifact_kernel *made, const char *ptxas, tool_text *text) {
    tile_resources resources;
    const tile_emit_options emit = emit_options(o);
    const tile_dump_options dump = {sizeof dump, TILE_DUMP_SASS, NULL,           made->abi,
                                    &emit,       ptxas,          o->disassembler};
    if (!ptxas) return tool_need_program("--emit=resources", "ptxas", "--ptxas");
    if (tile_inspect_resources(context, &made->ptx, made->abi, o->target, ptxas, &resources) !=
        TILE_OK)
        return false;
    bool ok = tool_find_spills(&dump, lowered, &made->ptx, &resources);
    if (ok) tile_resources_print(&resources, o->json, tool_append, text);
    tile_resources_destroy(&resources);
    return ok;
}

/* The result of a build, and the module at level 3 that comments are generated from, even if the
 * code was cached. NULL: no comments. */
typedef struct built {
    const tile_module *module, *lowered;
    const tile_build_options *wanted;
    const tile_artifact *artifact;
} built;

/* Emits one kernel's code. For LLVM IR the kernel is at level 3 in its module. */
static bool emit_code(const options *o, const built *b, unsigned index, tool_text *text) {
    const tile_artifact_kernel *made = tile_artifact_kernel_at(b->artifact, index);
    tile_context *context = tile_module_context(b->module);
    if (is_wanted(o, "llvm"))
        return emit_llvm(o, tile_module_find(b->module, tile_abi_entry(made->abi)), b->lowered,
                         made->abi, text);
    if (is_wanted(o, "sass"))
        return emit_sass(o, context, b->lowered, made, b->wanted->ptxas, text);
    if (is_wanted(o, "ptx"))
        return put_code(o, (tile_dump_options){.kind = TILE_DUMP_PTX, .abi = made->abi}, b->lowered,
                        &made->ptx, text);
    if (is_wanted(o, "resources"))
        return emit_resources(o, context, b->lowered, made, b->wanted->ptxas, text);
    tool_append(made->cubin.data, made->cubin.size, text);
    return true;
}

/* Several launches ---------------------------------------------------------------------------- */

/* From "folder/k.ptx" and 2 makes "folder/k.2.ptx", from "k" "k.2". The caller frees it. */
static char *numbered_path(const char *path, unsigned number) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - path) : strlen(path);
    char middle[16];
    tool_text text = {NULL, 0, 0};
    snprintf(middle, sizeof middle, ".%u", number);
    tool_append(path, stem, &text);
    tool_append(middle, strlen(middle), &text);
    tool_append(path + stem, strlen(path + stem), &text);
    return text.data;
}

static bool write_cubins(const options *o, const tile_artifact *artifact) {
    bool ok = strcmp(o->output, "-") != 0 ||
              complain("the cubins of several launches are several files: name them with -o FILE, "
                       "or take one with",
                       "--step=N");
    for (unsigned i = 0; i < tile_artifact_kernel_count(artifact) && ok; i++) {
        const tile_blob *cubin = &tile_artifact_kernel_at(artifact, i)->cubin;
        char *path = numbered_path(o->output, i);
        ok = tool_write_file(path, cubin->data, cubin->size);
        free(path);
    }
    return ok;
}

/* Writes a comment that introduces the following code. */
static void put_heading(const options *o, const tile_artifact *artifact, unsigned index,
                        tool_text *text) {
    const char *mark = is_wanted(o, "llvm") ? ";" : is_wanted(o, "resources") ? "#" : "//";
    const tile_artifact_kernel *made = tile_artifact_kernel_at(artifact, index);
    char number[48];
    snprintf(number, sizeof number, "%s%s kernel %u of %u: @", index ? "\n" : "", mark, index,
             tile_artifact_kernel_count(artifact));
    tool_append(number, strlen(number), text);
    tool_append(tile_abi_entry(made->abi), strlen(tile_abi_entry(made->abi)), text);
    tool_append("\n", 1, text);
}

/* Emits the requested kernels; as JSON, a list of them. */
static bool emit_kernels(const options *o, const built *b, tool_text *text) {
    unsigned count = tile_artifact_kernel_count(b->artifact);
    if (o->one_step && o->step >= count) {
        fprintf(stderr, "error: --step=%u: there are %u kernels, 0 to %u\n", o->step, count,
                count - 1);
        return false;
    }
    if (o->one_step) return emit_code(o, b, o->step, text);
    if (is_wanted(o, "cubin")) return write_cubins(o, b->artifact);
    bool list = is_wanted(o, "resources") && o->json, ok = true;
    for (unsigned i = 0; i < count && ok; i++) {
        if (list)
            tool_append(i ? ", " : "[", i ? 2 : 1, text);
        else
            put_heading(o, b->artifact, i, text);
        ok = emit_code(o, b, i, text);
    }
    if (list) tool_append("]\n", 2, text);
    return ok;
}

static bool refuse_variants(const char *plan) {
    return complain("a plan has no variants, its kernels have: --kernel=KERNEL", plan);
}

static bool build(const options *o, tile_module *module, const char *kernel,
                  const tile_build_options *wanted, tool_text *text) {
    tile_artifact *artifact;
    bool is_read = is_wanted(o, "ptx") || is_wanted(o, "sass") || is_wanted(o, "llvm") ||
                   is_wanted(o, "resources");
    bool has_comments = is_read && !o->bare;
    tile_module *lowered =
        has_comments ? tool_lower_copy(module, kernel, wanted, o->remarks) : NULL;
    if (tile_artifact_build(module, kernel, wanted, &artifact) != TILE_OK)
        return tile_module_destroy(lowered), false;
    const built b = {module, lowered, wanted, artifact};
    const tile_function *plan = tile_artifact_plan(artifact);
    const tile_artifact_kernel *only = tile_artifact_kernel_at(artifact, 0);
    bool ok = true;
    if (plan && o->variant)
        ok = refuse_variants(tile_function_name(plan));
    else if (plan && is_wanted(o, "abi"))
        ok = tile_plan_print(plan, tool_append, text) == TILE_OK;
    else if (plan)
        ok = emit_kernels(o, &b, text);
    else if (o->one_step)
        ok = complain("--step applies to several launches, not to", "one kernel");
    else if (is_wanted(o, "abi"))
        tile_abi_print(only->abi, tool_append, text);
    else
        ok = emit_code(o, &b, 0, text);
    tile_artifact_destroy(artifact);
    tile_module_destroy(lowered);
    return ok;
}

static bool emit_key(const tile_module *module, const char *kernel,
                     const tile_build_options *wanted, tool_text *text) {
    tile_artifact_key key;
    if (tile_artifact_make_key(module, kernel, wanted, &key) != TILE_OK) return false;
    tool_append(key.text, strlen(key.text), text);
    tool_append("\n", 1, text);
    return true;
}

/* Returns the ptxas to use; `driver` or no option: the driver. The caller frees *found. */
static const char *choose_ptxas(const options *o, char **found) {
    *found = NULL;
    if (o->ptxas) return strcmp(o->ptxas, "driver") ? o->ptxas : NULL;
    bool assembles = is_wanted(o, "cubin") || is_wanted(o, "sass") || is_wanted(o, "resources");
    return assembles ? *found = tool_find_ptxas() : NULL;
}

/* Binds the parameters. */
static bool instantiate(const options *o, tile_module *module, const tile_function *plan) {
    const tile_pass_options none = {
        .size = sizeof none, .target = o->target, .timing = print_time, .report_user = (void *)o};
    const char *name = plan ? tile_function_name(plan) : o->kernel;
    return tile_lower(module, name, o->params, o->param_count, "", &none, NULL) == TILE_OK;
}

/* Emits the artifact of a plan, if there is one, else of a kernel. */
static bool emit_artifact(const options *o, tile_module *module, const tile_function *plan,
                          tool_text *text) {
    char *found;
    const char *kernel = plan ? tile_function_name(plan) : o->kernel;
    unsigned wants = is_wanted(o, "abi") || is_wanted(o, "llvm") ? 0
                     : is_wanted(o, "cubin")                     ? TILE_WANT_CUBIN
                                                                 : TILE_WANT_PTX;
    bool looks = wants && !is_wanted(o, "key");
    tile_cache *cache = looks ? tool_cache_open(&o->cache, tile_module_context(module)) : NULL;
    const tile_build_options wanted = {.size = sizeof wanted,
                                       .target = o->target,
                                       .wants = wants,
                                       .variant = o->variant,
                                       .pipeline = o->passes,
                                       .ptx_version = o->ptx_version,
                                       .no_line_info = o->no_line_info,
                                       .stamps = o->stamps,
                                       .ptxas = choose_ptxas(o, &found),
                                       .cache = cache,
                                       .timing = print_time,
                                       .report_user = (void *)o};
    bool ok = instantiate(o, module, plan);
    if (ok && is_wanted(o, "key"))
        ok = emit_key(module, kernel, &wanted, text);
    else if (ok)
        ok = build(o, module, kernel, &wanted, text);
    tile_cache_destroy(cache);
    free(found);
    return ok;
}

/* Returns the named plan, or the only one. */
static tile_function *find_plan(const options *o, const tile_module *module) {
    tile_function *f, *found = NULL;
    for (unsigned i = 0; (f = tile_module_function(module, i)); i++) {
        bool named = o->kernel && strcmp(tile_function_name(f), o->kernel) == 0;
        if (tile_function_get_kind(f) != TILE_PLAN || (o->kernel && !named)) continue;
        if (found) return NULL;
        found = f;
    }
    return found;
}

/* Emits a plan's text with the kernels that it launches, its interface, or their code. */
static bool emit_plan(const options *o, tile_module *module, tile_function *plan, tool_text *text) {
    if (is_wanted(o, "tile")) return emit_tile(o, module, tile_function_name(plan), text);
    if (!is_wanted(o, "abi")) return emit_artifact(o, module, plan, text);
    return instantiate(o, module, plan) && tile_plan_print(plan, tool_append, text) == TILE_OK;
}

static bool compile_variant(const options *o, tile_module *module) {
    tool_text text = {NULL, 0, 0};
    tile_function *plan = find_plan(o, module);
    tool_append("", 0, &text);
    bool ok = plan                   ? emit_plan(o, module, plan, &text)
              : is_wanted(o, "tile") ? emit_tile(o, module, o->kernel, &text)
                                     : emit_artifact(o, module, NULL, &text);
    ok &= !tool_remarks_failed();
    if (ok && text.size) /* cubins of several launches have been written already */
        ok = tool_write_file(o->output, text.data, text.size);
    free(text.data);
    return ok;
}

/* Variants ------------------------------------------------------------------------------------ */

/* Returns 0 after a diagnostic. */
static unsigned count_variants(const options *o, tile_module *module) {
    tile_artifact *artifact;
    const tile_build_options build = {
        .size = sizeof build, .target = o->target, .level = 2, .no_remarks = true};
    const tile_pass_options none = {.size = sizeof none, .target = o->target};
    if (tile_lower(module, o->kernel, o->params, o->param_count, "", &none, NULL) != TILE_OK ||
        tile_artifact_build(module, o->kernel, &build, &artifact) != TILE_OK)
        return 0;
    const tile_function *plan = tile_artifact_plan(artifact);
    unsigned count = tile_abi_variant_count(tile_artifact_kernel_at(artifact, 0)->abi);
    if (plan) count = refuse_variants(tile_function_name(plan));
    tile_artifact_destroy(artifact);
    return count;
}

static bool compile_all(const options *o, const tile_module *module) {
    tile_module *copy = tile_module_clone(module);
    unsigned count = count_variants(o, copy);
    tile_module_destroy(copy);
    bool ok = count > 0;
    for (unsigned variant = 0; variant < count && ok; variant++) {
        char *path = numbered_path(o->output, variant);
        options one = *o;
        one.variant = variant;
        one.output = path;
        copy = tile_module_clone(module);
        ok = compile_variant(&one, copy);
        tile_module_destroy(copy);
        free(path);
    }
    return ok;
}

static bool compile(const options *o, tile_module *module) {
    const tile_function *plan = find_plan(o, module);
    if (plan && (o->variant || o->all_variants)) return refuse_variants(tile_function_name(plan));
    const char *name = plan ? tile_function_name(plan) : o->kernel;
    const tile_function *only = name ? NULL : tool_only_function(module);
    tile_module *written = o->param_count ? tile_module_clone(module) : NULL;
    bool ok = o->all_variants ? compile_all(o, module) : compile_variant(o, module);
    if (!ok && written)
        tile_note_fitting_point(written, only ? tile_function_name(only) : name, o->params,
                                o->param_count, o->target);
    tile_module_destroy(written);
    return ok;
}

/* Returns the named compute, or the only function that is no func. */
static const tile_function *find_compute(const options *o, const tile_module *module) {
    const tile_function *found =
        o->kernel ? tile_module_find(module, o->kernel) : tool_only_function(module);
    return found && tile_function_get_kind(found) == TILE_COMPUTE ? found : NULL;
}

/* Schedules the compute; the resulting kernel or plan is then compiled. */
static bool schedule(options *o, tile_module *module) {
    const tile_function *compute = find_compute(o, module);
    tile_binding left[MAX_PARAMS];
    unsigned count = o->param_count;
    if (!compute) return true;
    memcpy(left, o->params, sizeof left);
    tile_status status =
        tile_schedule(module, tile_function_name(compute), o->target, left, &count, &o->kernel);
    for (unsigned i = 0; i < o->param_count; i++) {
        bool kept = false;
        for (unsigned n = 0; n < count; n++) kept |= left[n].name == o->params[i].name;
        if (!kept) free((char *)o->params[i].name);
    }
    memcpy(o->params, left, sizeof left);
    o->param_count = count;
    return status == TILE_OK;
}

int main(int argc, char **argv) {
    double begin = now();
    options o = {.output = "-", .emit = "ptx", .target = tile_target_find("sm_80")};
    tool_arguments words = {argc, argv, 1};
    tool_start();
    while (words.next < argc)
        if (!take_option(&words, &o)) return 1;
    if (!tool_points_check(&o.points)) return 1;
    if (o.help) {
        fputs(help, stdout);
        printf("\nPoints:\n" TOOL_POINTS_HELP "\nThe default passes: %s\n",
               tile_default_pipeline(3));
        return tool_finish(true);
    }
    if (o.version) return tool_print_version("tilec");
    if (!o.input) return fputs("error: no input file; see tilec --help\n", stderr), 1;
    if (o.all_variants && strcmp(o.output, "-") == 0) {
        fputs("error: --variant=all writes several files: name them with -o FILE\n", stderr);
        return 1;
    }
    tile_context *context = tile_context_create();
    tool_print_remarks(context, o.remarks);
    tile_module *module = tool_parse_file(context, o.input);
    print_time("parse", now() - begin, &o);
    bool ok = module && schedule(&o, module) &&
              (o.points.list ? tool_list_points(module, &o.points, o.kernel, o.target, o.params,
                                                o.param_count, o.output)
                             : compile(&o, module));
    print_time("total", now() - begin, &o);
    tile_module_destroy(module);
    tile_context_destroy(context);
    for (unsigned i = 0; i < o.param_count; i++) free((char *)o.params[i].name);
    tool_points_close(&o.points);
    return tool_finish(ok);
}
