#include "tools/tile-opt/layouts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values -------------------------------------------------------------------------------------- */

static void *grow(void *array, size_t size) {
    void *more = realloc(array, size);
    if (!more) abort();
    return more;
}

/* Types are unique objects, so values of one type share one layout. */
static layouts_group *group_of(layouts_report *report, const tile_laid_out *value) {
    for (unsigned i = 0; i < report->count; i++)
        if (report->groups[i].type == value->type &&
            strcmp(report->groups[i].function, value->function) == 0)
            return &report->groups[i];
    report->groups = grow(report->groups, sizeof *report->groups * (report->count + 1));
    layouts_group *group = &report->groups[report->count++];
    *group = (layouts_group){.function = value->function, .type = value->type};
    return group;
}

static bool same_use(const tile_layout_use *a, const tile_layout_use *b) {
    return a->line == b->line && strcmp(a->operation, b->operation) == 0 &&
           strcmp(a->way, b->way) == 0 && a->access_bytes == b->access_bytes;
}

static void add_use(layouts_group *group, const tile_layout_use *use) {
    for (unsigned i = 0; i < group->use_count; i++)
        if (same_use(&group->uses[i], use)) return;
    group->uses = grow(group->uses, sizeof *group->uses * (group->use_count + 1));
    group->uses[group->use_count++] = *use;
}

static void take(const tile_laid_out *value, void *user) {
    layouts_group *group = group_of(user, value);
    layouts_format(&group->names, "%s%%%s", group->names.size ? ", " : "", value->name);
    for (unsigned i = 0; i < value->use_count; i++) add_use(group, &value->uses[i]);
}

layouts_report layouts_collect(tile_module *module, const char *kernel, const char *name,
                               const tile_target *target) {
    layouts_report report = {NULL, 0};
    if (name && *name == '%') name++;
    tile_inspect_layouts(module, kernel, name, target, take, &report);
    return report;
}

void layouts_destroy(layouts_report *report) {
    for (unsigned i = 0; i < report->count; i++) {
        free(report->groups[i].names.data);
        free(report->groups[i].uses);
    }
    free(report->groups);
}

/* Planes -------------------------------------------------------------------------------------- */

layouts_grid layouts_open(const tile_type *type) {
    const tile_layout *l = type->layout;
    layouts_grid g = {.type = type};
    uint32_t registers = tile_layout_registers(l), elements = 1;
    for (unsigned d = 0; d < l->rank; d++) elements *= tile_layout_extent(l, d);
    g.holder = grow(NULL, sizeof *g.holder * (elements ? elements : 1));
    for (uint32_t t = 32u << l->warp_bits; t-- > 0;)
        for (uint32_t r = 0; r < registers; r++) {
            uint32_t index = tile_layout_apply(l, r, t % 32, t / 32);
            if (index < elements) g.holder[index] = t << 20 | r;
        }
    g.columns = l->rank ? tile_layout_extent(l, l->rank - 1u) : 1;
    g.rows = l->rank > 1 ? tile_layout_extent(l, l->rank - 2u) : 1;
    if (l->rank == 1 && g.columns > LAYOUTS_SHOWN) {
        g.rows = (g.columns + LAYOUTS_SHOWN - 1) / LAYOUTS_SHOWN;
        g.columns = LAYOUTS_SHOWN;
    }
    g.shown_rows = g.rows < LAYOUTS_SHOWN ? g.rows : LAYOUTS_SHOWN;
    g.shown_columns = g.columns < LAYOUTS_SHOWN ? g.columns : LAYOUTS_SHOWN;
    return g;
}

void layouts_close(layouts_grid *grid) {
    free(grid->holder);
}

uint32_t layouts_holder(const layouts_grid *grid, uint32_t row, uint32_t column) {
    const tile_layout *l = grid->type->layout;
    uint32_t at[TILE_MAX_RANK] = {0};
    if (l->rank == 1) {
        at[0] = row * grid->columns + column;
        if (at[0] >= tile_layout_extent(l, 0)) at[0] = tile_layout_extent(l, 0) - 1;
    } else if (l->rank > 1) {
        at[l->rank - 2] = row;
        at[l->rank - 1] = column;
    }
    return grid->holder[tile_layout_index(l, at)];
}

uint32_t layouts_byte(const layouts_grid *grid, uint32_t holder) {
    return layouts_register(holder) * tile_scalar_bytes(grid->type->scalar);
}

uint32_t layouts_bank(const layouts_grid *grid, uint32_t holder) {
    return layouts_byte(grid, holder) / 4 % 32;
}

/* Words --------------------------------------------------------------------------------------- */

void layouts_format(tool_text *out, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0)
        tool_append(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1, out);
}

