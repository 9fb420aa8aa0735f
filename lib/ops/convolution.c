#include "lib/ops/convolution.h"

#include <inttypes.h>
#include <string.h>

#include "lib/ir/syntax.h"

static const tile_attr *find(const tile_attr *attrs, unsigned count, tile_attr_id id) {
    for (unsigned i = 0; i < count; i++)
        if (attrs[i].id == id) return &attrs[i];
    return NULL;
}

/* Dims ---------------------------------------------------------------------------------------- */

typedef struct letters {
    const char *text;
    size_t length;
} letters;

/* Splits "nhwc,rsck->npqk". */
static bool split_dims(const char *text, letters parts[3]) {
    const char *comma = strchr(text, ','), *arrow = comma ? strstr(comma, "->") : NULL;
    if (!arrow) return false;
    parts[0] = (letters){text, (size_t)(comma - text)};
    parts[1] = (letters){comma + 1, (size_t)(arrow - comma - 1)};
    parts[2] = (letters){arrow + 2, strlen(arrow + 2)};
    return true;
}

/* Finds where the letters of one array are; false: it lacks one of its two own letters, or another
 * one is no small letter or stands twice. */
static bool read_letters(letters part, char outer, char channel, unsigned *spatial,
                         tile_convolution_order *order) {
    bool has_outer = false, has_channel = false;
    *spatial = 0;
    for (size_t d = 0; d < part.length; d++) {
        char letter = part.text[d];
        bool is_spatial = letter != outer && letter != channel;
        if (letter < 'a' || letter > 'z' || memchr(part.text, letter, d) ||
            (is_spatial && *spatial == TILE_MAX_SPATIAL))
            return false;
        has_outer |= letter == outer;
        has_channel |= letter == channel;
        if (letter == outer) order->outer = (unsigned)d;
        if (letter == channel) order->channel = (unsigned)d;
        if (is_spatial) order->spatial[(*spatial)++] = (unsigned)d;
    }
    return has_outer && has_channel && *spatial > 0;
}

/* n, c and k are no spatial dims of any array. */
static bool names_other(letters part, const char *others) {
    for (size_t d = 0; d < part.length; d++)
        if (strchr(others, part.text[d])) return true;
    return false;
}

static const char *read_dims(const char *text, tile_arena *arena, tile_convolution *c) {
    static const char form[] =
        "its dims are letters, such as \"nhwc,rsck->npqk\": n and c of lhs, c and k of rhs, n and "
        "k "
        "of the result, and in each of them the same number of other letters, 1 to 3, for the "
        "spatial dims";
    letters parts[3];
    unsigned spatial[3] = {0, 0, 0};
    bool fits = split_dims(text, parts) && read_letters(parts[0], 'n', 'c', &spatial[0], &c->lhs) &&
                read_letters(parts[1], 'c', 'k', &spatial[1], &c->rhs) &&
                read_letters(parts[2], 'n', 'k', &spatial[2], &c->result) &&
                !names_other(parts[0], "k") && !names_other(parts[1], "n") &&
                !names_other(parts[2], "c") && spatial[0] == spatial[1] && spatial[1] == spatial[2];
    c->spatial = spatial[0];
    return fits ? NULL : tile_arena_format(arena, "%s; not \"%s\"", form, text);
}

/* Numbers ------------------------------------------------------------------------------------- */

/* Reads a list of `width` numbers for each spatial dim, of which each is `least` or more. */
static const char *read_list(const tile_attr *attr, const tile_convolution *c, unsigned width,
                             int64_t least, int64_t absent, tile_arena *arena, int64_t *numbers) {
    for (unsigned i = 0; i < c->spatial * width; i++) numbers[i] = absent;
    if (!attr) return NULL;
    const char *name = tile_attr_keyword(attr->id);
    if (attr->count != c->spatial * width)
        return tile_arena_format(arena, "'%s' takes %s for each spatial dim, %u in all, not %u",
                                 name, width == 1 ? "a number" : "two numbers, before and behind,",
                                 c->spatial * width, attr->count);
    for (unsigned i = 0; i < attr->count; i++) {
        numbers[i] = attr->list[i];
        if (numbers[i] < least || numbers[i] > INT32_MAX || numbers[i] < INT32_MIN)
            return tile_arena_format(arena, "a number of '%s' is %" PRId64 "; it is %s", name,
                                     numbers[i], least == 1 ? "1 to 2^31 - 1" : "an i32");
    }
    return NULL;
}

