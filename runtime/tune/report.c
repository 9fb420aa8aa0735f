/* The results of a tuning, ranked, as a table and as JSON. */
#include <inttypes.h>
#include <math.h>
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
    tile_text_format(to, "point    %s%s%s\n", f->kept ? "stored in the cache" : "not stored",
                     f->unkept ? ": " : "", f->unkept ? f->unkept : "");
}

/* "-" if the number is not known. */
static void print_number(tile_text *to, int width, int number, bool known) {
    if (known)
        tile_text_format(to, " %*d", width, number);
    else
        tile_text_format(to, " %*s", width, "-");
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
        tile_text_format(to, " %10.2f %19s", 1e6 * c->time.median, "-");
    else
        tile_text_format(to, " %10s %19s", "-", "-");
    print_number(to, 5, c->registers, c->registers > 0);
    print_number(to, 6, c->local_bytes, c->registers > 0);
    print_number(to, 7, c->shared_bytes, has_time || c->shared_bytes);
    print_number(to, 9, c->blocks_per_sm, c->blocks_per_sm > 0);
    if (c->estimate > 0)
        tile_text_format(to, " %9.1f", 1e6 * c->estimate);
    else
        tile_text_format(to, " %9s", "-");
    tile_text_format(to, "  %s", *c->text ? c->text : "(as it is written)");
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
    tile_text_format(to, "%5s %10s %19s %5s %6s %7s %9s %9s  %s\n", "rank", "us", "quartiles us",
                     "regs", "local", "shared", "blocks/SM", "model us", "candidate");
    for (size_t i = 0; i < t->count; i++) print_row(to, t->ranked[i], (unsigned)i + 1);
    print_meanings(to, t);
    tile_text_format(to, "us: the median launch; half of the launches are between the quartiles. "
                         "regs: registers of a thread. local, shared: bytes.\n"
                         "blocks/SM: blocks on a multiprocessor at the same time. model us: the "
                         "estimate. -: not known\n");
}

/* JSON ----------------------------------------------------------------------------------------- */

static void put_bool(tile_text *to, const char *name, bool value) {
    tile_text_format(to, ", \"%s\": %s", name, value ? "true" : "false");
}

/* null if the number is not known. */
static void put_number(tile_text *to, const char *name, int digits, double number, bool known) {
    if (known && isfinite(number))
        tile_text_format(to, ", \"%s\": %.*f", name, digits, number);
    else
        tile_text_format(to, ", \"%s\": null", name);
}

static void print_candidate(tile_text *to, const tile_candidate *c) {
    tile_text_format(to, "    {\"state\": \"%s\"", tile_candidate_state_name(c->state));
    tile_json_put_field(to, "point", c->text);
    tile_json_put_field(to, "why", c->why);
    const bool has_time = c->time.repeats != 0, has_registers = c->registers > 0;
    put_number(to, "median_us", 4, 1e6 * c->time.median, c->time.median > 0);
    put_number(to, "lower_us", 4, 1e6 * c->time.lower, has_time);
    put_number(to, "upper_us", 4, 1e6 * c->time.upper, has_time);
    put_number(to, "fastest_us", 4, 1e6 * c->time.fastest, has_time);
    put_number(to, "slowest_us", 4, 1e6 * c->time.slowest, has_time);
    put_number(to, "repeats", 0, c->time.repeats, has_time);
    if (c->state == TILE_CANDIDATE_measured && isfinite(c->rate))
        tile_text_format(to, ", \"rate\": %.9g", c->rate);
    else
        tile_text_format(to, ", \"rate\": null");
    put_number(to, "model_us", 4, 1e6 * c->estimate, c->estimate > 0);
    put_number(to, "registers", 0, c->registers, has_registers);
    put_number(to, "local_bytes", 0, c->local_bytes, has_registers);
    put_number(to, "shared_bytes", 0, c->shared_bytes, has_time || c->shared_bytes);
    put_number(to, "blocks_per_sm", 0, c->blocks_per_sm, c->blocks_per_sm > 0);
    put_number(to, "build_s", 4, c->build_seconds, c->build_seconds > 0);
    tile_text_format(to, "}");
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
    tile_json_put_field(to, "unkept", f->unkept ? f->unkept : "");
    put_number(to, "restarts", 0, f->restarts, !f->found);
    put_number(to, "build_s", 4, f->build_seconds, f->build_seconds > 0);
    put_number(to, "seconds", 4, f->seconds, true);
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
