/* The two measurement protocols.
 *
 * interleaved: in each round every candidate gets one turn, in a new random order. A turn is
 * several launches with the L2 flushed before each. All candidates share the clock and temperature
 * changes of the round, so latency ranks them as cycle counts would.
 *
 * sustained: each candidate runs back to back for a while and settles at the clock that its own
 * power draw allows. At the chip's power limit the candidate with the least energy is also the
 * fastest, and the ranking reflects that. */
#include "tools/tile-bench/measure/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/clock.h"
#include "tools/tile-bench/common/statistics.h"
#include "tools/tile-bench/measure/state.h"

bool bench_is_floor(const bench_entry *e) {
    return strcmp(e->contender->kind, "read") == 0 || strcmp(e->contender->kind, "copy") == 0;
}

static bool is_kernel(const bench_entry *e) {
    return strcmp(e->contender->kind, "kernel") == 0;
}

bool bench_takes_part(const bench_candidate_spec *c, const bench_problem *p) {
    return (c->part == 0 || c->part == p->part) &&
           (c->route == BENCH_ANY_ROUTE || p->route == BENCH_ANY_ROUTE || c->route == p->route);
}

static bool takes_part(const bench_state *r, const bench_entry *e) {
    return bench_takes_part(e->contender, &r->problem);
}

void bench_contender_add_word(bench_candidate_spec *contender, const char *word) {
    if (contender->word_count + 1 < BENCH_MAX_WORDS)
        contender->words[contender->word_count++] = word;
}

static void report_status(const bench_state *r, const char *step, const bench_entry *e) {
    char line[BENCH_PROBLEM_LINE];
    if (!r->plan->reports_progress) return;
    bench_problem_write(&r->problem, r->flush, line);
    fprintf(stderr, "\r\033[K[%s] %s  %s", step, line, e ? e->contender->name : "");
    fflush(stderr);
}

/* Requests ------------------------------------------------------------------------------------ */

/* Returns the rest of an answer that begins with this word. Otherwise returns NULL and excludes the
 * entry, with the reason as its note. */
static const char *expect(bench_entry *e, const char *answer, const char *word, bool restart) {
    size_t length = strlen(word);
    if (strncmp(answer, word, length) == 0 && (answer[length] == ' ' || !answer[length]))
        return answer + length + (answer[length] == ' ');
    e->is_wrong = strncmp(answer, "wrong ", 6) == 0;
    const char *space = strchr(answer, ' ');
    snprintf(e->note, sizeof e->note, "%s: %s", e->is_wrong ? "wrong" : "failed",
             space ? space + 1 : answer);
    e->is_ready = false;
    /* After a fault of a kernel the context is unusable. */
    if (!e->is_wrong && (restart || !bench_worker_is_alive(e->worker))) {
        bench_worker_stop(e->worker);
        e->worker = NULL;
    }
    return NULL;
}

void bench_mark_wrong(bench_entry *e, const char *why) {
    e->is_wrong = true;
    e->is_ready = false;
    snprintf(e->note, sizeof e->note, "wrong: %s", why);
}

void bench_send(const bench_entry *e, const char *line) {
    if (e->worker) bench_worker_send(e->worker, line);
}

const char *bench_receive(const bench_state *r, bench_entry *e, const char *word) {
    return expect(e, bench_worker_receive(e->worker, r->plan->answer_timeout), word, true);
}

const char *bench_request(const bench_state *r, bench_entry *e, const char *line,
                          const char *word) {
    bench_send(e, line);
    return bench_receive(r, e, word);
}

/* Preparation --------------------------------------------------------------------------------- */

/* Starts the process before the first request, because a peer takes seconds to start. */
static void start_entry(bench_entry *e) {
    if (!e->worker)
        e->worker = bench_worker_start(e->contender->program, e->contender->words, NULL, NULL);
}

void bench_begin_entry(bench_state *r, bench_entry *e) {
    char line[BENCH_PROBLEM_LINE];
    e->is_ready = e->is_wrong = e->has_sustained = e->has_counters = false;
    e->how = "";
    e->count = 0;
    e->pairs = e->error_count = 0;
    *e->note = *e->point = 0;
    start_entry(e);
    bench_problem_write(&r->problem, r->flush, line);
    bench_send(e, line);
}

