/* Estimates of plans: which launches count. */
#include "runtime/model/plan_model.h"

#include <criterion/criterion.h>

#include "runtime/device/device.h"
#include "test/unit/text_fixture.h"

static const char plan_text[] =
    "plan @p<form: word>(%n: i32, %x: view<f32[%n]>) tune form in [one, two] {\n"
    "  launch @k(%n, %x)\n"
    "  if form == two { launch @k(%n, %x) }\n"
    "  if %n > 4096 { launch @k(%n, %x) } else { launch @k(%n, %x) launch @k(%n, %x) }\n"
    "}\n"
    "kernel @k(%n: i32, %x: view<f32[%n]>) grid [ceildiv(%n, 128)] warps 4 {\n"
    "  %i = block_id\n"
    "  store 1.0 : [128], %x[%i * 128]\n"
    "}\n";

/* The estimate of the plan at this point, in estimates of its kernel. */
static double count_launches(text_fixture *x, const tile_module *module, const char *form,
                             int64_t n) {
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    const tile_function *f = tile_module_find(module, "p"), *k = tile_module_find(module, "k");
    const tile_pass_option option = {"form", form};
    const int64_t sizes[2] = {n};
    tile_bound_params point, none;
    const char *why;
    cr_assert(tile_bind_params(f, &option, 1, &x->arena, &point), "%s", x->messages);
    cr_assert(tile_bind_params(k, NULL, 0, &x->arena, &none), "%s", x->messages);
    double one =
        tune_model_estimate(tune_model_create(&device, k, sizes, &x->arena), &none, NULL, &why);
    double all = tune_plan_estimate(tune_plan_model_create(&device, f, sizes, NULL, &x->arena),
                                    &point, &why);
    cr_assert(!why && one > 0);
    return all / one;
}

Test(plan_model, only_the_branches_that_run_take_time) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, plan_text);
    cr_assert(module, "%s", x.messages);
    cr_assert_float_eq(count_launches(&x, module, "one", 8192), 2, 1e-9);
    cr_assert_float_eq(count_launches(&x, module, "two", 8192), 3, 1e-9);
    cr_assert_float_eq(count_launches(&x, module, "one", 1024), 3, 1e-9);
    cr_assert_float_eq(count_launches(&x, module, "two", 1024), 4, 1e-9);
    tile_module_destroy(module);
    text_close(&x);
}
