/* Rows of a report, and comparisons between the rows of one problem. */
#include <stdio.h>
#include <string.h>

#include "tools/tile-bench/common/statistics.h"
#include "tools/tile-bench/measure/state.h"
#include "tools/tile-bench/report/limits.h"

/* Rows ---------------------------------------------------------------------------------------- */

static void fill_attention(const bench_attention *a, bench_row *row) {
    bench_set_number(row, BENCH_batch, (double)a->batch);
    bench_set_number(row, BENCH_heads, (double)a->heads);
    bench_set_number(row, BENCH_groups, (double)a->groups);
    bench_set_number(row, BENCH_m, (double)a->m);
    bench_set_number(row, BENCH_n, (double)a->n);
    bench_set_number(row, BENCH_d, (double)a->d);
    bench_set_text(row, BENCH_mask, a->causal ? "causal" : "full");
}

static void fill_identity(const bench_problem *problem, const char *flush, bench_row *row) {
    const bench_product *p = &problem->product;
    if (problem->is_attention) {
        fill_attention(&problem->attention, row);
    } else if (problem->is_rows) {
        bench_set_number(row, BENCH_m, (double)problem->rows.m);
        bench_set_number(row, BENCH_n, (double)problem->rows.n);
        bench_set_text(row, BENCH_op, bench_rows_op_of(problem->rows.op)->name);
    } else {
        bench_set_number(row, BENCH_m, (double)p->m);
        bench_set_number(row, BENCH_n, (double)p->n);
        bench_set_number(row, BENCH_k, (double)p->k);
        bench_set_text(row, BENCH_trans, bench_trans_name(p));
    }
    bench_set_text(row, BENCH_type, bench_problem_type(problem)->name);
    bench_set_text(row, BENCH_l2, flush);
}

/* What a file of a random run must say, so that its times can be compared later. */
static void fill_origin(const bench_plan *plan, bench_row *row) {
    bench_set_text(row, BENCH_card, plan->card);
    bench_set_text(row, BENCH_target, plan->target);
    if (plan->sms) bench_set_number(row, BENCH_sms, plan->sms);
    bench_set_text(row, BENCH_version, plan->version);
}

/* "matmul_types.tile:matmul_{trans} T={type}" */
static void fill_source(const bench_plan *plan, const bench_candidate_spec *spec, bench_row *row) {
    char text[500];
    if (!plan->card || !spec->source) return;
    snprintf(text, sizeof text, "%s%s%s", spec->source, *spec->point ? " " : "", spec->point);
    bench_set_text(row, BENCH_source, text);
}

static void fill_problem(const bench_state *r, bench_row *row) {
    fill_identity(&r->problem, r->flush, row);
    if (r->plan->card) fill_origin(r->plan, row);
    if (!r->problem.is_rows) bench_set_number(row, BENCH_flop, bench_problem_flop(&r->problem));
    bench_set_number(row, BENCH_read_bytes, bench_problem_read_bytes(&r->problem));
    bench_set_number(row, BENCH_write_bytes, bench_problem_write_bytes(&r->problem));
}

bool bench_read_identity(const bench_row *row, bench_problem *problem) {
    const char *type = bench_text_of(row, BENCH_type), *trans = bench_text_of(row, BENCH_trans);
    const char *mask = bench_text_of(row, BENCH_mask), *op = bench_text_of(row, BENCH_op);
    *problem = (bench_problem){.is_attention = mask != NULL, .is_rows = op != NULL};
    bench_product *p = &problem->product;
    p->type = problem->attention.type = problem->rows.type = type ? bench_type_find(type) : NULL;
    p->m = problem->attention.m = problem->rows.m = (int64_t)bench_number_of(row, BENCH_m);
    p->n = problem->attention.n = problem->rows.n = (int64_t)bench_number_of(row, BENCH_n);
    p->k = (int64_t)bench_number_of(row, BENCH_k);
    problem->attention.batch = (int64_t)bench_number_of(row, BENCH_batch);
    problem->attention.heads = (int64_t)bench_number_of(row, BENCH_heads);
    problem->attention.groups = (int64_t)bench_number_of(row, BENCH_groups);
    problem->attention.d = (int64_t)bench_number_of(row, BENCH_d);
    problem->attention.causal = mask && strcmp(mask, "causal") == 0;
    if (!p->type || p->m < 1 || p->n < 1) return false;
    if (op) return bench_rows_find(op, &problem->rows.op);
    return mask || (trans && bench_read_trans(trans, p));
}

bench_row *bench_add_identity(const bench_problem *problem, const char *flush,
                              bench_report *report) {
    bench_row *row = bench_report_add(report, 0, 0);
    fill_identity(problem, flush, row);
    return row;
}