void bench_end_entry(bench_state *r, bench_entry *e) {
    /* Tuning needs extra time. */
    double tuning = is_kernel(e) ? bench_problem_budget(&r->problem, r->plan->budget) : 0;
    const char *answer = bench_worker_receive(e->worker, r->plan->answer_timeout + tuning);
    const char *rest = expect(e, answer, "ready", false);
    int at = 0;
    if (!rest) return;
    e->is_ready = true;
    if (sscanf(rest, "%d %d %d %n", &e->registers, &e->local_bytes, &e->shared_bytes, &at) >= 3)
        snprintf(e->point, sizeof e->point, "%s", rest + at);
}

/* True if it measures in order to choose. */
static bool has_choice(const bench_state *r, const bench_entry *e) {
    return is_kernel(e) ? r->plan->budget != 0 : !bench_is_peer(e);
}

/* Kernels are compiled in parallel, while other programs start and the references are computed. A
 * candidate that measures in order to choose has the device to itself. */
static void make_ready(bench_state *r) {
    for (unsigned i = 0; i < r->count; i++) {
        bench_entry *e = &r->entries[i];
        e->is_ready = false;
        if (takes_part(r, e)) start_entry(e);
        if (takes_part(r, e) && !has_choice(r, e)) bench_begin_entry(r, e);
    }
    report_status(r, "compiling", NULL);
    bench_references_make(r);
    for (unsigned i = 0; i < r->count; i++)
        if (takes_part(r, &r->entries[i]) && !has_choice(r, &r->entries[i]))
            bench_end_entry(r, &r->entries[i]);
    for (unsigned i = 0; i < r->count; i++) {
        bench_entry *e = &r->entries[i];
        if (!takes_part(r, e) || !has_choice(r, e)) continue;
        report_status(r, "choosing", e);
        bench_begin_entry(r, e);
        bench_end_entry(r, e);
    }
}

static void check(bench_state *r, bench_entry *e) {
    if (!e->is_ready || bench_is_floor(e)) return;
    report_status(r, "checking", e);
    const char *how = bench_request(r, e, "check", "right");
    const char *part = r->problem.is_rows ? "right in some rows" : "right by Freivalds' test";
    if (how) e->how = strcmp(how, "elements") == 0 ? "right" : part;
}

static void check_all(bench_state *r) {
    report_status(r, "checking", NULL);
    if (r->problem.is_attention)
        bench_attention_check(r);
    else
        for (unsigned i = 0; i < r->count; i++) check(r, &r->entries[i]);
}

/* Changes the flush: cuBLASLt and the reading kernel choose again; tuned points are kept. */
static void change_flush(bench_state *r) {
    char line[40];
    snprintf(line, sizeof line, "flush %s", r->flush);
    for (unsigned i = 0; i < r->count; i++) {
        bench_entry *e = &r->entries[i];
        e->count = 0;
        e->has_sustained = e->has_counters = false;
        e->is_ready &= e->worker != NULL; /* not if further points ended it */
        if (!e->is_ready) continue;
        if (is_kernel(e) || bench_is_peer(e)) {
            bench_request(r, e, line, "flushing");
            continue;
        }
        bench_begin_entry(r, e);
        bench_end_entry(r, e);
        if (!r->problem.is_attention) check(r, e);
    }
}

static bench_entry *find_peer(bench_state *r) {
    for (unsigned i = 0; i < r->count; i++)
        if (r->entries[i].is_ready && r->plan->peer_kind &&
            strcmp(r->entries[i].contender->kind, r->plan->peer_kind) == 0)
            return &r->entries[i];
    return NULL;
}

/* Reports the name that the peer gives itself. */
static void name_peer(bench_state *r, bench_report *report) {
    bench_entry *e = *report->peer ? NULL : find_peer(r);
    const char *version = e ? bench_request(r, e, "version", "version") : NULL;
    if (version) snprintf(report->peer, sizeof report->peer, "%s %s", e->contender->name, version);
}