static void type_text(const tile_type *type, tool_text *out) {
    layouts_format(out, "%s<%s[", type->kind == TILE_TYPE_TILE ? "tile" : "shared",
                   tile_scalar_name(type->scalar));
    for (unsigned d = 0; d < type->rank; d++)
        layouts_format(out, "%s%lld", d ? ", " : "", (long long)tile_type_dim(type, d));
    layouts_format(out, "]>");
}

void layouts_describe(const tile_type *type, tool_text *out) {
    const tile_layout *l = type->layout;
    uint64_t elements = 1, places = (uint64_t)tile_layout_registers(l) * 32 << l->warp_bits;
    for (unsigned d = 0; d < l->rank; d++) elements *= tile_layout_extent(l, d);
    type_text(type, out);
    if (type->kind == TILE_TYPE_SHARED) {
        layouts_format(out, ", %llu bytes",
                       (unsigned long long)(elements * tile_scalar_bytes(type->scalar)));
        if (type->stages)
            layouts_format(out, " in each of %lld stages", (long long)tile_type_stage_count(type));
        return;
    }
    layouts_format(out, ", %u threads, %u registers each", 32u << l->warp_bits,
                   tile_layout_registers(l));
    if (places > elements)
        layouts_format(out, "; %llu threads hold each element",
                       (unsigned long long)(places / elements));
}

void layouts_describe_use(const tile_layout_use *use, tool_text *out) {
    if (use->line) layouts_format(out, "line %u, ", use->line);
    layouts_format(out, "%s: %s", use->operation, use->way);
    if (use->access_bytes) layouts_format(out, ", %u bytes a thread", use->access_bytes);
    if (use->requests)
        layouts_format(out, ", %u request%s of a warp", use->requests,
                       use->requests > 1 ? "s" : "");
    if (use->sectors)
        layouts_format(out, ", %.4g sectors each, %u needless",
                       (double)use->sectors / use->requests, use->needless);
    if (use->wavefronts)
        layouts_format(out, ", %u wavefronts, %u bank conflicts", use->wavefronts, use->needless);
}

/* Text ---------------------------------------------------------------------------------------- */

static void cell_text(const layouts_grid *g, uint32_t row, uint32_t column, char text[24]) {
    uint32_t holder = layouts_holder(g, row, column);
    if (g->type->kind == TILE_TYPE_SHARED)
        snprintf(text, 24, "%u@%u", layouts_byte(g, holder), layouts_bank(g, holder));
    else
        snprintf(text, 24, "%u:%u", layouts_thread(holder), layouts_register(holder));
}

static int cell_width(const layouts_grid *g) {
    char text[24];
    size_t most = 3;
    for (uint32_t r = 0; r < g->shown_rows; r++)
        for (uint32_t c = 0; c < g->shown_columns; c++) {
            cell_text(g, r, c, text);
            if (strlen(text) > most) most = strlen(text);
        }
    return (int)most + 1;
}

static void print_grid(const layouts_grid *g, tool_text *out) {
    char text[24];
    int width = cell_width(g);
    layouts_format(out, "%6s", "");
    for (uint32_t c = 0; c < g->shown_columns; c++) layouts_format(out, "%*u", width, c);
    layouts_format(out, "\n");
    for (uint32_t r = 0; r < g->shown_rows; r++) {
        layouts_format(out, "%6u", g->type->rank == 1 ? r * g->columns : r);
        for (uint32_t c = 0; c < g->shown_columns; c++) {
            cell_text(g, r, c, text);
            layouts_format(out, "%*s", width, text);
        }
        layouts_format(out, "\n");
    }
    if (g->shown_rows < g->rows || g->shown_columns < g->columns)
        layouts_format(out, "      .. of %u rows and %u columns\n", g->rows, g->columns);
}

static void print_group(const layouts_group *group, tool_text *out) {
    layouts_grid grid = layouts_open(group->type);
    layouts_format(out, "@%s: ", group->function);
    tool_append(group->names.data, group->names.size, out);
    layouts_format(out, "\n  ");
    layouts_describe(group->type, out);
    layouts_format(out, group->type->kind == TILE_TYPE_SHARED
                            ? "; byte@bank of each element\n"
                            : "; thread:register of each element\n");
    if (group->type->rank > 2) layouts_format(out, "  the first plane of the last two dims\n");
    print_grid(&grid, out);
    for (unsigned i = 0; i < group->use_count; i++) {
        layouts_format(out, "  ");
        layouts_describe_use(&group->uses[i], out);
        layouts_format(out, "\n");
    }
    layouts_close(&grid);
}

void layouts_print(const layouts_report *report, tool_text *out) {
    for (unsigned i = 0; i < report->count; i++) {
        if (i) layouts_format(out, "\n");
        print_group(&report->groups[i], out);
    }
}
