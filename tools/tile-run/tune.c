#include "tools/tile-run/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/progress.h"
#include "tools/common/worker.h"

static bool fail(const char *what, const char *why) {
    fprintf(stderr, "error: %s: %s\n", what, why);
    return false;
}

static bool read_seconds(const char *name, const char *text, double *seconds) {
    char *end;
    *seconds = strtod(text, &end);
    if (end != text && !*end && *seconds > 0 && *seconds < 1e9) return true;
    fprintf(stderr, "error: %s: expected seconds above 0 and below 1e9, found '%s'\n", name, text);
    return false;
}

static bool read_jobs(const char *text, unsigned *jobs) {
    char *end;
    long number = strtol(text, &end, 10);
    *jobs = (unsigned)number;
    if (end != text && !*end && number > 0 && number <= 1024) return true;
    fprintf(stderr, "error: --jobs: expected a number from 1 to 1024, found '%s'\n", text);
    return false;
}

static bool read_retune(const char *text, tile_retune *retune) {
    *retune = strcmp(text, "always") == 0 ? TILE_RETUNE_ALWAYS : TILE_RETUNE_STALE;
    return *retune == TILE_RETUNE_ALWAYS || strcmp(text, "stale") == 0 ||
           fail(text, "--retune takes stale or always");
}

bool tune_option(tool_arguments *args, tune_options *o, bool *ok) {
    const char *value;
    *ok = true;
    if (tool_flag(args, "--tune")) return o->tune = true;
    if (tool_flag(args, "--split")) return o->split = true;
    if (tool_flag(args, "--unchecked")) return o->unchecked = true;
    if (tool_option(args, "--worker", &o->worker) || tool_option(args, "--report", &o->report))
        return true;
    if (tool_option(args, "--budget", &value))
        *ok = read_seconds("--budget", value, &o->budget);
    else if (tool_option(args, "--timeout", &value))
        *ok = read_seconds("--timeout", value, &o->timeout);
    else if (tool_option(args, "--jobs", &value))
        *ok = read_jobs(value, &o->jobs);
    else if (tool_option(args, "--retune", &value))
        *ok = read_retune(value, &o->retune);
    else
        return false;
    return true;
}

bool tune_check(const tune_options *o) {
    const struct {
        bool given;
        const char *name;
    } others[] = {{o->split, "--split"},       {o->unchecked, "--unchecked"},
                  {o->worker, "--worker"},     {o->report, "--report"},
                  {o->budget > 0, "--budget"}, {o->timeout > 0, "--timeout"},
                  {o->jobs > 0, "--jobs"},     {o->retune != TILE_RETUNE_MISSING, "--retune"}};
    for (size_t i = 0; i < sizeof others / sizeof *others && !o->tune; i++)
        if (others[i].given) return fail(others[i].name, "applies to tuning only; add --tune");
    return true;
}

static void draw(const tile_tune_progress *progress, void *user) {
    (void)user;
    tool_progress_draw(progress);
}

static bool write_report(const tile_tuning *tuning, const char *path) {
    tool_text text = {NULL, 0, 0};
    size_t length = strlen(path);
    bool json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    tile_tuning_print(tuning, json ? TILE_TUNING_JSON : TILE_TUNING_TEXT, tool_append, &text);
    bool ok = tool_write_file(path, text.data, text.size);
    free(text.data);
    return ok;
}

static void print_summary(const tile_tuning *tuning) {
    tile_tuning_facts facts = tile_tuning_get_facts(tuning);
    const tile_candidate *best = tile_tuning_best(tuning);
    if (facts.found) {
        printf("tuned    for %s before%s (--retune=always tunes again)\n", facts.sizes,
               facts.stale ? ", with another compiler" : "");
    } else {
        unsigned counts[TILE_CANDIDATE_measured + 1] = {0};
        for (unsigned i = 0; i < tile_tuning_candidate_count(tuning); i++)
            counts[tile_tuning_candidate_at(tuning, i)->state]++;
        printf("tuned    %u candidates in %.2f s, built in %.2f s%s:",
               tile_tuning_candidate_count(tuning), facts.seconds, facts.build_seconds,
               facts.in_process ? ", in this process" : "");
        for (unsigned i = TILE_CANDIDATE_measured + 1; i-- > 0;)
            if (counts[i])
                printf(" %u %s", counts[i], tile_candidate_state_name((tile_candidate_state)i));
        printf("\nchecked  %s\n", facts.unchecked || !*facts.check ? "nothing" : facts.check);
    }
    const tile_candidate *first = tile_tuning_candidate_at(tuning, 0);
    if (!best && first && *first->why)
        printf("first    %s, %s: %s\n", *first->text ? first->text : "as it is written",
               tile_candidate_state_name(first->state), first->why);
    if (best)
        printf("best     %s: %.2f us, %s%s\n", *best->text ? best->text : "as it is written",
               1e6 * best->time.median, facts.kept ? "stored in the cache" : "not stored: ",
               facts.unkept ? facts.unkept : "");
}

static tile_tune_argument *take_arguments(const run_argument *arguments, unsigned count) {
    tile_tune_argument *given = calloc(count + 1u, sizeof *given);
    for (unsigned i = 0; given && i < count; i++) {
        const run_argument *a = &arguments[i];
        given[i] = (tile_tune_argument){.integer = a->integer, .number = a->number, .elements = 1};
        for (unsigned d = 0; d < a->array.rank; d++) given[i].elements *= a->array.dims[d];
        if (!a->is_array || !argument_is_given(a)) continue;
        given[i].data = a->array.data;
        given[i].bytes = a->array.count * tile_scalar_bytes(a->array.scalar);
    }
    return given;
}

bool tune_run(const tune_options *o, tile_device *device, const tile_module *module,
              const tile_function *f, const tile_binding *bindings, unsigned binding_count,
              const run_argument *arguments, const tile_measure_options *measure,
              tile_tuning **tuning) {
    unsigned count = tile_function_arg_count(f);
    bool in_process = o->worker && strcmp(o->worker, "none") == 0;
    char *found = o->worker ? NULL : tool_find_worker();
    const tile_tune_options options = {.size = sizeof options,
                                       .worker = in_process  ? NULL
                                                 : o->worker ? o->worker
                                                             : found,
                                       .bindings = bindings,
                                       .binding_count = binding_count,
                                       .jobs = o->jobs,
                                       .budget = o->budget,
                                       .timeout = o->timeout,
                                       .retune = o->retune,
                                       .split = o->split,
                                       .unchecked = o->unchecked,
                                       .measure = measure,
                                       .progress = draw};
    tile_tune_argument *given = take_arguments(arguments, count);
    *tuning = NULL;
    if (!given) return fail("--tune", "out of memory");
    tile_status status =
        tile_tune(device, module, tile_function_name(f), given, count, &options, tuning);
    tool_progress_end();
    free(given);
    free(found);
    bool told = *tuning && tile_tuning_candidate_count(*tuning);
    if (told) print_summary(*tuning);
    bool ok = !told || !o->report || write_report(*tuning, o->report);
    return status == TILE_OK && ok;
}
