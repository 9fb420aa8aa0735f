/* Splits the text of a pipeline into steps. */
#include "tools/tile-opt/steps.h"

#include <string.h>

static const char blanks[] = " \t\n";

const char *opt_next_step(const char *at) {
    unsigned depth = 0;
    for (; *at && (*at != ',' || depth); at++)
        depth += *at == '{' ? 1 : *at == '}' && depth ? -1u : 0;
    return *at ? at + 1 : at;
}

size_t opt_step_length(const char **at) {
    const char *end = opt_next_step(*at);
    if (end > *at && end[-1] == ',') end--;
    *at += strspn(*at, blanks);
    while (end > *at && strchr(blanks, end[-1])) end--;
    return end > *at ? (size_t)(end - *at) : 0;
}

static bool is_step(const char *at, const char *pass) {
    at += strspn(at, blanks);
    return strncmp(at, pass, strlen(pass)) == 0 && strchr(" \t\n{,", at[strlen(pass)]);
}

/* True if `now` is `last` or precedes it in the module. Then the pass is not the one that ran on
 * `last`. */
static bool is_new_round(const opt_position *p, const tile_function *now) {
    const tile_function *f;
    for (unsigned i = 0; p->last && (f = tile_module_function(p->module, i)) && f != p->last; i++)
        if (f == now) return true;
    return p->last == now;
}

bool opt_follow(opt_position *p, const char *pass, const tile_function *f) {
    const char *at = p->at ? p->at : p->pipeline, *was = p->at;
    if (p->at && (is_new_round(p, f) || !is_step(at, pass))) at = opt_next_step(at);
    while (*at && !is_step(at, pass)) at = opt_next_step(at);
    p->at = at;
    p->last = f;
    return at != was;
}
