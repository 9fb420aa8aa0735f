#define _GNU_SOURCE /* memmem */
/* Annotates code with comments.
 *
 * The code is copied line by line; only comments are added. The operation of each instruction is
 * read from a marked version of the same code (lib/codegen/marked.h), which has the same
 * instructions in the same order.
 *
 * A comment before an instruction, and before the lines that belong to it (its block's label, its
 * location), shows its role and stage if they change, and its source line if that is the first
 * instruction of the line in the stage. A comment after the instruction shows its barrier. */
#include <stdio.h>
#include <string.h>

#include "lib/dump/dump.h"

/* A kind of code, described by the words at the beginning of or in its lines. */
typedef struct dump_form {
    const char *mark;        /* starts a comment */
    const char *place;       /* starts a line with a location; sscanf's format */
    const char *instruction; /* the start of instructions, except for those in `others` */
    const char *others[6];   /* starts of all other lines */
    const char *belongs[6];  /* those of them that belong to the instruction after them */
    const char *syncs[12];   /* what synchronizing instructions contain */
} dump_form;

static const dump_form forms[] = {
    [TILE_DUMP_LLVM] = {";", NULL, "  ", {NULL}, {""}, {"@llvm.nvvm.", " asm ", "atomic", "fence"}},
    [TILE_DUMP_PTX] = {"//",
                       "\t.loc\t1 %u",
                       "\t",
                       {"\t.", "\t//"},
                       {"\t.loc", "\t// begin", "$L", ""},
                       {"bar.", "barrier.", "fence", "cp.async", "wgmma.", "griddepcontrol", "atom",
                        "red.", "ld.acquire", "st.release", "cp.reduce", "st.async"}},
    [TILE_DUMP_SASS] = {"//",
                        "\t//## File \"operations\", line %u",
                        "        /*",
                        {NULL},
                        {"\t//##", ".L_", ""},
                        {"BAR.", "SYNCS", "DEPBAR", "WARPSYNC", "FENCE", "MEMBAR", "UTMA", "UBLKCP",
                         "ACQBULK", "WARPGROUP", "ARRIVES", "ATOM"}},
};

typedef struct line {
    const char *text;
    size_t length;
    uint32_t mark; /* an operation's id plus 1; 0: unknown */
} line;

typedef struct lines {
    line *at;
    size_t count;
} lines;

typedef struct annotator {
    const dump_form *form;
    const tile_function *f;
    const tile_dump_label *labels;
    tile_text *to;
    const char *section;
    uint8_t *shown; /* by line of the kernel's source: shown in this section already */
    uint32_t shown_count;
} annotator;

/* Lines ---------------------------------------------------------------------------------------- */

static bool begins(const line *l, const char *word) {
    size_t length = strlen(word);
    return length ? l->length >= length && memcmp(l->text, word, length) == 0 : !l->length;
}

static bool begins_with_any(const line *l, const char *const *words, size_t count) {
    for (size_t i = 0; i < count && words[i]; i++)
        if (begins(l, words[i])) return true;
    return false;
}

#define ANY(line, words) begins_with_any((line), (words), sizeof(words) / sizeof *(words))

static lines split(const char *text, size_t length, tile_arena *arena) {
    lines all = {NULL, 0};
    size_t capacity = 0;
    for (const char *end = text + length, *next; text < end; text = next + 1) {
        next = memchr(text, '\n', (size_t)(end - text));
        if (!next) next = end;
        all.at = tile_arena_grow(arena, all.at, all.count, &capacity, sizeof *all.at);
        all.at[all.count++] = (line){text, (size_t)(next - text), 0};
    }
    return all;
}

static bool is_instruction(const dump_form *form, const line *l) {
    return begins(l, form->instruction) && !ANY(l, form->others);
}

static size_t next_instruction(const dump_form *form, const lines *all, size_t i) {
    while (i < all->count && !is_instruction(form, &all->at[i])) i++;
    return i;
}

/* Marks ---------------------------------------------------------------------------------------- */

/* LLVM: each instruction refers to its location, `!dbg !7`, which is defined at the end as `!7 =
 * !DILocation(line: 12, ..`. */
