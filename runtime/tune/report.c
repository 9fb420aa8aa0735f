/* The results of a tuning, ranked, as a table and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/json.h"
#include "runtime/tune/tuning.h"

const char *tile_candidate_state_name(tile_candidate_state state) {
    static const char *const names[] = {
#define CANDIDATE(name, meaning) #name,
#include "tile/candidates.def"
#undef CANDIDATE
    };
    return (size_t)state < sizeof names / sizeof *names ? names[state] : NULL;
}

static const char *meaning_of(tile_candidate_state state) {
    static const char *const meanings[] = {
#define CANDIDATE(name, meaning) meaning,
#include "tile/candidates.def"
#undef CANDIDATE
    };
    return meanings[state];
}

/* Ranking -------------------------------------------------------------------------------------- */

/* Orders by the last stage reached, then measured candidates by their rate, then in the order of
 * trial. */
static int compare(const void *a, const void *b) {
    const tile_candidate *x = *(const tile_candidate *const *)a;
    const tile_candidate *y = *(const tile_candidate *const *)b;
    bool measured = x->state == TILE_CANDIDATE_measured;
    if (x->state != y->state) return (int)y->state - (int)x->state;
    if (measured && x->rate != y->rate) return x->rate < y->rate ? -1 : 1;
    return (x > y) - (x < y);
}

void tune_rank(tile_tuning *t) {
    if (!t->ranked) t->ranked = TILE_NEW_ARRAY(&t->arena, const tile_candidate *, t->count + 1);
    for (size_t i = 0; i < t->count; i++) t->ranked[i] = &t->points[i].c;
    qsort(t->ranked, t->count, sizeof *t->ranked, compare);
    bool won = t->count && t->ranked[0]->state == TILE_CANDIDATE_measured;
    t->best = won ? t->ranked[0] : NULL;
}

void tile_tuning_destroy(tile_tuning *t) {
    if (!t) return;
    for (size_t i = 0; i < t->count; i++) tile_arena_reset(&t->points[i].arena);
    tile_arena_reset(&t->arena);
    free(t);
}

tile_tuning_facts tile_tuning_get_facts(const tile_tuning *t) {
    return t ? t->facts : (tile_tuning_facts){0};
}

const tile_candidate *tile_tuning_best(const tile_tuning *t) {
    return t ? t->best : NULL;
}

unsigned tile_tuning_candidate_count(const tile_tuning *t) {
    return t && t->ranked ? (unsigned)t->count : 0;
}

const tile_candidate *tile_tuning_candidate_at(const tile_tuning *t, unsigned index) {
    return index < tile_tuning_candidate_count(t) ? t->ranked[index] : NULL;
}

/* Text ----------------------------------------------------------------------------------------- */

static void print_head(tile_text *to, const tile_tuning *t) {
    const tile_tuning_facts *f = &t->facts;
    if (f->found) {
        tile_text_format(to, "@%s: the cache has a point for %s%s\n", t->kernel, f->sizes,
                         f->stale ? ", of another compiler" : "");
        return;
    }
    tile_text_format(to, "@%s, %s: %zu candidates in %.2f s, built in %.2f s\n", t->kernel,
                     f->sizes, t->count, f->seconds, f->build_seconds);
    tile_text_format(to, "checked  %s\n", f->unchecked || !*f->check ? "nothing" : f->check);
    if (f->in_process)
        tile_text_format(to, "worker   none: candidates ran in this process\n");
    else
        tile_text_format(to, "worker   restarted %u times\n", f->restarts);
    tile_text_format(to, "point    %s%s%s\n", f->kept ? "kept in the cache" : "not kept",
                     t->unkept ? ": " : "", t->unkept ? t->unkept : "");
}

static void print_row(tile_text *to, const tile_candidate *c, unsigned rank) {
    bool has_time = c->time.repeats != 0;
    if (c->state == TILE_CANDIDATE_measured)
        tile_text_format(to, "%5u", rank);
    else
        tile_text_format(to, "    -");
    if (has_time)
        tile_text_format(to, " %10.2f %9.2f-%-9.2f", 1e6 * c->time.median, 1e6 * c->time.lower,
                         1e6 * c->time.upper);
    else if (c->time.median > 0) /* the point was in the cache: nothing else is known */
        tile_text_format(to, " %10.2f %19s", 1e6 * c->time.median, "");
    else
        tile_text_format(to, " %10s %19s", "-", "");
    tile_text_format(to, " %5d %6d %7d %6d %9.1f  %s", c->registers, c->local_bytes,
                     c->shared_bytes, c->blocks_per_sm, 1e6 * c->estimate,
                     *c->text ? c->text : "(as it is written)");
    if (c->state != TILE_CANDIDATE_measured)
        tile_text_format(to, "  %s%s%s", tile_candidate_state_name(c->state), *c->why ? ": " : "",
                         c->why);
    tile_text_format(to, "\n");
}

