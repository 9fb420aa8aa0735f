/* The two protocols.
 *
 * interleaved: in each round every candidate has a turn, in an order that chance makes anew, and a
 * turn is some launches with the L2 flushed before each. All of them share what the clock and the
 * temperature do meanwhile, so latency ranks them as cycles would.
 *
 * sustained: each candidate runs back to back for a while and finds the clock that its own power
 * leaves it. Where the chip is at its power limit the one that takes the least energy is the
 * fastest in the end, and that ranks them. */
#include "tools/tile-bench/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/pool.h"
#include "tools/tile-bench/profile.h"
#include "tools/tile-bench/statistics.h"

/* A candidate on the product that is measured now. */
typedef struct entry {
    const bench_contender *contender;
    bench_worker *worker; /* NULL: it has to be started (again) */
    bool is_ready;        /* for the product, and right so far */
    bool is_wrong;        /* its result is */
    const char *how;      /* it was found right */
    char point[240], note[400];
    int registers, local_bytes, shared_bytes;
    double *samples; /* seconds */
    size_t count;
    bool has_sustained, has_counters;
    bench_sustained sustained;
    double ratios[BENCH_MAX_PAIRS]; /* of the pairs */
    unsigned pairs;
    bench_counters counters;
} entry;

typedef struct run {
    const bench_plan *plan;
    const char *flush;
    bench_product product;
    entry entries[BENCH_MAX_CANDIDATES];
    unsigned count;
    uint64_t chance;
} run;

static bool is_read(const entry *e) {
    return strcmp(e->contender->kind, "read") == 0;
}

static bool is_kernel(const entry *e) {
    return strcmp(e->contender->kind, "kernel") == 0;
}

void bench_contender_add_word(bench_contender *contender, const char *word) {
    if (contender->word_count + 1 < BENCH_MAX_WORDS)
        contender->words[contender->word_count++] = word;
}

static void tell(const run *r, const char *step, const entry *e) {
    if (!r->plan->tells_progress) return;
    fprintf(stderr, "\r\033[K[%s] %" PRId64 " %" PRId64 " %" PRId64 "  %s", step, r->product.m,
            r->product.n, r->product.k, e ? e->contender->name : "");
    fflush(stderr);
}

/* Asking -------------------------------------------------------------------------------------- */

/* The rest of an answer that begins with this word; else NULL, and the entry is out, with the
 * reason as its note. */
static const char *expect(entry *e, const char *answer, const char *word, bool restart) {
    size_t length = strlen(word);
    if (strncmp(answer, word, length) == 0 && (answer[length] == ' ' || !answer[length]))
        return answer + length + (answer[length] == ' ');
    e->is_wrong = strncmp(answer, "wrong ", 6) == 0;
    const char *space = strchr(answer, ' ');
    snprintf(e->note, sizeof e->note, "%s: %s", e->is_wrong ? "wrong" : "failed",
             space ? space + 1 : answer);
    e->is_ready = false;
    /* A context in which a kernel has faulted is of no use any more. */
    if (!e->is_wrong && (restart || !bench_worker_is_alive(e->worker))) {
        bench_worker_stop(e->worker);
        e->worker = NULL;
    }
    return NULL;
}

static const char *ask(const run *r, entry *e, const char *line, const char *word) {
    bench_worker_tell(e->worker, line);
    return expect(e, bench_worker_hear(e->worker, r->plan->patience), word, true);
}

/* Getting ready ------------------------------------------------------------------------------- */

static void write_product(const run *r, char line[160]) {
    const bench_product *p = &r->product;
    snprintf(line, 160, "product %" PRId64 " %" PRId64 " %" PRId64 " %s %s %s", p->m, p->n, p->k,
             p->type->name, bench_trans_name(p), r->flush);
}

static void begin_entry(run *r, entry *e) {
    char line[160];
    e->is_ready = e->is_wrong = e->has_sustained = e->has_counters = false;
    e->how = "";
    e->count = 0;
    e->pairs = 0;
    *e->note = *e->point = 0;
    if (!e->worker) e->worker = bench_worker_start(e->contender->words, NULL, NULL);
    write_product(r, line);
    bench_worker_tell(e->worker, line);
}

static void end_entry(run *r, entry *e) {
    /* To tune takes its own time. */
    double tuning = is_kernel(e) ? bench_product_budget(&r->product, r->plan->budget) : 0;
    const char *answer = bench_worker_hear(e->worker, r->plan->patience + tuning);
    const char *rest = expect(e, answer, "ready", false);
    int at = 0;
    if (!rest) return;
    e->is_ready = true;
    if (sscanf(rest, "%d %d %d %n", &e->registers, &e->local_bytes, &e->shared_bytes, &at) >= 3)
        snprintf(e->point, sizeof e->point, "%s", rest + at);
}