static void fill_times(const bench_state *r, double *samples, size_t count, bench_row *row) {
    bench_summary s = bench_summarize(samples, count);
    if (!s.count) return;
    bench_set_number(row, BENCH_latency_us, 1e6 * s.median);
    bench_set_number(row, BENCH_spread_us, 1e6 * s.spread);
    bench_set_number(row, BENCH_least_us, 1e6 * s.least);
    bench_set_number(row, BENCH_most_us, 1e6 * s.most);
    bench_set_number(row, BENCH_launches, (double)s.count);
    if (strcmp(bench_text_of(row, BENCH_kind), "floor") != 0 && r->plan->cuda &&
        bench_problem_flop(&r->problem) > 0)
        bench_set_number(row, BENCH_tflops, 1e-12 * bench_problem_flop(&r->problem) / s.median);
}

static void fill_sustained(const bench_state *r, const bench_sustained *s, bench_row *row) {
    double seconds = s->seconds / (double)s->launches;
    bench_set_number(row, BENCH_sustained_us, 1e6 * seconds);
    if (r->plan->cuda)
        bench_set_number(row, BENCH_sustained_tflops,
                         1e-12 * bench_problem_flop(&r->problem) / seconds);
    if (s->clock > 0) bench_set_number(row, BENCH_clock_mhz, s->clock);
    if (s->power > 0) bench_set_number(row, BENCH_power_w, s->power);
    if (s->energy > 0) bench_set_number(row, BENCH_energy_mj, s->energy);
    if (s->capped) bench_set_text(row, BENCH_capped, "power");
}

