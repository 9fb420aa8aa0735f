/* Runs a kernel in all ways and compares the results. */
#include "test/fuzz/random/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile/artifact.h"
#include "tile/compile.h"
#include "tile/compute.h"
#include "tile/tune.h"
#include "tools/tile-opt/case.h"

static const char *const texts[] = {
    [FOUND_NOTHING] = "nothing is wrong",
    [FOUND_LIMIT] = "it asks for more than there is",
    [FOUND_INVALID] = "it is not a kernel",
    [FOUND_SCHEDULE] = "it cannot be scheduled",
    [FOUND_FAULT_2] = "level 2 does not run",
    [FOUND_FAULT_3] = "level 3 does not run",
    [FOUND_FAULT_PASSES] = "it does not run with these passes",
    [FOUND_FAULT_CUDA] = "it does not run on the GPU",
    [FOUND_OTHER_3] = "level 3 gives something else",
    [FOUND_OTHER_PASSES] = "other passes give something else",
    [FOUND_OTHER_CUDA] = "the GPU gives something else",
    [FOUND_OTHER_1] = "it does not give what level 1 says",
    [FOUND_PTX] = "it does not become PTX",
    [FOUND_CUBIN] = "ptxas refuses it",
    [FOUND_SLOW] = "ptxas lets products wait for each other",
};

const char *finding_text(finding f) {
    return texts[f];
}

/* True if a limit was exceeded: of the target, of the length of code, or of where a clause is
 * allowed. */
static bool is_limit(const char *reports) {
    static const char *const limits[] = {"of shared memory",
                                         "one thread's code exceeds",
                                         "the code of one thread exceeds",
                                         "split-k: ",
                                         "a split loop",
                                         "has a `cluster` clause",
                                         "needs thread block clusters"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strstr(reports, limits[i])) return true;
    return false;
}

/* The file ------------------------------------------------------------------------------------ */

enum { MAX_ARRAYS = 16 };

/* The results of level 1: the compute and its arrays. */
typedef struct meaning {
    const tile_function *f;
    unsigned ins, outs;
    tile_compute_array inputs[MAX_ARRAYS], outputs[MAX_ARRAYS];
    tile_interval *intervals[MAX_ARRAYS];
    const run_argument *results[MAX_ARRAYS];
} meaning;

typedef struct checked {
    const check_options *options;
    tile_context *context;
    tile_module *module; /* as parsed */
    case_options given;
    unsigned sms;
    const char *compute; /* NULL: the file has a kernel, perhaps with a compute @meaning */
    char *point;         /* the point of the scheduled kernel */
    const tile_target *target;
    char *words, *pipeline;
    test_case test;
    case_result first;
    meaning meant;
    tool_text reports;
} checked;

static char *line_behind(const char *text, const char *marker) {
    const char *at = strstr(text, marker);
    return at ? tool_copy(at + strlen(marker), strcspn(at + strlen(marker), "\n")) : NULL;
}

static const char *value_of(const char *word, const char *option) {
    size_t length = strlen(option);
    return strncmp(word, option, length) == 0 ? word + length : NULL;
}

enum { MAX_BLOCKS = 64 /* at least the blocks of any random kernel's grid */ };

static void read_options(checked *c, const char *text) {
    c->words = line_behind(text, "// RUN-OPTIONS: ");
    c->pipeline = line_behind(text, "// RUN-PIPELINE: ");
    c->given = (case_options){.max_operations = 20000000};
    for (char *word = c->words ? strtok(c->words, " ") : NULL; word; word = strtok(NULL, " ")) {
        const char *value;
        if ((value = value_of(word, "--arg=")) && c->given.argument_count < CASE_MAX_ARGUMENTS)
            c->given.arguments[c->given.argument_count++] = value;
        else if ((value = value_of(word, "--kernel=")))
            c->given.kernel = value;
        else if ((value = value_of(word, "--seed=")))
            c->given.seed = strtoull(value, NULL, 10);
        else if ((value = value_of(word, "--tolerance=")))
            c->given.tolerance = strtod(value, NULL);
        else if ((value = value_of(word, "--target=")))
            c->target = tile_target_find(value);
    }
    /* Blocks that wait for each other must all be resident; otherwise few multiprocessors are a
     * better test. */
    bool waits = strstr(text, "lock_semaphore ") || strstr(text, "wait_value ");
    c->sms = waits ? MAX_BLOCKS : (unsigned)(c->given.seed % 3 + 1);
}

