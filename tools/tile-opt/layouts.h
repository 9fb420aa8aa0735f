/* --print-layout: who holds what, as text or as a picture. */
#ifndef TILE_TOOLS_TILE_OPT_LAYOUTS_H
#define TILE_TOOLS_TILE_OPT_LAYOUTS_H

#include "tile/inspect.h"
#include "tools/common/tool.h"

enum {
    LAYOUTS_SHOWN = 64 /* rows and columns of a tile; what is behind them repeats them */
};

/* Values of one type, which have one layout, and what operations do with them. */
typedef struct layouts_group {
    const char *function;
    const tile_type *type;
    tool_text names; /* "%a, %b" */
    tile_layout_use *uses;
    unsigned use_count;
} layouts_group;

typedef struct layouts_report {
    layouts_group *groups;
    unsigned count;
} layouts_report;

/* One plane of a tile: its last two dims, or what a tile of one dim is as rows of LAYOUTS_SHOWN. */
typedef struct layouts_grid {
    const tile_type *type;
    uint32_t *holder; /* by element's index: thread << 20 | register; or the offset, in elements */
    uint32_t rows, columns;             /* of the tile */
    uint32_t shown_rows, shown_columns; /* of these */
} layouts_grid;

/* What passes have left in a module: all values that have layouts, or those of this name (with or
 * without %). The caller gives it back. */
layouts_report layouts_collect(tile_module *module, const char *kernel, const char *name,
                               const tile_target *target);
void layouts_destroy(layouts_report *report);

layouts_grid layouts_open(const tile_type *type);
void layouts_close(layouts_grid *grid);
/* The holder of the element in this row and column of the first plane. */
uint32_t layouts_holder(const layouts_grid *grid, uint32_t row, uint32_t column);
static inline uint32_t layouts_thread(uint32_t holder) {
    return holder >> 20;
}
static inline uint32_t layouts_register(uint32_t holder) {
    return holder & ((UINT32_C(1) << 20) - 1);
}
/* Where an element of a shared buffer lies: its byte in a stage, and the bank of that. */
uint32_t layouts_byte(const layouts_grid *grid, uint32_t holder);
uint32_t layouts_bank(const layouts_grid *grid, uint32_t holder);

/* "128 threads, 32 registers each; every element is held by 4 of them", "8192 bytes" */
void layouts_describe(const tile_type *type, tool_text *out);
/* "line 12, load: ld.global of 16 bytes, 8 requests, 128 sectors, 0 needless" */
void layouts_describe_use(const tile_layout_use *use, tool_text *out);
void layouts_format(tool_text *out, const char *format, ...) TILE_PRINTF(2, 3);

void layouts_print(const layouts_report *report, tool_text *out);
/* layouts_svg.c */
void layouts_draw(const layouts_report *report, tool_text *out);

#endif
