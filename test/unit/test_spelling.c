/* How diagnostics spell operations. */
#include "text_fixture.h"

#include <string.h>

#include "lib/ir/function.h"
#include "lib/ir/syntax.h"

/* A word that is no operation's name is the form that the operation has in a program. */
static bool is_form(const char *spelling) {
    static const char *const forms[] = {"%t[..]", "sync explicit"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i], spelling) == 0) return true;
    return false;
}

Test(spelling, every_operation_has_a_spelling_that_a_program_has) {
    unsigned other = 0;
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        const tile_op_info *info = tile_op_get_info((tile_opcode)i);
        if (!info->name) continue;
        const char *spelling = tile_op_spelling(info);
        cr_expect_str_eq(spelling, tile_opcode_spelling((tile_opcode)i));
        cr_expect(is_form(spelling) || tile_opcode_from_name(spelling, strlen(spelling)),
                  "%s is spelled %s", info->name, spelling);
        other += strcmp(spelling, info->name) != 0;
    }
    cr_expect_eq(other, 4, "%u", other);
    cr_expect_str_eq(tile_opcode_spelling(TILE_OP_reduce_with), "reduce");
    cr_expect_str_eq(tile_opcode_spelling(TILE_OP_scan_with), "scan");
    cr_expect_str_eq(tile_opcode_spelling(TILE_OP_add), "add");
}