/* Level 1 ------------------------------------------------------------------------------------- */

static run_argument *argument_of(checked *c, const char *prefix, const char *name) {
    if (c->compute) prefix = "";
    char text[128];
    int length = snprintf(text, sizeof text, "%s%s", prefix, name);
    return arguments_find(c->test.arguments, c->test.count, text, (size_t)length);
}

static tile_compute_array array_of(const run_argument *a) {
    if (!a->is_array)
        return (tile_compute_array){.scalar = TILE_f64, .data = (void *)(uintptr_t)&a->number};
    tile_compute_array array = {
        .scalar = a->array.scalar, .rank = a->array.rank, .data = a->array.data};
    memcpy(array.dims, a->array.dims, sizeof array.dims);
    return array;
}

/* True if the results are within the intervals of correct results. For integers the intervals are
 * single values. */
static bool is_alike(checked *c, const meaning *m, unsigned index, const unsigned char *is) {
    const run_argument *a = m->results[index];
    const unsigned char *meant = m->outputs[index].data;
    unsigned step = tile_scalar_bytes(a->array.scalar);
    double tolerance = c->given.tolerance;
    host_array all = a->array;
    all.data = (unsigned char *)(uintptr_t)meant;
    double slack = tolerance > 0 ? array_root_mean_square(&all) : 0;
    for (size_t i = 0; i < a->array.count; i++) {
        double x = tile_scalar_read(a->array.scalar, meant + i * step);
        double y = tile_scalar_read(a->array.scalar, is + i * step);
        tile_interval interval = m->intervals[index][i];
        if (tile_interval_holds(interval, y)) continue;
        if (isfinite(x) && fabs(x - y) <= tolerance * (fabs(x) + slack)) continue;
        char text[200];
        int length = snprintf(text, sizeof text, "%%%s: element %zu is %g, and means %g (%g to %g)",
                              a->name, i, y, x, interval.low, interval.high);
        c->reports.size = 0;
        tool_append(text, (size_t)length, &c->reports);
        return false;
    }
    return true;
}

/* Finds the arguments that correspond to the compute's arrays; false if one is missing. */
static bool find_arrays(checked *c, meaning *m) {
    m->ins = tile_function_arg_count(m->f);
    unsigned outs = tile_function_result_count(m->f);
    if (m->ins > MAX_ARRAYS || outs > MAX_ARRAYS) return false;
    m->outs = outs;
    for (unsigned i = 0; i < m->ins; i++) {
        const run_argument *a = argument_of(c, "a_", tile_function_arg_name(m->f, i));
        if (!a) return false;
        m->inputs[i] = array_of(a);
    }
    for (unsigned i = 0; i < m->outs; i++) {
        const run_argument *a = argument_of(c, "o_", tile_function_result_name(m->f, i));
        if (!a) return false;
        m->results[i] = a;
        m->outputs[i] = array_of(a);
    }
    return true;
}

/* Runs the compute that defines the meaning, if there is one; otherwise c->meant.f is NULL. */
static finding run_meaning(checked *c) {
    meaning *m = &c->meant;
    *m = (meaning){.f = tile_module_find(c->module, c->compute ? c->compute : "meaning")};
    if (!m->f) return FOUND_NOTHING;
    if (!find_arrays(c, m)) return FOUND_INVALID;
    c->reports.size = 0;
    tool_append("", 0, &c->reports);
    tile_context_set_sink(c->context, case_keep_error, &c->reports);
    for (unsigned i = 0; i < m->outs; i++) {
        size_t count = m->results[i]->array.count;
        m->outputs[i].data = malloc(count * tile_scalar_bytes(m->outputs[i].scalar) + 1);
        m->intervals[i] = malloc((count + 1) * sizeof *m->intervals[i]);
    }
    bool ran = tile_compute_run_intervals(m->f, NULL, 0, m->inputs, m->ins, m->outputs,
                                          m->intervals, m->outs, TILE_f64) == TILE_OK;
    return ran ? FOUND_NOTHING : FOUND_OTHER_1;
}