/* Whether it measures to make a choice. */
static bool has_choice(const run *r, const entry *e) {
    return !is_kernel(e) || r->plan->budget != 0;
}

/* Kernels are compiled side by side. Who measures to make a choice has the device alone. */
static void make_ready(run *r) {
    for (unsigned i = 0; i < r->count; i++)
        if (!has_choice(r, &r->entries[i])) begin_entry(r, &r->entries[i]);
    tell(r, "compiling", NULL);
    for (unsigned i = 0; i < r->count; i++)
        if (!has_choice(r, &r->entries[i])) end_entry(r, &r->entries[i]);
    for (unsigned i = 0; i < r->count; i++) {
        entry *e = &r->entries[i];
        if (!has_choice(r, e)) continue;
        tell(r, "choosing", e);
        begin_entry(r, e);
        end_entry(r, e);
    }
}

static void check(run *r, entry *e) {
    if (!e->is_ready || is_read(e)) return;
    tell(r, "checking", e);
    const char *how = ask(r, e, "check", "right");
    if (how) e->how = strcmp(how, "elements") == 0 ? "right" : "right by Freivalds' test";
}

/* Another flush: cuBLASLt and the reading kernel choose again, what was tuned stays as it is. */
static void change_flush(run *r) {
    char line[40];
    snprintf(line, sizeof line, "flush %s", r->flush);
    for (unsigned i = 0; i < r->count; i++) {
        entry *e = &r->entries[i];
        e->count = 0;
        e->has_sustained = e->has_counters = false;
        if (!e->is_ready) continue;
        if (is_kernel(e)) {
            ask(r, e, line, "flushing");
            continue;
        }
        begin_entry(r, e);
        end_entry(r, e);
        check(r, e);
    }
}

/* What cuBLASLt calls itself. */
static void name_peer(run *r, bench_report *report) {
    for (unsigned i = 0; i < r->count && !*report->peer; i++) {
        entry *e = &r->entries[i];
        if (!e->is_ready || strcmp(e->contender->kind, "cublaslt") != 0) continue;
        const char *version = ask(r, e, "version", "version");
        if (version) snprintf(report->peer, sizeof report->peer, "cuBLASLt %s", version);
    }
}

/* The protocols ------------------------------------------------------------------------------- */

static void take_turn(run *r, entry *e) {
    char line[64];
    /* After other processes had the device, its first launches find cold page tables. */
    snprintf(line, sizeof line, "turn %u %u", r->plan->cuda ? 2 : 0, r->plan->turn);
    const char *at = ask(r, e, line, "times");
    if (!at) return;
    e->samples = realloc(e->samples, (e->count + r->plan->turn) * sizeof *e->samples);
    if (!e->samples) abort();
    for (unsigned i = 0; i < r->plan->turn; i++) {
        char *end;
        double seconds = strtod(at, &end);
        if (end == at) break;
        e->samples[e->count++] = seconds;
        at = end;
    }
}

static void interleave(run *r) {
    unsigned order[BENCH_MAX_CANDIDATES];
    for (unsigned round = 0; round < r->plan->rounds && !bench_is_stopped(); round++) {
        char step[40];
        bench_shuffle(order, r->count, &r->chance);
        snprintf(step, sizeof step, "round %u of %u", round + 1, r->plan->rounds);
        tell(r, step, NULL);
        for (unsigned i = 0; i < r->count; i++)
            if (r->entries[order[i]].is_ready) take_turn(r, &r->entries[order[i]]);
    }
}

/* Back to back for a while. */
static bool run_on(run *r, entry *e, bench_sustained *s) {
    char line[64];
    int capped = 0;
    tell(r, "back to back", e);
    snprintf(line, sizeof line, "sustain %g", r->plan->seconds);
    const char *at = ask(r, e, line, "sustained");
    bool known = at && sscanf(at, "%" SCNu64 " %lf %lf %lf %lf %d", &s->launches, &s->seconds,
                              &s->clock, &s->power, &s->energy, &capped) == 6;
    s->capped = capped;
    return known && s->launches;
}