static void fill_pairs(const bench_entry *e, bench_row *row) {
    double ratios[BENCH_MAX_PAIRS];
    memcpy(ratios, e->ratios, sizeof ratios);
    bench_summary s = bench_summarize(ratios, e->pairs); /* this sorts them */
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

static const bench_entry *find_flash(const bench_state *r) {
    for (unsigned i = 0; i < r->count; i++)
        if (r->entries[i].is_ready && strcmp(r->entries[i].contender->kind, "flash") == 0)
            return &r->entries[i];
    return NULL;
}

/* Reports the worst check: by the error that rounding explains, and by the error of flash
 * attention. */
static void fill_errors(const bench_state *r, const bench_entry *e, bench_row *row) {
    const bench_entry *flash = find_flash(r);
    bench_shares beside = {0, 0};
    double share = -1;
    for (unsigned i = 0; i < e->error_count; i++) {
        const bench_error *error = &e->errors[i];
        if (flash && i < flash->error_count) bench_shares_add(&beside, error, &flash->errors[i]);
        if (error->share <= share) continue;
        share = error->share;
        bench_set_number(row, BENCH_error, error->most);
        bench_set_number(row, BENCH_error_norm, error->norm);
        bench_set_number(row, BENCH_error_share, share);
        bench_set_text(row, BENCH_error_inputs, bench_inputs_name(r->plan->checks[i]));
    }
    if (!flash || !e->error_count) return;
    bench_set_number(row, BENCH_error_peer, beside.most);
    bench_set_number(row, BENCH_norm_peer, beside.norm);
}

static void fill_code(const bench_entry *e, bench_row *row) {
    if (e->registers >= 0) bench_set_number(row, BENCH_registers, e->registers);
    if (e->local_bytes >= 0) bench_set_number(row, BENCH_local_bytes, e->local_bytes);
    if (e->shared_bytes >= 0) bench_set_number(row, BENCH_shared_bytes, e->shared_bytes);
}

static void add_row(const bench_state *r, const bench_entry *e, bench_report *report,
                    unsigned group) {
    bench_row *row = bench_report_add(report, group, (unsigned)(e - r->entries));
    fill_problem(r, row);
    bench_set_text(row, BENCH_name, e->contender->name);
    bench_set_text(row, BENCH_kind, bench_is_floor(e) ? "floor" : e->contender->kind);
    fill_source(r->plan, e->contender, row);
    if (*e->point || *e->contender->point)
        bench_set_text(row, BENCH_point, *e->point ? e->point : e->contender->point);
    if (!e->is_ready) {
        bench_set_text(row, BENCH_status, e->is_wrong ? "wrong" : "failed");
        bench_set_text(row, BENCH_note, e->note);
        return;
    }
    bench_set_text(row, BENCH_status, bench_is_floor(e) ? "floor" : e->how);
    fill_times(r, e->samples, e->count, row);
    if (e->has_sustained) fill_sustained(r, &e->sustained, row);
    fill_pairs(e, row);
    if (e->has_counters) fill_counters(&e->counters, row);
    fill_errors(r, e, row);
    fill_code(e, row);
}

/* Further points of a kernel. */
static void add_points(const bench_state *r, const bench_entry *e, bench_report *report,
                       unsigned group) {
    for (unsigned i = 0; i < e->point_count; i++) {
        const bench_point_entry *point = &e->points[i];
        bench_row *row = bench_report_add(report, group, (unsigned)(e - r->entries));
        fill_problem(r, row);
        bench_set_text(row, BENCH_name, e->contender->name);
        bench_set_text(row, BENCH_kind, e->contender->kind);
        fill_source(r->plan, e->contender, row);
        bench_set_text(row, BENCH_origin, point->origin);
        bench_set_text(row, BENCH_point, point->point);
        bench_set_number(row, BENCH_estimate_us, 1e6 * point->estimate);
        bench_set_text(row, BENCH_status,
                       point->is_right   ? "right"
                       : point->is_wrong ? "wrong"
                                         : "failed");
        if (point->is_right)
            fill_times(r, point->samples, point->count, row);
        else
            bench_set_text(row, BENCH_note, point->note);
    }
}

/* Returns the time at the device's computed peak; 0 if the peak is unknown. */
static double peak_seconds(const bench_state *r, const bench_facts *facts) {
    double flop = bench_type_peak(bench_problem_type(&r->problem), facts->capability);
    double peak = flop * facts->sms * 1e6 * facts->clock;
    return peak > 0 ? bench_problem_flop(&r->problem) / peak : 0;
}

static void add_peak(const bench_state *r, bench_report *report, unsigned group) {
    double seconds = peak_seconds(r, &report->facts);
    if (seconds == 0) return;
    bench_row *row = bench_report_add(report, group, r->count);
    fill_problem(r, row);
    bench_set_text(row, BENCH_name, "peak (computed)");
    bench_set_text(row, BENCH_kind, "floor");
    bench_set_text(row, BENCH_status, "computed");
    bench_set_number(row, BENCH_latency_us, 1e6 * seconds);
    bench_set_number(row, BENCH_tflops, 1e-12 * bench_problem_flop(&r->problem) / seconds);
}

/* Comparing ----------------------------------------------------------------------------------- */

/* The rows of a group, which are at the end of the report. */
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

/* Stores 1 + the number of correct rows with a smaller value in the column `by`. */
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

static void compare(group g, const char *peer_kind) {
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
        if (!peer_kind || !has_kind(row, peer_kind)) continue;
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
    for (size_t i = 0; i < g.count; i++) /* rows that ran only back to back */
        if (!g.rows[i].cells[BENCH_rank].known && g.rows[i].cells[BENCH_sustained_rank].known)
            bench_set_number(&g.rows[i], BENCH_rank,
                             bench_number_of(&g.rows[i], BENCH_sustained_rank));
}

/* True if both rows are of the same candidate and shape, with different types. */
static bool is_sibling(const bench_row *a, const bench_row *b) {
    bool same = a->series == b->series;
    for (int c = 0; c <= BENCH_l2; c++) {
        const char *x = bench_text_of(a, (bench_column)c), *y = bench_text_of(b, (bench_column)c);
        if (c == BENCH_type) continue;
        same &= a->cells[c].number == b->cells[c].number && strcmp(x ? x : "", y ? y : "") == 0;
    }
    return same;
}

/* Computes the speedup of bf16 over f16, which was measured before. */
static void compare_types(const bench_report *report, bench_row *row) {
    double own = bench_number_of(row, BENCH_latency_us);
    if (!is_ranked(row) || own == 0 || strcmp(bench_text_of(row, BENCH_type), "bf16") != 0) return;
    for (const bench_row *other = report->rows; other < row; other++)
        if (strcmp(bench_text_of(other, BENCH_type), "f16") == 0 && is_ranked(other) &&
            is_sibling(other, row) && bench_number_of(other, BENCH_latency_us) > 0)
            bench_set_number(row, BENCH_type_ratio, bench_number_of(other, BENCH_latency_us) / own);
}

bool bench_add_problem_rows(const bench_state *r, bench_report *report, unsigned number) {
    size_t before = report->count;
    bool right = false;
    for (unsigned i = 0; i < r->count; i++) {
        if (!bench_takes_part(r->entries[i].contender, &r->problem)) continue;
        add_row(r, &r->entries[i], report, number);
        add_points(r, &r->entries[i], report, number);
        right |= r->entries[i].is_ready && !bench_is_floor(&r->entries[i]);
    }
    add_peak(r, report, number);
    compare((group){report->rows + before, report->count - before}, report->peer_kind);
    for (size_t i = before; i < report->count; i++) compare_types(report, &report->rows[i]);
    return right;
}