static void free_meaning(meaning *m) {
    for (unsigned i = 0; i < m->outs; i++) {
        if (m->intervals[i]) free(m->outputs[i].data);
        free(m->intervals[i]);
    }
}

/* Copies unspecified elements from the first run, because points and levels need not agree on
 * them. */
static void copy_unspecified_elements(checked *c, const case_result *result) {
    const meaning *m = &c->meant;
    for (unsigned i = 0; m->f && i < m->outs; i++) {
        size_t which = (size_t)(m->results[i] - c->test.arguments);
        size_t step = tile_scalar_bytes(m->results[i]->array.scalar);
        for (size_t e = 0; e < m->results[i]->array.count; e++) {
            tile_interval r = m->intervals[i][e];
            if (isnan(r.low) && !isnan(r.high))
                memcpy(result->arrays[which] + e * step, c->first.arrays[which] + e * step, step);
        }
    }
}

static finding check_meaning(checked *c) {
    const meaning *m = &c->meant;
    bool right = true;
    for (unsigned i = 0; m->f && i < m->outs && right; i++)
        right = is_alike(c, m, i, c->first.arrays[m->results[i] - c->test.arguments]);
    return right ? FOUND_NOTHING : FOUND_OTHER_1;
}

/* Runs ---------------------------------------------------------------------------------------- */

/* Runs the kernel once. Returns `refused` if it cannot run; the reports are then in c->reports. */
static finding run(checked *c, const tile_device_options *options, bool cuda, finding refused,
                   case_result *result) {
    tile_device *device = NULL;
    c->reports.size = 0;
    tool_append("", 0, &c->reports);
    tile_context_set_sink(c->context, case_keep_error, &c->reports);
    tile_status status = cuda ? tile_device_create_cuda(c->context, options, &device)
                              : tile_device_create_cpu(c->context, options, &device);
    *result = (case_result){.outcome = CASE_REFUSED};
    if (status != TILE_OK) return refused;
    case_run_on(&c->test, c->module, device, result);
    tile_device_destroy(device);
    if (result->outcome == CASE_RAN) return FOUND_NOTHING;
    c->reports.size = 0;
    tool_append(result->reports.data, result->reports.size, &c->reports);
    return is_limit(result->reports.data) ? FOUND_LIMIT : refused;
}

/* Runs the kernel again, and compares the results with the first run. */
static finding compare(checked *c, const tile_device_options *options, bool cuda, finding refused,
                       finding other) {
    case_result result;
    finding found = run(c, options, cuda, refused, &result);
    if (found == FOUND_NOTHING) copy_unspecified_elements(c, &result);
    if (found == FOUND_NOTHING && case_differs(&c->test, &c->first, &result, &c->reports))
        found = other;
    case_free(&c->test, &result);
    return found;
}

/* Changes the kernel as if a pass had a bug: replaces an addition by a subtraction. */
static void plant(checked *c) {
    tool_text text = {NULL, 0, 0};
    tile_module_print(c->module, tool_append, &text);
    for (char *at = text.data; (at = strstr(at, " = add "));) memcpy(at, " = sub ", 7);
    tile_module *wrong = tile_module_parse(c->context, "planted", text.data, text.size);
    free(text.data);
    if (!wrong) return;
    tile_module_destroy(c->module);
    c->module = wrong;
}