static void read_llvm_marks(lines *all, tile_arena *arena) {
    unsigned id, mark;
    uint32_t *marks = TILE_NEW_ARRAY(arena, uint32_t, all->count + 1);
    for (size_t i = 0; i < all->count; i++)
        if (begins(&all->at[i], "!") &&
            sscanf(all->at[i].text, "!%u = !DILocation(line: %u,", &id, &mark) == 2 &&
            id <= all->count)
            marks[id] = mark;
    for (size_t i = 0; i < all->count; i++) {
        const line *l = &all->at[i];
        for (const char *at = l->text + l->length; at-- > l->text;)
            if (*at == '!' && sscanf(at, "!dbg !%u", &id) == 1 && id <= all->count) {
                all->at[i].mark = marks[id];
                break;
            }
    }
}

/* PTX and SASS: a location is valid up to the next one. */
static void read_marks(const dump_form *form, lines *all, tile_arena *arena) {
    unsigned mark = 0;
    if (!form->place) {
        read_llvm_marks(all, arena);
        return;
    }
    for (size_t i = 0; i < all->count; i++) {
        unsigned found;
        if (all->at[i].text[0] == '\t' && sscanf(all->at[i].text, form->place, &found) == 1)
            mark = found;
        all->at[i].mark = mark;
    }
}

/* Copies the marks, instruction by instruction. */
static void take_marks(const dump_form *form, lines *code, const lines *marked) {
    size_t from = 0;
    for (size_t i = 0; i < code->count; i++) {
        if (!is_instruction(form, &code->at[i])) continue;
        from = next_instruction(form, marked, from);
        if (from == marked->count) return;
        code->at[i].mark = marked->at[from++].mark;
    }
}

/* Comments ------------------------------------------------------------------------------------- */

static void put_lines(const annotator *a, const lines *code, size_t first, size_t end) {
    for (; first < end; first++)
        tile_text_format(a->to, "%.*s\n", (int)code->at[first].length, code->at[first].text);
}

static tile_loc place_of(const annotator *a, uint32_t id) {
    return id ? tile_op_loc(a->f, (tile_op){id}) : a->f->loc;
}

static void put_section(annotator *a, const char *section) {
    if (!section || section == a->section) return;
    a->section = section;
    memset(a->shown, 0, a->shown_count);
    tile_text_format(a->to, "\n%s ---- %s\n", a->form->mark, section);
}

/* The source line, once in each section; before it the call from which it was inlined. */
static void put_source(annotator *a, tile_loc loc) {
    const tile_context *context = tile_function_context(a->f);
    tile_loc call;
    if (tile_context_find_call(context, loc, &call)) put_source(a, call);
    const char *at = loc.file < context->source_count ? context->sources[loc.file].text : NULL;
    if (!loc.line || at != context->sources[a->f->loc.file].text || loc.line > a->shown_count)
        return;
    if (a->shown[loc.line - 1]) return;
    a->shown[loc.line - 1] = 1;
    for (uint32_t n = 1; n < loc.line; n++) at = strchr(at, '\n') + 1;
    size_t length = strcspn(at, "\r\n");
    tile_text_format(a->to, "%s %u: %.*s\n", a->form->mark, loc.line, (int)length, at);
}

static bool synchronizes(const dump_form *form, const line *l) {
    for (size_t i = 0; i < sizeof form->syncs / sizeof *form->syncs && form->syncs[i]; i++)
        if (memmem(l->text, l->length, form->syncs[i], strlen(form->syncs[i]))) return true;
    return false;
}

/* Writes an instruction, and the lines from `first` on that belong to it. */
static void put_instruction(annotator *a, const lines *code, size_t first, size_t i) {
    const line *l = &code->at[i];
    bool known = l->mark && l->mark <= a->f->op_count;
    const tile_dump_label *label = known ? &a->labels[l->mark - 1] : NULL;
    bool is_frame = l->mark == 1; /* of no operation: it may occur anywhere */
    if (label && (!is_frame || !a->section)) {
        put_section(a, label->section);
        put_source(a, place_of(a, l->mark - 1));
    }
    put_lines(a, code, first, i);
    tile_text_append(l->text, l->length, a->to);
    if (label && label->sync && synchronizes(a->form, l))
        tile_text_format(a->to, "  %s %s", a->form->mark, label->sync);
    tile_text_append("\n", 1, a->to);
}

