#include "lib/ops/im2col.h"

#include <inttypes.h>
#include <string.h>

#include "lib/ir/syntax.h"

static const tile_attr *find(const tile_attr *attrs, unsigned count, tile_attr_id id) {
    for (unsigned i = 0; i < count; i++)
        if (attrs[i].id == id) return &attrs[i];
    return NULL;
}

/* Numbers are small enough that sums and products of two fit 64 bits. */
static const char *read_list(const tile_attr *attr, const char *name, unsigned count, int64_t least,
                             int64_t absent, tile_arena *arena, int64_t *numbers) {
    enum { MOST = 1 << 20 };
    for (unsigned i = 0; i < count; i++) numbers[i] = absent;
    if (!attr) return NULL;
    if (attr->count != count)
        return tile_arena_format(arena, "'%s' takes %u numbers, not %u", name, count, attr->count);
    for (unsigned i = 0; i < count; i++) {
        numbers[i] = attr->list[i];
        if (numbers[i] < least || numbers[i] > MOST)
            return tile_arena_format(arena,
                                     "a number of '%s' is %" PRId64 "; it is %" PRId64 " to %d",
                                     name, numbers[i], least, MOST);
    }
    return NULL;
}

const char *tile_im2col_read(const tile_attr *attrs, unsigned count, unsigned spatial,
                             tile_arena *arena, tile_im2col *out) {
    enum { LEAST_PAD = -(1 << 20) };
    int64_t pads[2 * TILE_MAX_SPATIAL];
    const struct {
        tile_attr_id id;
        unsigned width;
        int64_t least, absent, *numbers;
    } lists[] = {
        {TILE_ATTR_filter, 1, 1, 1, out->filter},
        {TILE_ATTR_strides, 1, 1, 1, out->strides},
        {TILE_ATTR_dilations, 1, 1, 1, out->dilations},
        {TILE_ATTR_pads, 2, LEAST_PAD, 0, pads},
    };
    *out = (tile_im2col){.spatial = spatial};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *fault = read_list(find(attrs, count, lists[i].id),
                                      tile_attr_keyword(lists[i].id), lists[i].width * spatial,
                                      lists[i].least, lists[i].absent, arena, lists[i].numbers);
        if (fault) return fault;
    }
    for (unsigned i = 0; i < spatial; i++) memcpy(out->pads[i], &pads[2 * i], sizeof out->pads[i]);
    return NULL;
}

tile_im2col tile_im2col_of(const tile_function *f, tile_op op) {
    tile_im2col windows = {.spatial = 0};
    const tile_attr *filter = tile_op_attr(f, op, TILE_ATTR_filter);
    tile_arena scratch = {0};
    if (filter)
        tile_im2col_read(tile_op_at(f, op)->attrs, tile_op_at(f, op)->attr_count, filter->count,
                         &scratch, &windows);
    tile_arena_reset(&scratch);
    return windows;
}

tile_op tile_im2col_maker(const tile_function *f, tile_value view) {
    tile_op op = tile_value_def(f, view);
    return op.id && tile_op_opcode(f, op) == TILE_OP_im2col ? op : TILE_NO_OP;
}

int64_t tile_im2col_positions(const tile_im2col *windows) {
    int64_t count = 1;
    for (unsigned i = 0; i < windows->spatial; i++) count *= windows->filter[i];
    return count;
}

int64_t tile_im2col_lower(const tile_im2col *windows, unsigned i) {
    return -windows->pads[i][0];
}

int64_t tile_im2col_upper(const tile_im2col *windows, unsigned i) {
    return windows->pads[i][1] - (windows->filter[i] - 1) * windows->dilations[i];
}

int64_t tile_im2col_slack(const tile_im2col *windows, unsigned i) {
    return tile_im2col_upper(windows, i) - tile_im2col_lower(windows, i) - 1;
}

int64_t tile_im2col_places(const tile_im2col *windows, unsigned i, int64_t extent) {
    int64_t last = extent + tile_im2col_slack(windows, i);
    return last < 0 ? 0 : last / windows->strides[i] + 1;
}