static finding check_runs(checked *c) {
    const tile_function *f = tile_module_find(c->module, c->test.kernel);
    bool threads = tile_function_level(f) == 3;
    tile_device_options options = {.size = sizeof options,
                                   .level = threads ? 3 : 2,
                                   .max_operations = c->given.max_operations,
                                   .sms = c->sms,
                                   .print = case_drop_line,
                                   .host_math = true, /* levels agree bitwise */
                                   .pipeline = threads ? "" : NULL};
    finding found = run(c, &options, false, FOUND_FAULT_2, &c->first);
    if (found == FOUND_NOTHING) found = run_meaning(c);
    if (found != FOUND_NOTHING) return found;
    if (c->options->plant) plant(c);
    options.level = 3;
    options.seed = c->given.seed;
    options.pipeline = NULL;
    options.target = c->target;
    options.max_operations *= 5; /* level 3 counts operations per warp */
    if (c->options->cuda) {
        options.target = NULL;
        options.ptxas = c->options->ptxas;
        return compare(c, &options, true, FOUND_FAULT_CUDA, FOUND_OTHER_CUDA);
    }
    found = compare(c, &options, false, FOUND_FAULT_3, FOUND_OTHER_3);
    options.pipeline = c->pipeline;
    if (found == FOUND_NOTHING && c->pipeline && !threads)
        found = compare(c, &options, false, FOUND_FAULT_PASSES, FOUND_OTHER_PASSES);
    return found;
}

/* PTX ----------------------------------------------------------------------------------------- */

/* Keeps errors, and ptxas's messages about wgmma. */
static void keep_complaint(const tile_diagnostic *d, void *text) {
    bool slow = d->severity == TILE_WARNING && strstr(d->message, "(C75");
    if (slow || d->severity == TILE_ERROR) tile_diagnostic_print(d, tool_append, text);
}

static finding check_ptx(checked *c) {
    const tile_build_options build = {.size = sizeof build,
                                      .target = c->target ? c->target : tile_target_find("sm_90a"),
                                      .wants = c->options->ptxas ? TILE_WANT_CUBIN : TILE_WANT_PTX,
                                      .ptxas = c->options->ptxas};
    tile_artifact *artifact;
    tile_module *copy = tile_module_clone(c->module);
    c->reports.size = 0;
    tool_append("", 0, &c->reports);
    tile_context_set_sink(c->context, keep_complaint, &c->reports);
    tile_status status = tile_artifact_build(copy, c->test.kernel, &build, &artifact);
    bool limit = status == TILE_OK || status == TILE_UNSUPPORTED || is_limit(c->reports.data);
    bool assembles = strstr(c->reports.data, "ptxas") != NULL;
    bool slow = status == TILE_OK && strstr(c->reports.data, "(C75");
    finding found = slow ? FOUND_SLOW : limit ? FOUND_NOTHING : assembles ? FOUND_CUBIN : FOUND_PTX;
    tile_artifact_destroy(artifact);
    tile_module_destroy(copy);
    return found;
}

/* Computes ------------------------------------------------------------------------------------ */

static bool keep_point(const char *point, void *user) {
    *(char **)user = tool_copy(point, strlen(point));
    return false;
}

/* Returns the value for a parameter of a product: 64 for block_m and block_n, also with suffixes,
 * which every space has. NULL: keeps the first value. Large tiles take the CPU device seconds. */
static const char *value_for(const checked *c, const char *name) {
    if (strncmp(name, "block_m", 7) == 0 || strncmp(name, "block_n", 7) == 0) return "64";
    return strncmp(name, "split", 5) != 0 ? NULL : c->given.seed % 2 ? "1" : "4";
}

typedef struct wanted {
    const char *name, *value;
    bool found;
} wanted;

/* Looks for a name and value in a point such as "block_m=64 block_n=32". */
static bool find_wanted(const char *point, void *user) {
    wanted *w = user;
    size_t name = strlen(w->name), value = strlen(w->value);
    for (const char *word = point; word && !w->found; word = strchr(word, ' ')) {
        word += *word == ' ';
        w->found = strcspn(word, "=") == name && strncmp(word, w->name, name) == 0 &&
                   strcspn(word, " ") == name + 1 + value &&
                   strncmp(word + name + 1, w->value, value) == 0;
    }
    return !w->found;
}