/* The protocols ------------------------------------------------------------------------------- */

void bench_take_samples(const bench_state *r, const char *at, double **samples, size_t *count) {
    *samples = realloc(*samples, (*count + r->plan->turn) * sizeof **samples);
    if (!*samples) abort();
    for (unsigned i = 0; i < r->plan->turn; i++) {
        char *end;
        double seconds = strtod(at, &end);
        if (end == at) break;
        (*samples)[(*count)++] = seconds;
        at = end;
    }
}

static void take_turn(bench_state *r, bench_entry *e) {
    char line[64];
    /* After other processes used the device, its first launches miss in the page tables. */
    snprintf(line, sizeof line, "turn %u %u", r->plan->cuda ? 2 : 0, r->plan->turn);
    const char *at = bench_request(r, e, line, "times");
    if (at) bench_take_samples(r, at, &e->samples, &e->count);
}

static void interleave(bench_state *r) {
    unsigned order[BENCH_MAX_CANDIDATES];
    for (unsigned round = 0; round < r->plan->rounds && !bench_is_stopped(); round++) {
        char step[40];
        bench_shuffle(order, r->count, &r->chance);
        snprintf(step, sizeof step, "round %u of %u", round + 1, r->plan->rounds);
        report_status(r, step, NULL);
        for (unsigned i = 0; i < r->count; i++)
            if (r->entries[order[i]].is_ready) take_turn(r, &r->entries[order[i]]);
    }
}

/* Runs back to back for a while. */
static bool run_on(bench_state *r, bench_entry *e, bench_sustained *s) {
    char line[64];
    int capped = 0;
    report_status(r, "back to back", e);
    snprintf(line, sizeof line, "sustain %g", r->plan->seconds);
    const char *at = bench_request(r, e, line, "sustained");
    bool known = at && sscanf(at, "%" SCNu64 " %lf %lf %lf %lf %d", &s->launches, &s->seconds,
                              &s->clock, &s->power, &s->energy, &capped) == 6;
    s->capped = capped;
    return known && s->launches;
}

/* Merges a run into the previous ones: means are weighted by time. */
static void add_run(bench_entry *e, const bench_sustained *s) {
    bench_sustained *all = &e->sustained;
    if (!e->has_sustained) *all = (bench_sustained){0};
    double before = all->seconds / (all->seconds + s->seconds), now = 1 - before;
    double launches = (double)all->launches, more = (double)s->launches;
    all->clock = all->clock * before + s->clock * now;
    all->power = all->power * before + s->power * now;
    all->energy = (all->energy * launches + s->energy * more) / (launches + more);
    all->capped |= s->capped;
    all->launches += s->launches;
    all->seconds += s->seconds;
    e->has_sustained = true;
}

static void sustain_each(bench_state *r) {
    for (unsigned i = 0; i < r->count; i++) {
        bench_sustained s;
        bench_entry *e = &r->entries[i];
        if (e->is_ready && !bench_is_floor(e) && run_on(r, e, &s)) add_run(e, &s);
    }
}

/* Runs both directly after each other, so that the state of the chip is the same for both. */
static void run_pair(bench_state *r, bench_entry *e, bench_entry *peer, bool peer_first) {
    bench_sustained own, others;
    bool known = !peer_first || run_on(r, peer, &others);
    known = known && run_on(r, e, &own) && (peer_first || run_on(r, peer, &others));
    if (!known || !e->is_ready || !peer->is_ready) return;
    add_run(e, &own);
    add_run(peer, &others);
    e->ratios[e->pairs++] =
        others.seconds / (double)others.launches / (own.seconds / (double)own.launches);
}

static void sustain(bench_state *r) {
    bench_entry *peer = r->plan->pairs ? find_peer(r) : NULL;
    if (!peer) sustain_each(r);
    for (unsigned pair = 0; peer && pair < r->plan->pairs; pair++)
        for (unsigned i = 0; i < r->count && !bench_is_stopped(); i++) {
            bench_entry *e = &r->entries[i];
            if (e != peer && e->is_ready && !bench_is_floor(e)) run_pair(r, e, peer, pair % 2 == 0);
        }
}

