/* Estimates how long a run takes, from typical rates of an H200. The actual time is reported at the
 * end of the run. */
#include "tools/tile-bench/measure/estimate.h"

#include <math.h>
#include <string.h>

static const double flop_rate = 5e14, read_rate = 3.5e12; /* per second, of a launch */
static const double copy_rate = 4e9;                      /* bytes a second from the host */
static const double flush_seconds = 1.5e-4;
static const double check_seconds = 0.15, problem_seconds = 0.8;

double bench_start_estimate(const bench_plan *plan) {
    bool has_peers = false;
    for (unsigned i = 0; i < plan->contender_count; i++)
        has_peers |= plan->contenders[i].program != NULL;
    return has_peers ? 10 : 3;
}

static double launch_estimate(const bench_problem *p) {
    return 5e-6 + fmax(bench_problem_flop(p) / flop_rate,
                       (bench_problem_read_bytes(p) + bench_problem_write_bytes(p)) / read_rate);
}

/* Flash attention is assumed to take twice as long. */
static double turns_estimate(const bench_plan *plan, const bench_problem *p) {
    double launches = (double)plan->rounds * (plan->turn + 2), seconds = 0;
    for (unsigned i = 0; i < plan->contender_count; i++) {
        const bench_candidate_spec *c = &plan->contenders[i];
        double slower = strcmp(c->kind, "flash") == 0 ? 2 : 1;
        if (bench_takes_part(c, p)) seconds += slower * launch_estimate(p) + flush_seconds;
    }
    return launches * seconds * (plan->flush_count ? plan->flush_count : 1);
}

double bench_problem_estimate(const bench_plan *plan, const bench_problem *p) {
    unsigned kernels = 0, others = 0;
    double seconds = problem_seconds;
    for (unsigned i = 0; i < plan->contender_count; i++) {
        const bench_candidate_spec *c = &plan->contenders[i];
        if (!bench_takes_part(c, p)) continue;
        if (strcmp(c->kind, "kernel") == 0)
            kernels++;
        else
            others++;
    }
    seconds +=
        plan->check_count * (check_seconds + kernels * bench_problem_read_bytes(p) / copy_rate / 2);
    if (plan->interleaved) seconds += turns_estimate(plan, p);
    if (plan->sustained && !p->latency_alone)
        seconds +=
            (plan->seconds + 0.2) * (plan->pairs ? 2 * plan->pairs * kernels : kernels + others);
    return seconds + kernels * bench_problem_budget(p, plan->budget);
}