/* Adds a run to those before: means by the time that each took. */
static void add_run(entry *e, const bench_sustained *s) {
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

static void sustain_each(run *r) {
    for (unsigned i = 0; i < r->count; i++) {
        bench_sustained s;
        entry *e = &r->entries[i];
        if (e->is_ready && !is_read(e) && run_on(r, e, &s)) add_run(e, &s);
    }
}

static entry *find_peer(run *r) {
    for (unsigned i = 0; i < r->count; i++)
        if (r->entries[i].is_ready && strcmp(r->entries[i].contender->kind, "cublaslt") == 0)
            return &r->entries[i];
    return NULL;
}

/* One behind the other, so that both find the chip alike. */
static void run_pair(run *r, entry *e, entry *peer, bool peer_first) {
    bench_sustained own, others;
    bool known = !peer_first || run_on(r, peer, &others);
    known = known && run_on(r, e, &own) && (peer_first || run_on(r, peer, &others));
    if (!known || !e->is_ready || !peer->is_ready) return;
    add_run(e, &own);
    add_run(peer, &others);
    e->ratios[e->pairs++] =
        others.seconds / (double)others.launches / (own.seconds / (double)own.launches);
}

static void sustain(run *r) {
    entry *peer = r->plan->pairs ? find_peer(r) : NULL;
    if (!peer) sustain_each(r);
    for (unsigned pair = 0; peer && pair < r->plan->pairs; pair++)
        for (unsigned i = 0; i < r->count && !bench_is_stopped(); i++) {
            entry *e = &r->entries[i];
            if (e != peer && e->is_ready && !is_read(e)) run_pair(r, e, peer, pair % 2 == 0);
        }
}

/* Counters ------------------------------------------------------------------------------------ */

/* One that ncu could not look at says why, once; it costs nothing but the counters. */
static void profile(run *r) {
    for (unsigned i = 0; r->plan->ncu && i < r->count; i++) {
        entry *e = &r->entries[i];
        char line[160], why[300] = "";
        if (!e->is_ready || is_read(e)) continue;
        tell(r, "profiling", e);
        write_product(r, line);
        /* ncu runs the kernel several times, and is slow to start. */
        double patience = 2 * r->plan->patience;
        e->has_counters = bench_profile(r->plan->ncu, e->contender->words,
                                        is_kernel(e) && *e->point ? e->point : NULL, line, patience,
                                        &e->counters, why, sizeof why);
        if (!e->has_counters)
            fprintf(stderr, "remark: ncu gives no counters of %s: %s\n", e->contender->name, why);
    }
}

/* Rows ---------------------------------------------------------------------------------------- */

static void fill_product(const run *r, bench_row *row) {
    bench_set_number(row, BENCH_m, (double)r->product.m);
    bench_set_number(row, BENCH_n, (double)r->product.n);
    bench_set_number(row, BENCH_k, (double)r->product.k);
    bench_set_text(row, BENCH_type, r->product.type->name);
    bench_set_text(row, BENCH_trans, bench_trans_name(&r->product));
    bench_set_text(row, BENCH_l2, r->flush);
}

static void fill_times(const run *r, const entry *e, bench_row *row) {
    bench_summary s = bench_summarize(e->samples, e->count);
    if (!s.count) return;
    bench_set_number(row, BENCH_latency_us, 1e6 * s.median);
    bench_set_number(row, BENCH_spread_us, 1e6 * s.spread);
    bench_set_number(row, BENCH_least_us, 1e6 * s.least);
    bench_set_number(row, BENCH_most_us, 1e6 * s.most);
    bench_set_number(row, BENCH_launches, (double)s.count);
    if (!is_read(e) && r->plan->cuda)
        bench_set_number(row, BENCH_tflops, 1e-12 * bench_product_flop(&r->product) / s.median);
}

static void fill_sustained(const run *r, const bench_sustained *s, bench_row *row) {
    double seconds = s->seconds / (double)s->launches;
    bench_set_number(row, BENCH_sustained_us, 1e6 * seconds);
    if (r->plan->cuda)
        bench_set_number(row, BENCH_sustained_tflops,
                         1e-12 * bench_product_flop(&r->product) / seconds);
    if (s->clock > 0) bench_set_number(row, BENCH_clock_mhz, s->clock);
    if (s->power > 0) bench_set_number(row, BENCH_power_w, s->power);
    if (s->energy > 0) bench_set_number(row, BENCH_energy_mj, s->energy);
    if (s->capped) bench_set_text(row, BENCH_capped, "power");
}

static void fill_pairs(const entry *e, bench_row *row) {
    double ratios[BENCH_MAX_PAIRS];
    memcpy(ratios, e->ratios, sizeof ratios);
    bench_summary s = bench_summarize(ratios, e->pairs); /* which sorts them */
    if (!s.count) return;
    bench_set_number(row, BENCH_pairs, (double)s.count);
    bench_set_number(row, BENCH_sustained_ratio, s.median);
    bench_set_number(row, BENCH_sustained_least, s.least);
}

static void fill_counters(const bench_counters *c, bench_row *row) {
    bench_set_number(row, BENCH_ncu_us, c->microseconds);
    if (c->sm >= 0) bench_set_number(row, BENCH_ncu_sm, c->sm);
    if (c->dram >= 0) bench_set_number(row, BENCH_ncu_dram, c->dram);
    if (c->l2_hit >= 0) bench_set_number(row, BENCH_ncu_l2_hit, c->l2_hit);
    if (c->occupancy >= 0) bench_set_number(row, BENCH_ncu_occupancy, c->occupancy);
}

static void fill_code(const entry *e, bench_row *row) {
    if (e->registers >= 0) bench_set_number(row, BENCH_registers, e->registers);
    if (e->local_bytes >= 0) bench_set_number(row, BENCH_local_bytes, e->local_bytes);
    if (e->shared_bytes >= 0) bench_set_number(row, BENCH_shared_bytes, e->shared_bytes);
}

static void add_row(run *r, const entry *e, bench_report *report, unsigned group) {
    bench_row *row = bench_report_add(report, group, (unsigned)(e - r->entries));
    fill_product(r, row);
    bench_set_text(row, BENCH_name, e->contender->name);
    bench_set_text(row, BENCH_kind, is_read(e) ? "floor" : e->contender->kind);
    if (*e->point || *e->contender->point)
        bench_set_text(row, BENCH_point, *e->point ? e->point : e->contender->point);
    if (!e->is_ready) {
        bench_set_text(row, BENCH_status, e->is_wrong ? "wrong" : "failed");
        bench_set_text(row, BENCH_note, e->note);
        return;
    }
    bench_set_text(row, BENCH_status, is_read(e) ? "floor" : e->how);
    fill_times(r, e, row);
    if (e->has_sustained) fill_sustained(r, &e->sustained, row);
    fill_pairs(e, row);
    if (e->has_counters) fill_counters(&e->counters, row);
    fill_code(e, row);
}

/* The peak by the device's facts; 0 if they do not tell. */
static double peak_seconds(const run *r, const bench_facts *facts) {
    double flop = bench_type_peak(r->product.type, facts->capability);
    double peak = flop * facts->sms * 1e6 * facts->clock;
    return peak > 0 ? bench_product_flop(&r->product) / peak : 0;
}

static void add_peak(run *r, bench_report *report, unsigned group) {
    double seconds = peak_seconds(r, &report->facts);
    if (seconds == 0) return;
    bench_row *row = bench_report_add(report, group, r->count);
    fill_product(r, row);
    bench_set_text(row, BENCH_name, "peak (computed)");
    bench_set_text(row, BENCH_kind, "floor");
    bench_set_text(row, BENCH_status, "computed");
    bench_set_number(row, BENCH_latency_us, 1e6 * seconds);
    bench_set_number(row, BENCH_tflops, 1e-12 * bench_product_flop(&r->product) / seconds);
}

/* Comparing ----------------------------------------------------------------------------------- */

/* The rows of a group, which are the last ones. */
typedef struct group {
    bench_row *rows;
    size_t count;
} group;

static bool is_ranked(const bench_row *row) {
    return strncmp(bench_text_of(row, BENCH_status), "right", 5) == 0;
}

static bool has_kind(const bench_row *row, const char *kind) {
    return strcmp(bench_text_of(row, BENCH_kind), kind) == 0;
}

/* The number of the right rows that are better in a column, which less is better in, and one more.
 */
static void rank(group g, bench_column by, bench_column into) {
    for (size_t i = 0; i < g.count; i++) {
        double own = bench_number_of(&g.rows[i], by), better = 1;
        if (!is_ranked(&g.rows[i]) || own == 0) continue;
        for (size_t j = 0; j < g.count; j++)
            better += is_ranked(&g.rows[j]) && g.rows[j].cells[by].known &&
                      bench_number_of(&g.rows[j], by) < own;
        bench_set_number(&g.rows[i], into, better);
    }
}

static void compare(group g) {
    double floor_us = 0, peer_us = 0, peer_sustained = 0;
    bool capped = false, all_energy = true, has_read = false;
    for (size_t i = 0; i < g.count; i++) {
        const bench_row *row = &g.rows[i];
        double latency = bench_number_of(row, BENCH_latency_us);
        if (has_kind(row, "floor") && latency > floor_us) floor_us = latency;
        has_read |= latency > 0 && strcmp(bench_text_of(row, BENCH_status), "floor") == 0;
        if (!is_ranked(row)) continue;
        capped |= row->cells[BENCH_capped].known;
        all_energy &= row->cells[BENCH_energy_mj].known;
        if (!has_kind(row, "cublaslt")) continue;
        peer_us = latency;
        peer_sustained = bench_number_of(row, BENCH_sustained_us);
    }
    for (size_t i = 0; i < g.count; i++) {
        bench_row *row = &g.rows[i];
        double latency = bench_number_of(row, BENCH_latency_us);
        double sustained = bench_number_of(row, BENCH_sustained_us);
        if (!is_ranked(row)) continue;
        if (latency > 0 && peer_us > 0) {
            bench_set_number(row, BENCH_peer_us, peer_us);
            bench_set_number(row, BENCH_ratio, peer_us / latency);
        }
        if (sustained > 0 && peer_sustained > 0 && !row->cells[BENCH_pairs].known)
            bench_set_number(row, BENCH_sustained_ratio, peer_sustained / sustained);
        if (latency > 0 && has_read) {
            bench_set_number(row, BENCH_floor_us, floor_us);
            bench_set_number(row, BENCH_floor_share, floor_us / latency);
        }
    }
    bool by_energy = capped && all_energy;
    rank(g, BENCH_latency_us, BENCH_rank);
    rank(g, by_energy ? BENCH_energy_mj : BENCH_sustained_us, BENCH_sustained_rank);
    for (size_t i = 0; i < g.count; i++) /* who ran back to back only */
        if (!g.rows[i].cells[BENCH_rank].known && g.rows[i].cells[BENCH_sustained_rank].known)
            bench_set_number(&g.rows[i], BENCH_rank,
                             bench_number_of(&g.rows[i], BENCH_sustained_rank));
}

/* The run ------------------------------------------------------------------------------------- */

/* The rows of one product and flush. */
static bool conclude(run *r, bench_report *report, unsigned number) {
    size_t before = report->count;
    bool right = false;
    for (unsigned i = 0; i < r->count; i++) {
        add_row(r, &r->entries[i], report, number);
        right |= r->entries[i].is_ready && !is_read(&r->entries[i]);
    }
    add_peak(r, report, number);
    compare((group){report->rows + before, report->count - before});
    return right;
}

/* False if nobody is right, or the run is to end and its rows are not whole. */
static bool measure_product(run *r, bench_report *report, unsigned *number) {
    bool right = true;
    for (unsigned f = 0; f < r->plan->flush_count && !bench_is_stopped(); f++) {
        r->flush = r->plan->flushes[f];
        if (f == 0) {
            make_ready(r);
            for (unsigned i = 0; i < r->count; i++) check(r, &r->entries[i]);
            name_peer(r, report);
        } else {
            change_flush(r);
        }
        if (r->plan->interleaved) interleave(r);
        if (r->plan->sustained && f == 0) sustain(r);
        if (f == 0) profile(r);
        if (!bench_is_stopped()) right &= conclude(r, report, (*number)++);
    }
    return right && !bench_is_stopped();
}

/* The shapes, and each of them with all types and transposes. */
static bool measure_all(run *r, bench_report *report) {
    const bench_plan *plan = r->plan;
    unsigned number = 0;
    bool right = true;
    for (size_t s = 0; s < plan->shapes.count; s++)
        for (unsigned t = 0; t < plan->type_count; t++)
            for (unsigned x = 0; x < plan->trans_count && !bench_is_stopped(); x++) {
                const int64_t *shape = plan->shapes.shapes[s];
                r->product = (bench_product){
                    .m = shape[0], .n = shape[1], .k = shape[2], .type = plan->types[t]};
                bench_read_trans(plan->trans[x], &r->product);
                right &= measure_product(r, report, &number);
            }
    return right;
}

bool bench_run(const bench_plan *plan, bench_report *report) {
    static run r;
    r = (run){.plan = plan, .count = plan->contender_count, .chance = plan->seed};
    for (unsigned i = 0; i < r.count; i++) r.entries[i].contender = &plan->contenders[i];
    bench_catch_signals();
    bool right = measure_all(&r, report);
    if (plan->tells_progress) fprintf(stderr, "\r\033[K");
    if (bench_is_stopped())
        fputs("remark: stopped by a signal: the report has the products that were complete\n",
              stderr);
    for (unsigned i = 0; i < r.count; i++) {
        bench_worker_stop(r.entries[i].worker);
        free(r.entries[i].samples);
    }
    bench_report_sort(report);
    return right;
}
