/* tile-fuzz-replay: the fuzz target on files, without a fuzzer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/fuzz_tile.h"
#include "tools/common/tool.h"

static const char help[] =
    "usage: tile-fuzz-replay [--all] [--name] [--plant] FILE...\n"
    "Does with each file what the fuzz target does with an input; aborts where a rule is broken.\n"
    "  --all    every step on every file: otherwise a hash of the text chooses the slow ones\n"
    "  --name   name each file before it is tried\n"
    "  --plant  a printer with a fault: the first text that parses aborts\n";

int main(int argc, char **argv) {
    fuzz_options options = {.all = false};
    fuzz_counts counts = {0};
    tool_arguments words = {argc, argv, 1};
    bool name = false;
    const char *path;
    while (words.next < argc) {
        if (tool_flag(&words, "--all")) {
            options.all = true;
        } else if (tool_flag(&words, "--plant")) {
            options.plant = true;
        } else if (tool_flag(&words, "--name")) {
            name = true;
        } else if (tool_positional(&words, &path)) {
            size_t size;
            char *text = tool_read_file(path, &size);
            if (!text) return 1;
            if (name) fprintf(stderr, "%s\n", path);
            fuzz_text(text, size, &options, &counts);
            free(text);
        } else {
            fputs(help, stderr);
            return 1;
        }
    }
    printf("%lu inputs, %lu parsed, %lu lowered, %lu emitted, %lu launched\n", counts.inputs,
           counts.parsed, counts.lowered, counts.emitted, counts.launched);
    return 0;
}
