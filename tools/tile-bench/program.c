#include "tools/tile-bench/bench.h"
#include "tools/tile-bench/program/serve.h"
int tile_bench_program(tool_arguments *words) {
    bench_lab_options o = {.cuda = false};
    const char *numbers = NULL;
    (void)words;
    while (words->next < words->argc) {
        if (tool_option(words, "--serve", &numbers)) continue;
        return 1;
    }
    return bench_program_serve(&o, numbers);
}