/* True if a point with this value agrees with the chosen values, because attributes may have fixed
 * the parameter. */
static bool has_point(const checked *c, const char *name, const char *value) {
    const case_options *chosen = &c->given;
    wanted w = {name, value, false};
    tile_list_points(c->module, chosen->kernel, chosen->bindings, chosen->binding_count,
                     find_wanted, &w);
    return w.found;
}

typedef struct counted {
    uint64_t wanted, count;
    char **point;
} counted;

/* Hundreds of parts, most of them empty, take too long on the CPU device. */
static bool has_many_parts(const char *point) {
    enum { MANY = 64 };
    bool many = false;
    for (const char *word = point; word; word = strchr(word, ' ')) {
        word += *word == ' ';
        const char *value = word + strcspn(word, "=");
        many |= strncmp(word, "split", 5) == 0 && *value && atoi(value + 1) > MANY;
    }
    return many;
}

static bool count_point(const char *point, const char *dropped, void *user) {
    counted *c = user;
    if (dropped || has_many_parts(point)) return true;
    if (c->count++ != c->wanted) return true;
    *c->point = tool_copy(point, strlen(point));
    return false;
}

/* Lists the integer arguments as sizes in the room. Returns their number. */
static unsigned list_sizes(const case_options *given, tile_binding *sizes, char (*room)[128]) {
    unsigned count = 0;
    for (unsigned i = 0; i < given->argument_count; i++) {
        const char *value = strchr(given->arguments[i], '=');
        size_t length = value ? (size_t)(value - given->arguments[i]) : 0;
        if (!length || length >= sizeof *room || !value[1]) continue;
        if (value[1 + strspn(value + 1, "-0123456789")]) continue;
        memcpy(room[count], given->arguments[i], length);
        room[count][length] = 0;
        sizes[count] = (tile_binding){room[count], value + 1};
        count++;
    }
    return count;
}

/* Picks any point that the sizes allow by the seed. Used for comparisons with a tolerance, whose
 * products are small. */
static void choose_any_point(checked *c) {
    case_options *to = &c->given;
    tile_binding sizes[CASE_MAX_ARGUMENTS];
    char names[CASE_MAX_ARGUMENTS][128];
    const tile_space_query query = {.size = sizeof query,
                                    .kernel = to->kernel,
                                    .sizes = sizes,
                                    .size_count = list_sizes(to, sizes, names)};
    counted all = {UINT64_MAX, 0, &c->point};
    tile_explain_points(c->module, &query, count_point, &all);
    if (!all.count) return;
    all = (counted){to->seed % all.count, 0, &c->point};
    tile_explain_points(c->module, &query, count_point, &all);
    for (char *word = c->point ? strtok(c->point, " ") : NULL; word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        if (!value || to->binding_count == CASE_MAX_ARGUMENTS) continue;
        *value = 0;
        to->bindings[to->binding_count++] = (tile_binding){word, value + 1};
    }
}

/* Picks a point with small tiles. */
static void choose_point(checked *c) {
    case_options *to = &c->given;
    tile_list_points(c->module, to->kernel, NULL, 0, keep_point, &c->point);
    for (char *word = c->point ? strtok(c->point, " ") : NULL; word; word = strtok(NULL, " ")) {
        word[strcspn(word, "=")] = 0;
        const char *value = value_for(c, word);
        if (value && to->binding_count < CASE_MAX_ARGUMENTS && has_point(c, word, value))
            to->bindings[to->binding_count++] = (tile_binding){word, value};
    }
}

