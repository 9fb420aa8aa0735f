/* --print-layout: which thread holds which element, as text or as a picture. */
#ifndef TILE_TOOLS_TILE_OPT_LAYOUTS_H
#define TILE_TOOLS_TILE_OPT_LAYOUTS_H

#include "tile/inspect.h"
#include "tools/common/tool.h"

enum {
    LAYOUTS_SHOWN = 64 /* rows and columns that are shown of a tile; the rest repeats them */
};

/* Values of one type, and therefore one layout, and the operations that use them. */
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

/* One plane of a tile: its last two dims. A one-dimensional tile is split into rows of
 * LAYOUTS_SHOWN. */
typedef struct layouts_grid {
    const tile_type *type;
    uint32_t *holder;       /* by element: thread << 20 | register; or the offset, in elements */
    uint32_t rows, columns; /* of the tile */
    uint32_t shown_rows, shown_columns; /* the part that is shown */
} layouts_grid;

/* Collects the layouts that passes have left in a module: of all values, or of those with this name
 * (with or without %). The caller frees the report. */
layouts_report layouts_collect(tile_module *module, const char *kernel, const char *name,
                               const tile_target *target);
void layouts_destroy(layouts_report *report);

layouts_grid layouts_open(const tile_type *type);
void layouts_close(layouts_grid *grid);
/* Returns the holder of the element at this row and column of the first plane. */
uint32_t layouts_holder(const layouts_grid *grid, uint32_t row, uint32_t column);
static inline uint32_t layouts_thread(uint32_t holder) {
    return holder >> 20;
}
static inline uint32_t layouts_register(uint32_t holder) {
    return holder & ((UINT32_C(1) << 20) - 1);
}
/* Returns an element's byte offset within a stage of a shared buffer; the other function returns
 * its bank. */
uint32_t layouts_byte(const layouts_grid *grid, uint32_t holder);
uint32_t layouts_bank(const layouts_grid *grid, uint32_t holder);

/* Writes "128 threads, 32 registers each; every element is held by 4 of them" or "8192 bytes". */
void layouts_describe(const tile_type *type, tool_text *out);
/* Writes "line 12, load: ld.global of 16 bytes, 8 requests, 128 sectors, 0 needless". */
void layouts_describe_use(const tile_layout_use *use, tool_text *out);
void layouts_format(tool_text *out, const char *format, ...) TILE_PRINTF(2, 3);

void layouts_print(const layouts_report *report, tool_text *out);
/* layouts_svg.c */
void layouts_draw(const layouts_report *report, tool_text *out);

#endif
