/* Steps of a plan: which scratch buffers may share bytes. */
#include "lib/launch/steps.h"
#include "test/unit/text_fixture.h"

static const char text[] = "plan @p(%n: i32) {\n"
                           "  %a = scratch [%n] : view<f32[?]>\n"
                           "  %b = scratch [%n] : view<f32[?]>\n"
                           "  %c = scratch [%n] : view<f32[?]>\n"
                           "  %d = scratch [%n] : view<f32[?]>\n"
                           "  launch @k(%a, %b)\n"
                           "  if %n > 3 { launch @k(%b, %c) } else { launch @k(%b, %b) }\n"
                           "  launch @k(%c, %c)\n"
                           "}\n"
                           "kernel @k(%x: ptr<f32>, %y: ptr<f32>) grid [1] warps 1 { }\n";

Test(steps, scratch_of_other_steps_shares_bytes) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, text);
    tile_steps *steps = tile_steps_create(tile_module_find(module, "p"));
    /* launch, branch, launch, jump, launch, launch */
    cr_assert_eq(steps->step_count, 6);
    cr_assert_eq(steps->scratch_count, 4);
    cr_expect(steps->scratch[0].first == 0 && steps->scratch[0].last == 0);
    cr_expect(steps->scratch[1].first == 0 && steps->scratch[1].last == 4);
    cr_expect(steps->scratch[2].first == 2 && steps->scratch[2].last == 5);
    cr_expect(steps->scratch[3].first > steps->scratch[3].last, "nobody uses it");
    int64_t offsets[4];
    const int64_t bytes[4] = {100, 300, 50, 0};
    cr_expect_eq(tile_steps_place(steps, bytes, 256, offsets), 256 + 300);
    cr_expect_eq(offsets[0], 0);
    cr_expect_eq(offsets[1], 256, "behind what lives beside it");
    cr_expect_eq(offsets[2], 0, "in place of what is over");
    const int64_t larger[4] = {100, 300, 257, 0};
    cr_expect_eq(tile_steps_place(steps, larger, 256, offsets), 768 + 257);
    cr_expect_eq(offsets[2], 768, "it would reach into the second one");
    tile_steps_destroy(steps);
    tile_module_destroy(module);
    text_close(&x);
}
