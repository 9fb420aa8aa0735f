#include "tools/tile-run/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"

/* Viewers become slow with more events. */
static const uint64_t most_events = 1000000;
enum { MAX_LANES = 63 };

bool trace_open(trace *t, const char *path, unsigned blocks) {
    *t = (trace){.path = path, .blocks = blocks};
    if (!path) return true;
    t->file = fopen(path, "w");
    if (!t->file) {
        fprintf(stderr, "error: %s: %s\n", path, strerror(errno));
        return false;
    }
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", t->file);
    return true;
}

static void begin_object(trace *t) {
    fputs(t->events++ ? ",\n{" : "\n{", t->file);
}

/* Names a process or a thread. */
static void put_name(trace *t, const char *what, unsigned process, unsigned thread,
                     const char *name) {
    begin_object(t);
    fprintf(t->file,
            "\"ph\": \"M\", \"name\": \"%s\", \"pid\": %u, \"tid\": %u, \"args\": {\"name\": ",
            what, process, thread);
    tool_write_json_string(name, tool_write, t->file);
    fputs("}}", t->file);
}

/* Thread ids by which viewers order the rows. */
static unsigned thread_of(const trace_row *row) {
    return (1 + MAX_LANES) * row->warp + (row->background ? 2 + row->lane : 1);
}

static void name_row(trace *t, const trace_row *row, const tile_trace_event *e) {
    char name[120], warps[40];
    if (e->warps > 1)
        snprintf(warps, sizeof warps, "warps %u to %u", e->warp, e->warp + e->warps - 1);
    else
        snprintf(warps, sizeof warps, "warp %u", e->warp);
    snprintf(name, sizeof name, "%s%s", warps, row->background ? ", asynchronous" : "");
    if (row->lane) snprintf(name, sizeof name, "%s, asynchronous %u", warps, row->lane + 1);
    put_name(t, "thread_name", row->number, thread_of(row), name);
    begin_object(t);
    fprintf(t->file,
            "\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": %u, \"tid\": %u, \"args\": "
            "{\"sort_index\": %u}}",
            row->number, thread_of(row), thread_of(row));
}

/* Overlapping asynchronous events need separate rows: on one row, viewers treat a later event as
 * nested in the earlier one. *lane: of a new row. */
static trace_row *find_row(trace *t, const tile_trace_event *e, unsigned *number, unsigned *lane) {
    bool background = e->kind == TILE_TRACE_BACKGROUND;
    *number = *lane = 0;
    for (size_t i = 0; i < t->row_count; i++) {
        trace_row *row = &t->rows[i];
        if (memcmp(row->block, e->block, sizeof row->block) != 0) continue;
        *number = row->number;
        if (row->warp != e->warp || row->background != background) continue;
        if (!background || row->end <= e->begin || row->lane + 1 == MAX_LANES) return row;
        *lane = row->lane + 1;
    }
    return NULL;
}

static trace_row *add_row(trace *t, const tile_trace_event *e, unsigned number, unsigned lane) {
    if (t->row_count == t->row_capacity) {
        t->row_capacity = t->row_capacity ? 2 * t->row_capacity : 64;
        trace_row *more = realloc(t->rows, t->row_capacity * sizeof *more);
        if (!more) return NULL;
        t->rows = more;
    }
    trace_row *row = &t->rows[t->row_count++];
    *row = (trace_row){.warp = e->warp,
                       .number = number ? number : ++t->block_count,
                       .lane = lane,
                       .background = e->kind == TILE_TRACE_BACKGROUND};
    memcpy(row->block, e->block, sizeof row->block);
    if (!number) {
        char name[120];
        snprintf(name, sizeof name, "block %" PRId64 ", %" PRId64 ", %" PRId64, e->block[0],
                 e->block[1], e->block[2]);
        put_name(t, "process_name", row->number, 0, name);
    }
    name_row(t, row, e);
    return row;
}

static void put_event(trace *t, trace_row *row, const tile_trace_event *e) {
    static const char *const kinds[] = {[TILE_TRACE_OPERATION] = "operation",
                                        [TILE_TRACE_ARITHMETIC] = "arithmetic",
                                        [TILE_TRACE_WAIT] = "wait",
                                        [TILE_TRACE_BACKGROUND] = "background"};
    char name[100];
    snprintf(name, sizeof name, "%s%s", e->kind == TILE_TRACE_WAIT ? "wait: " : "", e->operation);
    if (row->end < e->end) row->end = e->end;
    begin_object(t);
    fputs("\"name\": ", t->file);
    tool_write_json_string(name, tool_write, t->file);
    fprintf(t->file,
            ", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %" PRIu64 ", \"dur\": %" PRIu64
            ", \"pid\": %u, \"tid\": %u, \"args\": {",
            kinds[e->kind], e->begin, e->end - e->begin, row->number, thread_of(row));
    if (*e->file) {
        char place[32];
        snprintf(place, sizeof place, ":%u:%u", e->line, e->column);
        tool_text at = {NULL, 0, 0};
        tool_append(e->file, strlen(e->file), &at);
        tool_append(place, strlen(place), &at);
        fputs("\"place\": ", t->file);
        tool_write_json_string(at.data, tool_write, t->file);
        fputs(", ", t->file);
        free(at.data);
    }
    fprintf(t->file, "\"group\": %u}}", e->group);
}

void trace_event(const tile_trace_event *event, void *user) {
    trace *t = user;
    unsigned number, lane;
    if (!t->file || t->failed) return;
    trace_row *row = find_row(t, event, &number, &lane);
    if (t->events >= most_events || (!number && t->block_count == t->blocks)) {
        t->left_out++;
        return;
    }
    if (!row) row = add_row(t, event, number, lane);
    if (row)
        put_event(t, row, event);
    else
        t->failed = true;
}

bool trace_close(trace *t) {
    if (!t->file) return true;
    fputs("\n]}\n", t->file);
    bool ok = !ferror(t->file) && !t->failed;
    ok &= fclose(t->file) == 0;
    free(t->rows);
    t->file = NULL;
    t->rows = NULL;
    if (!ok) fprintf(stderr, "error: %s: not all of it could be written\n", t->path);
    if (ok && t->left_out)
        fprintf(stderr,
                "note: the trace has %u blocks and at most %" PRIu64 " events; %" PRIu64
                " more events were not recorded\n",
                t->block_count, most_events, t->left_out);
    return ok;
}
