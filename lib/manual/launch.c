/* The manual's chapter on what a GPU limits of a launch. */
#include "lib/manual/launch.h"

#include <string.h>

#include "lib/support/target.h"
#include "tile/launch_limits.h"

static const char text[] =
    "\n"
    "## Limits of a launch\n"
    "\n"
    "A kernel or a launch that exceeds a limit is refused, with a message that says what it "
    "needs.\n"
    "Blocks along y and z are the exception:\n"
    "\n"
    "* If the grid can have more than 65535 blocks along y or z, the launch that first needs it\n"
    "  compiles a variant of the kernel with the clause `flat`. All other launches run the same "
    "code\n"
    "  as without it. If the grid is constant and too large, the kernel is `flat` from the start.\n"
    "* `flat` launches the blocks along y and z along x. `block_id`, `grid_dim` and `cluster_id` "
    "keep\n"
    "  the values that they have in the grid that is written. Each block computes one or two "
    "integer\n"
    "  divisions more.\n"
    "* A dimension y or z along which a cluster has several blocks is not moved: these blocks "
    "must\n"
    "  stay neighbors. Its limit is 65535 blocks. So is that of a grid that names `num_sms`.\n"
    "* A `persistent` kernel has blocks along x only and does not need `flat`.\n"
    "* A thread has at most 255 registers. ptxas spills the rest to memory, and\n"
    "  `tilec --emit=resources` reports how much.\n"
    "\n"
    "| at most | |\n"
    "|---|---|\n";

static const char features[] =
    "\n"
    "Targets differ in their features. If the target lacks a feature, the compiler selects other\n"
    "instructions where it can. It rejects an operation that has no other instruction. \"Or "
    "later\"\n"
    "refers to the order of the table above.\n"
    "\n"
    "| feature | what it is | targets |\n"
    "|---|---|---|\n";

static const char untested[] =
    "\n"
    "A target whose name ends with `f` is a family: its code runs on every GPU of the same major\n"
    "compute capability, from the one in its name on. The code of a target that ends with `a` runs "
    "on\n"
    "that compute capability alone.\n"
    "\n"
    "The targets after `sm_90a` were not run on silicon. ptxas assembled the kernels in "
    "`tools/kernels`\n"
    "for each of them, and the CPU device executed kernels that were compiled for them. These "
    "targets\n"
    "have no wgmma, and the compiler does not use tcgen05: `mma.sync` computes their products. It\n"
    "copies by TMA or `cp.async`.\n";

static void print_targets(const tile_out *out) {
    const tile_target *target;
    tile_out_print(out, "\nA multiprocessor holds at most (shared memory in bytes):\n\n"
                        "| target | shared memory of a block | shared memory | warps | blocks |\n"
                        "|---|---|---|---|---|\n");
    for (unsigned i = 0; (target = tile_target_at(i)); i++)
        tile_out_print(out, "| `%s` | %u | %u | %u | %u |\n", target->name,
                       target->max_shared_bytes, target->sm_shared_bytes, target->sm_warps,
                       target->sm_blocks);
}

/* `base` is what every target has. */
static void print_features(const tile_out *out) {
    char targets[TILE_TARGETS_TEXT];
    tile_out_print(out,
                   "\nTargets differ in their features. If the target lacks a feature,\n"
                   "the compiler selects other instructions where it can. It rejects an "
                   "operation that\nhas no other instruction. \"Or later\" is meant in the order "
                   "of the table above.\n\n| feature | what it is | targets |\n|---|---|---|\n");
    for (unsigned i = TILE_FEATURE_base + 1; i < TILE_FEATURE_COUNT; i++)
        out->writer(features, strlen(features), out->user);
    for (unsigned i = TILE_FEATURE_base + 1; i < TILE_FEATURE_COUNT; i++)
        tile_out_print(out, "| `%s` | %s | %s |\n", tile_feature_name((tile_feature)i),
                       tile_feature_text((tile_feature)i),
                       tile_feature_targets((tile_feature)i, targets, sizeof targets));
    out->writer(untested, strlen(untested), out->user);
}

void tile_manual_print_launch(const tile_out *out) {
    static const struct {
        int number;
        const char *subject;
    } rows[] = {
#define LAUNCH_LIMIT(name, number, subject) {number, subject},
#include "tile/launch_limits.def"
#undef LAUNCH_LIMIT
    };
    out->writer(text, strlen(text), out->user);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        tile_out_print(out, "| %d | %s |\n", rows[i].number, rows[i].subject);
    print_targets(out);
    print_features(out);
}
