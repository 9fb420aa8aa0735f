#include "lib/ops/assembly.h"

#include <stdlib.h>
#include <string.h>

#include "lib/support/scalar.h"

/* The number of PTX registers of a value of this type in one thread: one for a scalar, one per 32
 * bits of a vector's narrow elements, one for a tile (element by element). -1: unknown, or not
 * allowed. */
static int64_t registers_of(const tile_type *type) {
    if (type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_SCALAR ||
        type->kind == TILE_TYPE_PTR)
        return 1;
    int64_t elements = type->kind == TILE_TYPE_VECTOR ? tile_type_elements(type) : -1;
    if (elements < 1 || !type->scalar) return -1;
    unsigned pack = tile_scalar_pack(type->scalar);
    return elements % pack ? elements : elements / pack;
}

static bool is_pure(const tile_function *f, tile_op op) {
    return tile_op_word(f, op, TILE_ATTR_effect) == TILE_WORD_effect_pure;
}

/* The number of registers that the text may refer to; *results: how many of them are results. -1:
 * unknown. */
static int64_t count_registers(const tile_function *f, tile_op op, int64_t *results) {
    bool pure = is_pure(f, op), known = true;
    int64_t total = 0;
    *results = 0;
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++) {
        int64_t count = registers_of(tile_value_type(f, tile_op_result(f, op, i)));
        known &= count > 0 || pure;
        *results += pure ? 1 : count;
    }
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        int64_t count = registers_of(tile_value_type(f, tile_op_operand(f, op, i)));
        known &= count > 0 || pure;
        total += pure ? 1 : count;
    }
    return known ? total + *results : -1;
}

/* Every pure call takes one register of each vector. */
static bool check_calls(const tile_function *f, tile_op op) {
    if (!tile_op_result_count(f, op))
        return tile_error_at(
            f, op, "asm: pure PTX must have a result; write its type after ':', or another effect");
    int64_t calls = registers_of(tile_value_type(f, tile_op_result(f, op, 0)));
    for (unsigned i = 0; i < tile_op_operand_count(f, op) && calls > 0; i++) {
        const tile_type *type = tile_value_type(f, tile_op_operand(f, op, i));
        int64_t count = registers_of(type);
        if (type->kind != TILE_TYPE_VECTOR || count < 0 || count == calls) continue;
        return tile_error_at(
            f, op,
            "asm: pure PTX is run once for each register of the result, which has %lld, "
            "and operand %u has %lld",
            (long long)calls, i, (long long)count);
    }
    return true;
}

static bool check_text(const tile_function *f, tile_op op, const char *text) {
    int64_t results, count = count_registers(f, op, &results);
    bool *named = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof *named), ok = true;
    if (!named) abort();
    for (const char *at = text; ok && count >= 0 && (at = strchr(at, '$')); at++) {
        char *end;
        long number = strtol(at + 1, &end, 10);
        if (at[1] < '0' || at[1] > '9')
            ok = tile_error_at(
                f, op, "asm: a register is written as $ and its number, such as $0; found \"%.8s\"",
                at);
        else if (number >= count)
            ok = tile_error_at(
                f, op,
                "asm: there is no $%ld: the text may name $0 to $%lld, the result's registers "
                "first, then the operands'",
                number, (long long)count - 1);
        else
            named[number] = true;
    }
    for (int64_t i = 0; ok && count >= 0 && i < results; i++)
        if (!named[i])
            ok = tile_error_at(f, op, "asm: the text never uses $%lld, a register of the result",
                               (long long)i);
    free(named);
    return ok;
}

static bool check_reference(const tile_function *f, tile_op op) {
    const char *name = tile_op_attr_text(f, op, TILE_ATTR_reference);
    if (!name) return true;
    const tile_function *compute = tile_module_find(f->module, name);
    if (!compute || compute->kind != TILE_COMPUTE) {
        tile_report(tile_function_context(f), TILE_ERROR,
                    tile_op_attr_loc(f, op, TILE_ATTR_reference), "asm: there is no compute @%s",
                    name);
        return false;
    }
    if (!is_pure(f, op))
        return tile_error_at(
            f, op,
            "asm: `reference` requires effect = pure, because it is computed element by element");
    if (compute->arg_count != tile_op_operand_count(f, op) || compute->result_count != 1)
        return tile_error_at(f, op,
                             "asm: the reference @%s takes %u tensors and gives %u; the text has "
                             "%u operands and one result",
                             name, (unsigned)compute->arg_count, (unsigned)compute->result_count,
                             tile_op_operand_count(f, op));
    return true;
}

bool tile_verify_asm(const tile_function *f, tile_op op) {
    const char *text = tile_op_attr_text(f, op, TILE_ATTR_text);
    if (tile_op_opcode(f, op) != TILE_OP_asm || !text) return true;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        if (tile_value_type(f, tile_op_operand(f, op, i))->kind == TILE_TYPE_TILE &&
            !is_pure(f, op))
            return tile_error_at(
                f, op,
                "asm: only pure PTX works on tiles, element by element; write effect = pure");
    return (!is_pure(f, op) || check_calls(f, op)) && check_text(f, op, text) &&
           check_reference(f, op);
}