static const char *read_numbers(const tile_attr *attrs, unsigned count, tile_arena *arena,
                                tile_convolution *c) {
    int64_t pads[2 * TILE_MAX_SPATIAL], reversed[TILE_MAX_SPATIAL];
    const struct {
        tile_attr_id id;
        unsigned width;
        int64_t least, absent, *numbers;
    } lists[] = {
        {TILE_ATTR_strides, 1, 1, 1, c->strides},
        {TILE_ATTR_dilations, 1, 1, 1, c->dilations},
        {TILE_ATTR_input_dilations, 1, 1, 1, c->input_dilations},
        {TILE_ATTR_pads, 2, INT32_MIN, 0, pads},
        {TILE_ATTR_reversed, 1, INT32_MIN, 0, reversed},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *fault = read_list(find(attrs, count, lists[i].id), c, lists[i].width,
                                      lists[i].least, lists[i].absent, arena, lists[i].numbers);
        if (fault) return fault;
    }
    for (unsigned i = 0; i < c->spatial; i++) {
        if (reversed[i] != 0 && reversed[i] != 1)
            return tile_arena_format(arena,
                                     "a number of 'reverse' is %" PRId64 "; it is 1 if the "
                                     "filter is read backward along the dim, otherwise 0",
                                     reversed[i]);
        c->reversed[i] = reversed[i] == 1;
        memcpy(c->pads[i], &pads[2 * i], sizeof c->pads[i]);
    }
    return NULL;
}

static const tile_expr *read_groups(const tile_attr *attrs, unsigned count, tile_attr_id id) {
    const tile_attr *attr = find(attrs, count, id);
    return attr && !tile_expr_is(attr->expr, 1) ? attr->expr : NULL;
}

const char *tile_convolution_read(const tile_attr *attrs, unsigned count, tile_arena *arena,
                                  tile_convolution *c) {
    const tile_attr *dims = find(attrs, count, TILE_ATTR_dims);
    *c = (tile_convolution){0};
    const char *fault = dims && dims->text ? read_dims(dims->text, arena, c)
                                           : "the attribute 'dims' is missing: write {dims = "
                                             "\"nhwc,rsck->npqk\"}";
    if (!fault) fault = read_numbers(attrs, count, arena, c);
    if (fault) return fault;
    c->groups = read_groups(attrs, count, TILE_ATTR_groups);
    c->batch_groups = read_groups(attrs, count, TILE_ATTR_batch_groups);
    return c->groups && c->batch_groups ? "one of 'groups' and 'batch_groups' is 1" : NULL;
}

tile_convolution tile_convolution_of(const tile_function *f, tile_op op) {
    const tile_op_data *data = tile_op_at(f, op);
    tile_arena scratch = {0};
    tile_convolution convolution;
    tile_convolution_read(data->attrs, data->attr_count, &scratch, &convolution);
    tile_arena_reset(&scratch);
    return convolution;
}

/* Extents ------------------------------------------------------------------------------------- */

static const tile_expr *op(tile_context *context, tile_opcode opcode, const tile_expr *a,
                           int64_t b) {
    return tile_expr_op(context, opcode, a, tile_expr_int(context, b), NULL);
}

/* (elements - 1) * dilation + 1, and 0 for none. */
static const tile_expr *dilated(tile_context *context, const tile_expr *elements,
                                int64_t dilation) {
    if (dilation == 1) return elements;
    const tile_expr *gaps =
        op(context, TILE_OP_mul, op(context, TILE_OP_sub, elements, 1), dilation);
    return op(context, TILE_OP_max, op(context, TILE_OP_add, gaps, 1), 0);
}

/* (positions - covered) / stride + 1, written so that a division toward zero gives 0 for the first
 * filter that is too large. */
const tile_expr *tile_convolution_extent(tile_context *context, const tile_convolution *c,
                                         unsigned i, const tile_expr *input,
                                         const tile_expr *filter) {
    int64_t ends = c->pads[i][0] + c->pads[i][1] + c->strides[i], taps, number;
    const tile_expr *positions = dilated(context, input, c->input_dilations[i]);
    const tile_expr *covered = dilated(context, filter, c->dilations[i]);
    const tile_expr *room =
        tile_expr_is_int(covered, &taps)
            ? op(context, TILE_OP_add, positions, ends - taps)
            : op(context, TILE_OP_add, tile_expr_op(context, TILE_OP_sub, positions, covered, NULL),
                 ends);
    const tile_expr *count =
        c->strides[i] == 1 ? room : op(context, TILE_OP_div, room, c->strides[i]);
    bool fits = tile_expr_is_int(covered, &taps) && ends >= taps;
    if (tile_expr_is_int(count, &number)) return tile_expr_int(context, number > 0 ? number : 0);
    return fits ? count : op(context, TILE_OP_max, count, 0);
}