/* Counters ------------------------------------------------------------------------------------ */

/* If ncu fails on a candidate, the reason is reported once, and only its counters are missing. */
static void profile(bench_state *r) {
    for (unsigned i = 0; r->plan->ncu && i < r->count; i++) {
        bench_entry *e = &r->entries[i];
        char line[BENCH_PROBLEM_LINE], why[300] = "";
        if (!e->is_ready || bench_is_floor(e) || bench_is_peer(e)) continue;
        report_status(r, "profiling", e);
        bench_problem_write(&r->problem, r->flush, line);
        /* ncu replays the kernel several times, and starts slowly. */
        double answer_timeout = 2 * r->plan->answer_timeout;
        e->has_counters = bench_profile(r->plan->ncu, e->contender->words,
                                        is_kernel(e) && *e->point ? e->point : NULL, line,
                                        answer_timeout, &e->counters, why, sizeof why);
        if (!e->has_counters)
            fprintf(stderr, "remark: ncu has no counters of %s: %s\n", e->contender->name, why);
    }
}

/* The run ------------------------------------------------------------------------------------- */

/* False if no candidate is correct, or if the run was stopped and the rows are incomplete. */
static bool measure_problem(bench_state *r, bench_report *report, unsigned *number) {
    bool right = true;
    if (!bench_inputs_write(r, BENCH_INPUTS_random)) return false;
    for (unsigned f = 0; f < r->plan->flush_count && !bench_is_stopped(); f++) {
        r->flush = r->plan->flushes[f];
        if (f == 0) {
            make_ready(r);
            check_all(r);
            name_peer(r, report);
        } else {
            change_flush(r);
        }
        if (r->plan->interleaved) interleave(r);
        if (r->plan->points) bench_measure_points(r);
        if (r->plan->sustained && f == 0 && !r->problem.latency_alone) sustain(r);
        if (f == 0) profile(r);
        if (!bench_is_stopped()) right &= bench_add_problem_rows(r, report, (*number)++);
    }
    return right && !bench_is_stopped();
}

static bool is_over(const bench_plan *plan) {
    return bench_is_stopped() || (plan->deadline > 0 && tile_seconds_now() > plan->deadline);
}

bool bench_run(const bench_plan *plan, bench_report *report) {
    static bench_state r;
    r = (bench_state){.plan = plan,
                      .flush = plan->flushes[0],
                      .count = plan->contender_count,
                      .chance = plan->seed};
    for (unsigned i = 0; i < r.count; i++) r.entries[i].contender = &plan->contenders[i];
    bench_catch_signals();
    unsigned number = report->count ? report->rows[report->count - 1].group + 1 : 0;
    bool right = true;
    /* Kernels come with the worker that has prepared them. */
    for (unsigned i = 0; i < r.count && plan->problem_count; i++)
        if (bench_is_peer(&r.entries[i]) &&
            bench_takes_part(r.entries[i].contender, &plan->problems[0]))
            start_entry(&r.entries[i]);
    bench_ahead *ahead = bench_ahead_start(plan);
    bool *measured = calloc(plan->problem_count + 1, sizeof *measured);
    if (!measured) abort();
    for (size_t n = 0; n < plan->problem_count && !is_over(plan); n++) {
        size_t before = report->count, i = bench_ahead_lend(ahead, measured, r.entries);
        r.problem = plan->problems[i];
        right &= measure_problem(&r, report, &number);
        measured[i] = true;
        bench_ahead_take_back(ahead, i, r.entries);
        bench_report_sort(report);
        if (plan->done) plan->done(report, before, plan->user);
    }
    if (plan->reports_progress) fprintf(stderr, "\r\033[K");
    if (bench_is_stopped())
        fputs("remark: stopped by a signal: the report has the products that were complete\n",
              stderr);
    free(measured);
    bench_ahead_stop(ahead);
    for (unsigned i = 0; i < r.count; i++) {
        bench_worker_stop(r.entries[i].worker);
        free(r.entries[i].samples);
        bench_free_points(&r.entries[i]);
    }
    bench_references_free(&r);
    bench_pattern_destroy(r.pattern);
    return right;
}