/* Explains those words of the table that occur in it. */
static void print_meanings(tile_text *to, const tile_tuning *t) {
    for (unsigned s = 0; s < TILE_CANDIDATE_measured; s++) {
        unsigned count = 0;
        for (size_t i = 0; i < t->count; i++) count += t->points[i].c.state == s;
        if (count)
            tile_text_format(to, "%-8s %u: %s\n",
                             tile_candidate_state_name((tile_candidate_state)s), count,
                             meaning_of((tile_candidate_state)s));
    }
}

static void print_text(tile_text *to, const tile_tuning *t) {
    print_head(to, t);
    tile_text_format(to, "%5s %10s %19s %5s %6s %7s %6s %9s  %s\n", "rank", "us", "quartiles us",
                     "regs", "local", "shared", "per SM", "model us", "candidate");
    for (size_t i = 0; i < t->count; i++) print_row(to, t->ranked[i], (unsigned)i + 1);
    print_meanings(to, t);
}

/* JSON ----------------------------------------------------------------------------------------- */

static void put_bool(tile_text *to, const char *name, bool value) {
    tile_text_format(to, ", \"%s\": %s", name, value ? "true" : "false");
}

static void print_candidate(tile_text *to, const tile_candidate *c) {
    tile_text_format(to, "    {\"state\": \"%s\"", tile_candidate_state_name(c->state));
    tile_json_put_field(to, "point", c->text);
    tile_json_put_field(to, "why", c->why);
    tile_text_format(to,
                     ", \"median_us\": %.4f, \"lower_us\": %.4f, \"upper_us\": %.4f, "
                     "\"fastest_us\": %.4f, \"slowest_us\": %.4f, \"repeats\": %u, \"rate\": %.9g, "
                     "\"model_us\": %.4f, \"registers\": %d, \"local_bytes\": %d, "
                     "\"shared_bytes\": %d, \"blocks_per_sm\": %d, \"build_s\": %.4f}",
                     1e6 * c->time.median, 1e6 * c->time.lower, 1e6 * c->time.upper,
                     1e6 * c->time.fastest, 1e6 * c->time.slowest, c->time.repeats, c->rate,
                     1e6 * c->estimate, c->registers, c->local_bytes, c->shared_bytes,
                     c->blocks_per_sm, c->build_seconds);
}

static void print_json(tile_text *to, const tile_tuning *t) {
    const tile_tuning_facts *f = &t->facts;
    tile_text_format(to, "{\n  \"kernel\": ");
    tile_json_put_string(to, t->kernel);
    tile_json_put_field(to, "name", f->name);
    tile_json_put_field(to, "sizes", f->sizes);
    tile_json_put_field(to, "bucket", f->bucket);
    tile_json_put_field(to, "check", f->check);
    put_bool(to, "found", f->found);
    put_bool(to, "stale", f->stale);
    put_bool(to, "in_process", f->in_process);
    put_bool(to, "unchecked", f->unchecked);
    put_bool(to, "kept", f->kept);
    tile_text_format(to, ", \"restarts\": %u, \"build_s\": %.4f, \"seconds\": %.4f", f->restarts,
                     f->build_seconds, f->seconds);
    tile_text_format(to, ",\n  \"candidates\": [");
    for (size_t i = 0; i < t->count; i++) {
        tile_text_format(to, i ? ",\n" : "\n");
        print_candidate(to, t->ranked[i]);
    }
    tile_text_format(to, "\n  ]\n}\n");
}

void tile_tuning_print(const tile_tuning *t, tile_tuning_form form, tile_writer writer,
                       void *user) {
    TILE_GUARD(NULL, )
    tile_arena arena = {0};
    tile_text text = {.arena = &arena};
    if (!t || !t->ranked || !writer) return;
    switch (form) {
    case TILE_TUNING_TEXT: print_text(&text, t); break;
    case TILE_TUNING_JSON: print_json(&text, t); break;
    }
    writer(text.length ? text.data : "", text.length, user);
    tile_arena_reset(&arena);
}