/* Schedules the compute, if the file has one instead of a kernel. */
static bool schedule(checked *c) {
    const tile_function *f = c->given.kernel ? tile_module_find(c->module, c->given.kernel) : NULL;
    unsigned none = 0;
    if (!f || tile_function_get_kind(f) != TILE_COMPUTE) return true;
    c->compute = c->given.kernel;
    if (tile_schedule(c->module, c->compute, c->target, NULL, &none, &c->given.kernel) != TILE_OK)
        return false;
    if (c->given.tolerance > 0)
        choose_any_point(c);
    else
        choose_point(c);
    unsigned count = c->given.binding_count;
    c->given.binding_count = 0;
    return tile_instantiate(c->module, c->given.kernel, c->given.bindings, count) == TILE_OK;
}

/* The whole check ----------------------------------------------------------------------------- */

finding check_kernel(const check_options *o, const char *text, char **detail) {
    checked c = {.options = o, .context = tile_context_create()};
    finding found = FOUND_INVALID;
    tool_append("", 0, &c.reports);
    read_options(&c, text);
    tile_context_set_sink(c.context, case_keep_error, &c.reports);
    c.module = tile_module_parse(c.context, "kernel", text, strlen(text));
    if (c.module && !schedule(&c)) {
        found = is_limit(c.reports.data) ? FOUND_LIMIT : FOUND_SCHEDULE;
    } else if (c.module && case_open(&c.test, &c.given, c.context, c.module)) {
        found = check_runs(&c);
        if (found == FOUND_NOTHING && !o->cuda) found = check_meaning(&c);
        if (found == FOUND_NOTHING && o->ptx && !o->cuda) found = check_ptx(&c);
        free_meaning(&c.meant);
        case_free(&c.test, &c.first);
        case_close(&c.test);
    }
    *detail = tool_copy(c.reports.data, strlen(c.reports.data));
    tile_module_destroy(c.module);
    tile_context_destroy(c.context);
    free(c.point);
    free(c.words);
    free(c.pipeline);
    free(c.reports.data);
    return found;
}

/* Counting ------------------------------------------------------------------------------------ */

static void count_region(const tile_function *f, tile_region region, unsigned *counts,
                         unsigned capacity) {
    for (tile_op op = tile_region_first(f, region); op.id; op = tile_op_next(f, op)) {
        unsigned opcode = (unsigned)tile_op_opcode(f, op);
        if (opcode < capacity) counts[opcode]++;
        tile_region inner;
        for (unsigned i = 0; (inner = tile_op_region(f, op, i)).id; i++)
            count_region(f, inner, counts, capacity);
    }
}

static void count_module(const tile_module *module, unsigned *counts, unsigned capacity) {
    const tile_function *f;
    for (unsigned i = 0; (f = tile_module_function(module, i)); i++)
        count_region(f, tile_function_body(f), counts, capacity);
}

bool count_operations(const char *text, unsigned *counts, unsigned capacity) {
    tile_context *context = tile_context_create();
    tile_module *module = tile_module_parse(context, "kernel", text, strlen(text));
    bool parses = module != NULL;
    if (parses) {
        const tile_pass_options options = {
            .size = sizeof options, .target = tile_target_find("sm_90a"), .kernel = "fuzz"};
        const tile_function *f = tile_module_find(module, "fuzz");
        bool threads = tile_function_level(f) == 3;
        if (tile_function_get_kind(f) == TILE_COMPUTE)
            tile_run_passes(module, "schedule", &options);
        count_module(module, counts, capacity);
        const char *all = tile_default_pipeline(3), *last = strstr(all, ",lower-tiles");
        char *tiles = tool_copy(all, last ? (size_t)(last - all) : strlen(all));
        bool ok = tile_instantiate(module, "fuzz", NULL, 0) == TILE_OK && !threads &&
                  tile_run_passes(module, tiles, &options) == TILE_OK;
        free(tiles);
        if (ok) count_module(module, counts, capacity);
        if (ok && tile_run_passes(module, "lower-tiles", &options) == TILE_OK)
            count_module(module, counts, capacity);
    }
    tile_module_destroy(module);
    tile_context_destroy(context);
    return parses;
}
