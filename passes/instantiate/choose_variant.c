/* choose-variant: turns a kernel into one of its variants, which assumes less alignment.
 *
 * A launch whose arguments are less aligned than the kernel declares selects such a variant.
 * Compiling an artifact does the same step; this pass shows the kernel that the later passes
 * receive.
 *
 * level: 2 and 3
 * requires: instantiated
 * keeps: instantiated
 * breaks: nothing
 *
 * pipeline: choose-variant{variant=1}
 * before:
 *   kernel @copy(%n: i32 {divisible = 8}, %x: ptr<f16> {divisible = 16},
 *                %y: ptr<f16> {divisible = 16})
 *       grid [1]  warps 1
 *   {
 *     %from = view %x, [%n] : view<f16[?]>
 *     %to = view %y, [%n] : view<f16[?]>
 *     %t = load %from[0] : tile<f16[256]>
 *     store %t, %to[0]
 *   }
 *
 * after:
 *   kernel @copy(%n: i32 {divisible = 4}, %x: ptr<f16> {divisible = 8},
 *                %y: ptr<f16> {divisible = 8})
 *       grid [1]  warps 1
 *   {
 *     %from = view %x, [%n] : view<f16[?]>
 *     %to = view %y, [%n] : view<f16[?]>
 *     %t = load %from[0] : tile<f16[256]>
 *     store %t, %to[0]
 *   }
 *
 * Options: `variant`, a number from 0 (default). lib/analysis/variants.c defines the variants. */
#include <errno.h>
#include <stdlib.h>

#include "lib/analysis/variants.h"
#include "passes/pass.h"

tile_status tile_pass_choose_variant(tile_pass *pass, tile_function *f) {
    const char *text = pass->option_count ? pass->options[0].value : "0";
    tile_variants variants;
    char *end;
    if (f->kind != TILE_KERNEL) return TILE_OK;
    tile_derive_variants(f, pass->target, pass->scratch, &variants);
    errno = 0;
    long variant = strtol(text, &end, 10);
    if (end == text || *end || errno || variant < 0 || variant >= (long)variants.count) {
        tile_error_at(f, TILE_NO_OP, "@%s has %u variants, 0 to %u: there is no variant '%s'",
                      f->name, variants.count, variants.count - 1, text);
        return TILE_INVALID;
    }
    tile_assume_variant(f, &variants, (unsigned)variant);
    return TILE_OK;
}