static void put_code(annotator *a, const lines *code) {
    size_t first = 0; /* first of the lines that may belong to the next instruction */
    for (size_t i = 0; i < code->count; i++) {
        const line *l = &code->at[i];
        if (is_instruction(a->form, l)) {
            put_instruction(a, code, first, i);
            first = i + 1;
        } else if (!ANY(l, a->form->belongs)) {
            put_lines(a, code, first, i + 1);
            first = i + 1;
        }
    }
    put_lines(a, code, first, code->count);
}

static uint32_t count_lines(const tile_function *f) {
    const tile_context *context = tile_function_context(f);
    uint32_t count = 0;
    if (!f->loc.line || f->loc.file >= context->source_count) return 0;
    for (const char *at = context->sources[f->loc.file].text; at; count++)
        if ((at = strchr(at, '\n'))) at++;
    return count;
}

/* The lines of the code with their marks. */
static lines read_code(tile_dump_kind kind, const tile_blob *code, const tile_blob *marked,
                       tile_arena *arena) {
    const dump_form *form = &forms[kind];
    lines all = split(code->data, code->size, arena);
    lines others = split(marked->data, marked->size, arena);
    read_marks(form, &others, arena);
    take_marks(form, &all, &others);
    return all;
}

void tile_dump_write(const tile_dump_options *options, const tile_blob *code,
                     const tile_blob *marked, tile_text *to) {
    const tile_function *f = options->kernel;
    annotator a = {.form = &forms[options->kind],
                   .f = f,
                   .labels = tile_dump_labels(f, to->arena),
                   .to = to,
                   .shown_count = count_lines(f)};
    lines all = read_code(options->kind, code, marked, to->arena);
    a.shown = TILE_NEW_ARRAY(to->arena, uint8_t, a.shown_count + 1u);
    tile_dump_head(f, options->abi, options->emit->target, a.form->mark, to);
    put_code(&a, &all);
}

/* Spills --------------------------------------------------------------------------------------- */

/* The number of bytes that a SASS instruction stores to ("STL") or loads from ("LDL") local memory,
 * as in `@P0 STL.64 [R1+0x8], R4 ;`. */
static unsigned local_bytes(const line *l, const char *opcode) {
    static const struct {
        const char *suffix;
        unsigned bytes;
    } widths[] = {{".128", 16}, {".64", 8}, {".U16", 2}, {".S16", 2}, {".U8", 1}, {".S8", 1}};
    size_t length = strlen(opcode);
    const char *at = memmem(l->text, l->length, opcode, length);
    if (!at || at[-1] != ' ' || !strchr(" .", at[length])) return 0;
    size_t rest = strcspn(at, " \n");
    for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++)
        if (memmem(at, rest, widths[i].suffix, strlen(widths[i].suffix))) return widths[i].bytes;
    return 4;
}

tile_spill *tile_dump_spills(const tile_dump_options *options, const tile_blob *code,
                             const tile_blob *marked, tile_arena *arena, unsigned *count) {
    const tile_function *f = options->kernel;
    const tile_dump_label *labels = tile_dump_labels(f, arena);
    lines all = read_code(TILE_DUMP_SASS, code, marked, arena);
    tile_spill *spills = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t i = 0; i < all.count; i++) {
        const line *l = &all.at[i];
        unsigned stored = local_bytes(l, "STL"), loaded = local_bytes(l, "LDL"), s = 0;
        if (!stored && !loaded) continue;
        const char *where = l->mark && l->mark <= f->op_count ? labels[l->mark - 1].section : NULL;
        while (s < *count && spills[s].where != where) s++;
        if (s == *count) {
            spills = tile_arena_grow(arena, spills, *count, &capacity, sizeof *spills);
            spills[(*count)++] = (tile_spill){.where = where};
        }
        spills[s].store_bytes += stored;
        spills[s].load_bytes += loaded;
    }
    return spills;
}
