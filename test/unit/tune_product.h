/* A matrix product kernel, for tests of what the model reads and chooses. */
#ifndef TILE_TEST_UNIT_TUNE_PRODUCT_H
#define TILE_TEST_UNIT_TUNE_PRODUCT_H

/* @k with these parameters, which include bm, bn, bk, stages, split, strategy and consumers, with
 * operands of this type, and clauses after its arguments. */
#define TUNE_PRODUCT(parameters, type, clauses) \
    "kernel @k<" parameters ">\n" \
    "    (%m: i32, %n: i32 {divisible = 8}, %k: i32 {divisible = 8}, %a: view<" type \
    "[%m, %k]>,\n" \
    "     %b: view<" type "[%k, %n]>, %c: view<f16[%m, %n]>)\n" clauses " {\n" \
    "  %x, %y = block_id\n" \
    "  %sa = alloc_shared : shared<" type "[bm, bk]>\n" \
    "  %sb = alloc_shared : shared<" type "[bk, bn]>\n" \
    "  %acc = for %i = 0 to %k step bk iter (%s = 0.0 : tile<f32[bm, bn]>)\n" \
    "      split (split, strategy) pipelined (stages, consumers = consumers) {\n" \
    "    copy %a[%x * bm, %i], %sa\n" \
    "    copy %b[%i, %y * bn], %sb\n" \
    "    yield dot(%sa, %sb, %s)\n" \
    "  }\n" \
    "  store f16(%acc), %c[%x * bm, %y * bn]\n" \
    "}\n"

#endif
