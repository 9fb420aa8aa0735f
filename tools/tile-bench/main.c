/* tile-bench: measures compiled kernels and the compiler. */
#include <stdio.h>
#include <string.h>

#include "tools/tile-bench/bench.h"

static const struct {
    const char *name, *meaning;
    int (*run)(tool_arguments *words);
} commands[] = {
#define COMMAND(name, meaning) {#name, meaning, tile_bench_##name},
#include "tools/tile-bench/commands.def"
#undef COMMAND
};

static void print_help(void) {
    printf("usage: tile-bench COMMAND [options]\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].meaning);
    printf("\ntile-bench COMMAND --help prints the options of a command, tile-bench --version the "
           "version.\n");
}

int main(int argc, char **argv) {
    tool_arguments words = {argc, argv, 1};
    const char *name = "";
    tool_start();
    if (tool_flag(&words, "--help") || tool_flag(&words, "-h")) {
        print_help();
        return tool_finish(true);
    }
    if (tool_flag(&words, "--version")) return tool_print_version("tile-bench");
    if (tool_positional(&words, &name))
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
            if (strcmp(name, commands[i].name) == 0) return commands[i].run(&words);
    fprintf(stderr, "error: there is no command '%s'; see tile-bench --help\n",
            *name ? name : tool_current(&words));
    return 1;
}
