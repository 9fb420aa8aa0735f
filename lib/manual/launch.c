/* The manual's chapter on what a GPU limits of a launch. */
#include "lib/manual/text.h"
#include "lib/support/target.h"
#include "tile/launch_limits.h"

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
    tile_out_text(out, tile_manual_features);
    for (unsigned i = TILE_FEATURE_base + 1; i < TILE_FEATURE_COUNT; i++)
        tile_out_print(out, "| `%s` | %s | %s |\n", tile_feature_name((tile_feature)i),
                       tile_feature_text((tile_feature)i),
                       tile_feature_targets((tile_feature)i, targets, sizeof targets));
    tile_out_text(out, tile_manual_families);
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
    tile_out_text(out, tile_manual_launch);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        tile_out_print(out, "| %d | %s |\n", rows[i].number, rows[i].subject);
    print_targets(out);
    print_features(out);
}
