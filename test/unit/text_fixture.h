/* For tests of the text form: a context that collects its diagnostics as text, printing to a
 * string, and functions that together use all of the syntax. */
#ifndef TILE_TEST_UNIT_TEXT_FIXTURE_H
#define TILE_TEST_UNIT_TEXT_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "lib/support/arena.h"
#include "tile/ir.h"

typedef struct text_fixture {
    tile_context *context;
    tile_arena arena;
    char messages[32768]; /* one per line: line:column: error|note: message */
    size_t length;
    unsigned errors;
} text_fixture;

static inline void text_sink(const tile_diagnostic *diagnostic, void *user) {
    static const char *const words[] = {"error", "warning", "remark", "note"};
    text_fixture *x = user;
    size_t room = sizeof x->messages - x->length;
    int written = snprintf(x->messages + x->length, room, "%u:%u: %s: %s\n", diagnostic->line,
                           diagnostic->column, words[diagnostic->severity], diagnostic->message);
    if (written > 0 && (size_t)written < room) x->length += (size_t)written;
    x->errors += diagnostic->severity == TILE_ERROR;
}

static inline void text_open(text_fixture *x) {
    *x = (text_fixture){.context = tile_context_create()};
    tile_context_set_sink(x->context, text_sink, x);
}

static inline void text_close(text_fixture *x) {
    tile_arena_reset(&x->arena);
    tile_context_destroy(x->context);
}

typedef struct text_buffer {
    tile_arena *arena;
    char *data;
    size_t length, capacity;
} text_buffer;

static inline void text_append(const char *text, size_t length, void *user) {
    text_buffer *b = user;
    while (b->length + length + 1 > b->capacity) {
        char *larger = tile_arena_alloc(b->arena, b->capacity * 2 + 1024);
        if (b->length) memcpy(larger, b->data, b->length);
        b->data = larger;
        b->capacity = b->capacity * 2 + 1024;
    }
    memcpy(b->data + b->length, text, length);
    b->length += length;
    b->data[b->length] = 0;
}

/* Returns the module as text, which is valid as long as the fixture. */
static inline const char *text_print(text_fixture *x, const tile_module *module) {
    text_buffer b = {.arena = &x->arena};
    text_append("", 0, &b);
    tile_module_print(module, text_append, &b);
    return b.data;
}

static inline tile_module *text_parse(text_fixture *x, const char *text) {
    return tile_module_parse(x->context, "test", text, strlen(text));
}

/* A kernel around a body that begins on line 2. */
#ifdef TILE_TEST_FUNCTION
#define TEXT_TEST_FUNCTION "  %fh = test_function %x\n"
#else
#define TEXT_TEST_FUNCTION ""
#endif
#define TEXT_KERNEL(body) \
    "kernel @k<p: int = 4, q: bool = true, T: type = f16>(%n: i32, %x: f32, %l: i64, %p: " \
    "ptr<f32>, " \
    "%h: ptr<f16>, %w: ptr<i32>) grid [1] warps 4 {\n" body "\n}\n"

static const char *const text_corpus[] = {
    "tile_ir 1 // levels and forms of a compute\n"
    "compute @linear<m: dim, n: dim, k: dim>(%a: tensor<f16[m, k]>, %b: tensor<f16[k, n]>,\n"
    "    %bias: tensor<f16[n]>) -> (%c: tensor<f16[m, n]>, %same: tensor<f16[m, n]>, %in: "
    "tensor<f16[n]>)\n"
    "{\n"
    "  %p = matmul %a, %b : tensor<f32[m, n]>\n"
    "  %w = cast %bias : tensor<f32[n]>\n"
    "  %r = max(%p + %w, 0.0) : tensor<f32[m, n]>\n"
    "  %c = cast %r : tensor<f16[m, n]>\n"
    "  %same = %c : tensor<f16[m, n]>\n"
    "  %in = %bias : tensor<f16[n]>\n"
    "}\n",

    "kernel @clauses<block_m: int, block_n: int = 2 * 64, wide: bool = false, odd: bool = (block_m "
    "< 3),\n"
    "    T: type = bf16>(%m: i32 {divisible = 8, const}, %a: ptr<f16> {noalias}, %b: ptr<T>,\n"
    "    %v: view<T[%m, block_m * %m], strides [1, -%m]> {divisible = 4, noalias}, %w: "
    "view<f32[3]>)\n"
    "    tune block_m in [64, 128] tune (block_n, wide) in [(64, true), (2 * 16, false)]\n"
    "    where block_m * block_n <= 128 * 256 where rem(block_m, 2) == 0 & (block_n > 3 | wide)\n"
    "    grid [ceildiv(%m, block_m), min(block_n, %m - -4), 2] cluster [2] warps block_m / 16\n"
    "    sync explicit {\n"
    "  %ga = view %b, [%m, block_m] : view<T[?, block_m]>\n"
    "  %t = load %ga[0, block_m * (2 - block_n)] : tile<T[block_m, 8]>\n"
    "  %u = add %t, 2 : tile<T[block_m, 8]>\n"
    "  %z = splat 3.0 : tile<T[4]>\n"
    "  %p = base %v\n"
    "}\n",

    "#held = layout {reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp "
    "= []}\n"
    "#swizzled = layout {offset = [[0, 1], [0, 2], [0, 4], [1, 1], [2, 2], [4, 4], [8, 0]]}\n"
    "#flat = layout {reg = [], lane = [[1], [2], [4], [0], [0]], warp = [[0]]}\n"
    "kernel @tiles(%m: i32, %k: i32, %a: ptr<f16>, %c: ptr<f32>, %lda: i64) grid [1] warps 1 {\n"
    "  %x, %y, %z = block_id : i32\n"
    "  %gx, %gy, %gz = grid_dim\n"
    "  %ga = view %a, [%m, %k], [%lda, 1] : view<f16[?, ?], strides [?, 1]>\n"
    "  %gc = view %c, [16, 8] : view<f32[16, 8]>\n"
    "  %s = alloc_shared {offset = 1024} : shared<f16[3][16, 8]>\n"
    "  %one = alloc_shared : shared<f16[16, 8], #swizzled>\n"
    "  %wide = alloc_shared : shared<f16[8, 8]>\n"
    "  copy_async %ga[%x * 16, 0], %s[%y]\n"
    "  copy %ga[%x, -1], %one\n"
    "  copy %one, %ga[%x, 0]\n"
    "  commit_group\n"
    "  wait_group 0\n"
    "  sync\n"
    "  %un = uniform %x\n"
    "  %by = tile_schedule %x, [%m, ceildiv(%k, 8)] {cost = block_id(0) * block_id(1) - %m / 2}\n"
    "  %ex = sync explicit { sync yield %un }\n"
    "  %t = load_shared %s[%y] : tile<f16[16, 8], #held>\n"
    "  %u = load %ga[%x, %y] : tile<f16[16, 8], #held>\n"
    "  %in = inside %ga[%x, %y] : tile<i1[8], #flat>\n"
    "  %places = splat 0 : tile<i32[16, 8], #held>\n"
    "  %picked = gather %u, %places {axis = 1} : tile<f16[16, 8], #held>\n"
    "  %f = load %ga[%x, %y] : tile<f16[8], #flat>\n"
    "  %v = convert_layout %u : tile<f16[16, 8]>\n"
    "  %v2 = convert_layout %u, %one : tile<f16[16, 8]>\n"
    "  store_shared %t, %s[2]\n"
    "  %zero = splat 0.0 : tile<f32[16, 8]>\n"
    "  %d = dot %v, %wide, 0.0 : tile<f32[16, 8]>\n"
    "  %d1 = dot %s[1], %wide, %d {async}\n"
    "  %d2 = dot_wait %d1, 0\n"
    "  %single = splat 1.0 : tile<f32[16, 8]>\n"
    "  %tf = dot(%single, %single, trans_lhs, precision = tf32)\n"
    "  store %d2, %gc[0, 0]\n"
    "  free_shared %s\n"
    "  %sem = scratch [%m, ceildiv(%k, 8)] {clean} : view<i32[?, ?]>\n"
    "  lock_semaphore %sem[%x, %y], %z\n"
    "  release_semaphore %sem[%x, %y], rem(%z + 1, 4)\n"
    "  %kept = alloc_shared : shared<f16[3][16, 8]>\n"
    "  wait_value %sem[%x, %y], %z {compare = ge, scope = cluster}\n"
    "  atomic %d2, %gc[0, 0] {kind = add, ordering = release}\n"
    "  %last = atomic_add 1, %sem[0, 0] {ordering = acq_rel, scope = gpu} : i32\n"
    "  %taken = atomic_max %t, %kept[2]\n"
    "  atomic_exch %d2, %gc[0, 0], %d2 < 3\n"
    "  %spread = alloc_shared : shared<i32[1]>\n"
    "  %more = atomic_or 1, %sem[0, %last], %x > 3, %spread\n"
    "  %much = atomic_xor 1, %sem[0, %more], %spread\n"
    "  %cas = atomic_cas 0, %much, %sem[0, %x] {ordering = acquire}\n"
    "  %was = atomic_cas %t, %t, %kept[1]\n"
    "  fence fence {ordering = sc, scope = sys}\n"
    "}\n",

    TEXT_KERNEL("  %a = -%n * (2 + 3) - %n / 7 ^ ~%n << 2\n"
                "  %b = (%n + 1) * (%n - (2 - %a)) >= %n == (%x != 2.0)\n"),

    TEXT_KERNEL(
        "  %sum, %count = for %i = 0 to %n step p iter (%s = 0.5, %c = i64(7)) pipelined "
        "(3, order = [1, 0],\n"
        "      stage = [0, 1]) unroll (2 + p) {\n"
        "    %t = %s + 1\n"
        "    %r = if %i > 3 & q { yield 1.0 } else { if %x < 1.5 { sync } yield %s }\n"
        "    yield %t, %c\n"
        "  }\n"
        "  for %i = 0 to 4 step 1 { for %j = %i to p step 1 { } sync }\n"
        "  for %i = %n to (p + 1) * 2 step 1 { }\n"
        "  %last, %at = while iter (%s = 0.5, %j = %n) { yield %j < 9 & q, %s, %j } do (%s, "
        "%k) {\n"
        "    yield 1.5, %k + 1\n"
        "  }\n"
        "  while { yield false } do { sync }\n"
        "  if true { sync } else { sync sync }\n"),

    TEXT_KERNEL(
        "  %a = add %n, 1 : i32 %b = sub 5, 7 %c = mul %n, (p + 1) * 2 : i32 %d = div %x, 3\n"
        "  %e = rem %l, 4 %f = mod %n, 0x10 %g = ceildiv %n, 2 %h1 = min %x, 1e-30 %i = max %x, "
        "inf\n"
        "  %j = and %n, 3 %k = or %n, %a %m = xor %n, -2147483648 %o = shl %n, 2 %q1 = shr %l, "
        "i64(3)\n"
        "  %r = eq %n, 4 %s = ne %x, 0 %t = lt %n, 4 %u = le %n, 4 %v = gt %n, 4 %w1 = ge %n, 4\n"
        "  %y = neg %x %z = not %t %aa = abs %x %ab = sqrt %x {fast} : f32 %ac = exp2 %x\n"
        "  %fa = exp %x %fb = log %x {fast} : f32 %fc = log2 %x %fd = tanh %x %fe = erf %x %ff = "
        "sin %x "
        "%fg = cos %x\n" TEXT_TEST_FUNCTION "  %ga = sigmoid %x {fast} %gb = softplus %x %gc = "
        "log1p %x %gd = expm1 %x %ge = erfinv %x\n"
        "  %gf = pow %x, %y %gg = atan2(%x, 2.0) %gh = fmod %x, 3 %gi = sign %n %gj = sign(%x)\n"
        "  %gk = clamp %x, -1, %y %gl = clamp(%n, 0, p) %gm = ceil %x %gn = trunc(%x)\n"
        "  %ad = fma %x, 2, %y %ae = select %t, %x, -nan %af = cast %x : f64 %ag = add %af, 0.1\n"
        "  %ah = select q, 1, %n %ai = select %t & (p < 3) | false, %x, 1.0 %aj = cast i8(-128) : "
        "i16\n"
        "  %ak = add %x, -inf {fast} : f32 %al = cast f16(65504.0) : bf16 %am = cast i32(q) : i64\n"
        "  %ba = ushr %n, 3 %bb = mul_hi %n, %a {unsigned} %bc = popcount %l %bd = clz %n\n"
        "  %be = floor %x %bf = round %x {kind = zero} %bg = round_even %x\n"
        "  %bh = max(%x, round_down(%x), nan) %bi = min %bh, 2.0 {nan} %bj = mul_hi(%n, ushr(-1, "
        "28))\n"
        "  %bk = i8(%x, round = even, saturate) %bl = cast %n {unsigned} : i64 %bm = bitcast %x : "
        "i32\n"
        "  %bn = f32((bitcast(%x) : i32), unsigned) %bo = f16(%x, round = zero)\n"
        "  %five = 5 : i32 %an = add %n, %five %ao = select(%t, %n, abs(%n - %five)) + neg(p)\n"),

    TEXT_KERNEL("  %tid = thread_id : i32\n"
                "  %s = alloc_shared : shared<f16[2][64]>\n"
                "  %v = ld_global %h[%tid * 8], %tid < 4 : vector<f16[8]>\n"
                "  %one = ld_global %p[%l] : f32\n"
                "  %any = ld_global_unaligned %h[%l], %n, %tid < 4 {cache = evict_first} : "
                "vector<f16[4]>\n"
                "  %past = misalignment %p\n"
                "  st_global %one, %p[0], true\n"
                "  st_global 0.0, %p[%l]\n"
                "  st_shared %v, %s[%tid]\n"
                "  st_shared %v, %s[8 * %tid], %tid == 0\n"
                "  %back = ld_shared %s[0] : vector<f16[4]>\n"
                "  %m = ldmatrix %s[%tid] {trans} : vector<f16[8]>\n"
                "  %m4 = ldmatrix %s[%tid] : vector<f16[4]>\n"
                "  %acc = mma %m, %m4, 0.0 : vector<f32[4]>\n"
                "  %e = extract %acc, 2 : vector<f32[2]>\n"
                "  %c = concat %e, %one, 1.0\n"
                "  %sh = permute %c {order = [3, 2, 1, 0]} : vector<f32[4]>\n"
                "  cp_async %h[%l], %s[%tid], %n > 0 {bytes = 16}\n"
                "  cp_async %h[%tid], %s[0] {bytes = 2 * 2}\n"
                "  cp_async_part %h[%l], %s[8 * %tid], 0 - %n, %n {cache = evict_first}\n"
                "  wait_acquire %w[0], 3\n"
                "  st_release %w[%tid], %n\n"
                "  wait_acquire %w[0], 3 {compare = lt, scope = sys}\n"
                "  atomic_thread_add %v, %s[%tid]\n"
                "  atomic_thread_add 1, %w[%tid], %tid < 4 {ordering = release, scope = cta}\n"
                "  %old = atomic_thread 1, %w[%l] {kind = and}\n"
                "  %cas = atomic_cas_thread %old, 3, %w[%tid], %tid == 0 {ordering = acq_rel}\n"
                "  atomic_cas_thread %one, %one, %p[0]\n"
                "  sync 1, 4 sync_arrive 2, 4 sync all fence_async\n"
                "  %tm = tensor_map %p, [%n, 8] {swizzle = 32} : tensor_map<f32[8, 8]>\n"
                "  roles {\n    warps 1 registers p { sync }\n"
                "    warps 3 groups p - 3 as %g { if %g == 0 { sync 3, 4 } sync all }\n  }\n"
                "  %room = scratch [4, %n] : ptr<f32>\n"),

    "compute @turned<m: dim, n: dim>(%a: tensor<f16[m, n]>) -> (%b: tensor<f16[n, m]>)\n"
    "{\n"
    "  %b = transpose %a : tensor<f16[n, m]>\n"
    "}\n",

    "compute @windows<n: dim, w: dim, p: dim, r: dim>(%x: tensor<f16[n, w, 2]>, %d: i32)\n"
    "    -> (%y: tensor<f16[n, p, r, 2]>, %z: tensor<f16[p, w, r, w, 2]>)\n"
    "{\n"
    "  %y = window %x, [%d * 2], [r / 2], [%d] {axis = 1, pad = -inf} : tensor<f16[n, p, r, 2]>\n"
    "  %z = window(%x, [1, 2], [0, 1], axis = 0) : [p, w, r, w, 2]\n"
    "}\n",

    "compute @convolutions<n: dim, h: dim>(%x: tensor<f16[n, h, 6, 4]>, %f: tensor<f16[3, 2, 2, "
    "8]>,\n"
    "                                      %g: tensor<f32[h, 5, n]>, %e: tensor<f32[3, 5, 8]>)\n"
    "    -> (%y: tensor<f32[n, h, 5, 8]>, %z: tensor<f32[h * 2 + 2, n / 2, 8]>)\n"
    "{\n"
    "  %y = convolve %x, %f {dims = \"nhwc,rsck->npqk\", pads = [1, 1, 0, 0], dilations = [1, 1], "
    "groups = 2} : tensor<f32[n, h, 5, 8]>\n"
    "  %z = convolve(%g, %e, dims = \"hcn,rck->pnk\", strides = [1], pads = [3, 2], "
    "input_dilations = [2], reverse = [1], batch_groups = 2, precision = tf32) : tensor<f32[h * 2 "
    "+ 2, n / 2, 8]>\n"
    "}\n",

    TEXT_KERNEL("  %i = iota {axis = 0} : tile<i32[4, p]>\n"
                "  %j = iota {axis = p - 3, start = -1, step = 2 * p} : tile<T[4, p]>\n"
                "  %k = broadcast %j : tile<T[p, 4, p]>\n"
                "  %room = alloc_shared : shared<i32[4 * p]>\n"
                "  %t = transpose %i %t3 = transpose %k {order = [2, 0, 1]} : tile<T[p, p, 4]>\n"
                "  %r = reshape %i : tile<i32[2, 2, p]> %r2 = reshape %i, %room : [p, 4]\n"
                "  %jo = join %i, %i %e, %o = unjoin %jo : tile<i32[4, p]>\n"
                "  %sl = slice %i, [2, 0] : [2, p] %sl2 = slice %i, [0, p - 4], %room : [1, p]\n"
                "  %co = concat %i, %e, %o {axis = 1} : tile<i32[4, 2 * p + p]>\n"),

    TEXT_KERNEL("  %i = iota {axis = 0} : tile<i32[4, p]>\n"
                "  %s = alloc_shared : shared<i32[4, 1]>\n"
                "  %a = reduce %i {kind = add, axis = 1}\n"
                "  %b = reduce_max %i {axis = 0} : tile<i32[1, p]>\n"
                "  %c = reduce_min %i, %s {axis = 1}\n"
                "  %d = reduce_xor(%i, axis = 0) * reduce_mul(%i - %a, axis = 0)\n"
                "  %e = reduce %i {kind = or, axis = p - 3} : tile<i32[4, 1]>\n"),

    TEXT_KERNEL(
        "  %i = iota {axis = 0} : tile<i64[4, p]>\n"
        "  %v, %w2 = reduce_arg %i {kind = max, axis = 1}\n"
        "  %b, %c = reduce_arg_min %i {axis = 0} : tile<i64[1, p]>, tile<i32[1, p]>\n"
        "  %d = scan_add(%i, axis = 1, reverse) + scan_max(%i, axis = 0, exclusive)\n"
        "  %e = sort %i {axis = 1, descending}\n  %f2 = sort(%e, axis = 0)\n"
        "  %g = view %p, [%n, 8] prefetch_l2 %g[0, 0], [p, 2 * p] prefetch_l2 %g[p, 1], [3]\n"
        "  prefetch_l2_thread %p[%l] prefetch_l2_thread %p[3], %n == 0\n"
        "  %h2 = histogram %i : [p] %h3 = histogram(%h2) : tile<i32[2 * p]>\n"),

    TEXT_KERNEL("  %t = thread_id\n  %a = shfl %t, 1 {kind = xor}\n"
                "  %b = shfl_down %a, %t\n  %c = shfl_idx(%b, 0) + redux_add(%t)\n"
                "  %v = ld_global %h[%t] : vector<f16[4]>\n  %u = shfl %v, p {kind = up}\n"
                "  %r = redux %c {kind = and} : i32\n"),

    TEXT_KERNEL("  %l2 = lane_id\n  %w2 = warp_id : i32\n  %c = vote %l2 < 4 {kind = any}\n"
                "  %d = vote_all(%c) & vote_any(%w2 == p) : i1\n  %e = match i64(%l2)\n"
                "  %g = vote_ballot %d : i32\n  %h2 = match(%e ^ %g) + vote(%c, kind = ballot)\n"),

    TEXT_KERNEL("  %i = iota {axis = 0} : tile<i32[64]>\n"
                "  %a = reduce_max %i {axis = 0}\n  %b = scalar %a : i32\n"
                "  %c = scalar(reduce_or(%i < %b, axis = 0)) & true\n"
                "  %one = splat %x : [1, 1, 1]\n  %d = scalar %one\n"),

    TEXT_KERNEL("  %i = iota {axis = 0} : tile<i32[64, 16]>\n"
                "  %a = convert_layout %i : tile<i32[64, 16], #mma_acc>\n"
                "  %f = to_fragment %a : [8]\n  %v = to_fragment(%a) : vector<i32[8]>\n"
                "  %j, %k = coordinates %a, p\n  %u = insert %f, %j, p - 3\n"
                "  %w2 = insert(%u, extract(%v, %k), %k)\n  %e = extract %w2, 2 : [4]\n"
                "  %t = from_fragment %w2 : tile<i32[64, 16], #mma_acc>\n"
                "  %l2 = iota {axis = 1} : tile<T[4 * p, p], #mma_lhs>\n"
                "  %r2 = iota {axis = 1} : tile<T[4 * p, p], #mma_rhs>\n"
                "  %s2 = alloc_shared : shared<T[64, 4 * p], #swizzle128>\n"
                "  %s3 = alloc_shared : shared<T[2][64, 4 * p], #plain>\n"),

    TEXT_KERNEL(
        "  %i = thread_id\n  %v = splat %i : vector<i32[4]>\n"
        "  %a = asm %i, %n {text = \"add.s32 $0, $1, $2;\", effect = pure} : i32\n"
        "  %b = asm %v, %a {text = \"xor.b32 $0, $1, $2;\", effect = pure} : vector<i32[4]>\n"
        "  %c = asm %h {text = \"ld.global.b32 $0, [$1];\", effect = reads} : i32\n"
        "  %d = asm %c {text = \"shfl.sync.bfly.b32 $0, $1, 1, 31, -1;\", effect = warp} : i32\n"
        "  asm %h, %d {text = \"st.global.b32 [$0], $1;\", effect = writes}\n"
        "  asm {text = \"bar.warp.sync -1;\", effect = barrier}\n"),

    "kernel @clustered<c: int = 2>(%n: i32) grid [c * %n] cluster [c, 1] warps 1 {\n"
    "  %r = cluster_rank\n  %x, %y, %z = cluster_id\n  %i, %j, %k = cluster_dim : i32\n"
    "  %s = alloc_shared : shared<f16[c][16, 8]>\n"
    "  cluster_arrive {relaxed}\n  cluster_wait\n"
    "  %m = map_shared %s, %r ^ 1 : shared<f16[c][16, 8], cluster>\n"
    "  %t = load_shared %m[%x] : tile<f16[16, 8]>\n  cluster_arrive\n  cluster_wait\n}\n",

    "kernel @phases<c: int = 2>(%n: i32, %p: ptr<f16>) grid [%n] cluster [c] warps 1 {\n"
    "  %full = alloc_barrier {count = c} : shared<barrier[2]>\n"
    "  %far = map_shared %full, 0 : shared<barrier[2], cluster>\n"
    "  barrier_arrive %full[0]\n  barrier_arrive %far[%n] {scope = cluster}\n"
    "  barrier_wait %full[1], %n {scope = cta}\n"
    "  %b = alloc_shared : shared<barrier[c]>\n"
    "  mbarrier_init %b[0], c\n  mbarrier_fence\n  %e = elect\n  sync_warp\n"
    "  mbarrier_arrive %b[0]\n  mbarrier_arrive %far[0], %e\n"
    "  mbarrier_expect %b[0], 16\n  mbarrier_expect %b[%n], %n, %e {noarrive}\n"
    "  %w = alloc_shared : shared<i32[4]>\n  st_async %n, %w[%n], %b[0]\n"
    "  st_async %n, %w[0], %far[1], %e\n"
    "  mbarrier_wait %b[0], 1\n  %t = mbarrier_test %b[0], 0\n"
    "  mbarrier_cp_async %b[0]\n  mbarrier_cp_async %b[0] {noinc}\n}\n",

    "kernel @turns(%n: i32) grid [1] warps 8 {\n"
    "  ordered_arrive 1 {edge}\n  for %i = 0 to %n producer_fed ordered_issue { ordered_wait 1 "
    "ordered_arrive 1 }\n"
    "  ordered_wait 1 {edge}\n}\n",

    "kernel @products<n: int = 64>(%k: i32) grid [1] warps 8 level 3 {\n"
    "  %s = alloc_shared {offset = 0} : shared<f16[2][64, 64]>\n"
    "  %a = wgmma_descriptor %s[%k] {swizzle = 128, stride = 1024}\n"
    "  %b = wgmma_descriptor %s[4096] {leading = 16 * n, stride = 128} : descriptor<f16, mn>\n"
    "  %f = ldmatrix %s[%k] : vector<f16[8]>\n"
    "  %none = undefined : vector<f32[32]>\n"
    "  %sum = for %i = 0 to %k step 64 iter (%acc = %none) {\n"
    "    wgmma_fence\n    %p = wgmma %a, %b, %acc, %i > 0\n    %q = wgmma %f, %b, %p, true\n"
    "    wgmma_commit\n    %r = wgmma_wait 1, %q\n    yield %r\n  }\n"
    "  %done = wgmma_wait 0, %sum : vector<f32[32]>\n"
    "  %h = cast %done : f16\n  %part = extract %h, 0 : vector<f16[8]>\n"
    "  stmatrix %part, %s[%k] {trans}\n"
    "  wgmma_wait 0\n}\n",

    "kernel @boxes(%n: i32, %p: ptr<f16>) grid [1] warps 1 level 3 {\n"
    "  %s = alloc_shared {offset = 0} : shared<f16[8, 64]>\n"
    "  %b = alloc_shared {offset = 1024} : shared<barrier[2]>\n"
    "  %m = tensor_map %p, [%n, 64], [i64(%n), 1] {swizzle = 128} : tensor_map<f16[8, 64]>\n"
    "  tma_load %m, [%n, 0], %s[%n], %b[1]\n"
    "  tma_load %m, [0, %n], %s[0], %b[0], %n + 1 {cache = evict_last}\n"
    "  tma_store %s[0], %m, [%n, 0]\n  tma_store %s[0], %m, [%n, 0] {kind = max}\n"
    "  bulk_load %p[%n], %s[0], 16, %b[0]\n  bulk_load %p[%n], %s[0], %n, %b[%n], 3\n"
    "  bulk_store %s[0], %p[0], %n {kind = add, cache = evict_first}\n"
    "  bulk_commit\n  bulk_wait 1 {read}\n  bulk_wait 0\n}\n",

    "kernel @windows(%n: i32, %x: view<f16[%n, 8, 9, 64]>) grid [1] warps 1 {\n"
    "  %s = alloc_shared : shared<f16[16, 64]>\n"
    "  %w = im2col %x {filter = [3, 2], strides = [2, 1], pads = [1, 1, 0, 0], dilations = [1, "
    "2]}\n"
    "  copy %w[4, %n, 0], %s\n}\n",

    "kernel @window_boxes(%n: i32, %p: ptr<f16>) grid [1] warps 1 level 3 {\n"
    "  %s = alloc_shared {offset = 0} : shared<f16[16, 64]>\n"
    "  %b = alloc_shared {offset = 2048} : shared<barrier[1]>\n"
    "  %m = tensor_map %p, [%n, 8, 9, 64] {filter = [3, 2], pads = [1, 1, 0, 0]}"
    " : tensor_map<f16[1, 1, 16, 64]>\n"
    "  tma_load %m, [%n, -1, 0, 0], [2, %n], %s[0], %b[0]\n}\n",

    TEXT_KERNEL("  assert %n > p {text = \"a \\\"word\\\" of 5%\"} assert q assume %n >= 0 & "
                "rem(%n, 8) == 0\n"
                "  print %n, %x {text = \"n and x\"} print [%n, 3], %l print %n * 2\n"
                "  %t = splat 1.0 : tile<f32[4, p]> print %t {text = \"t\"} assert %t > 0.0\n"),

    "kernel @elements<n: int = 32>(%c: view<f16[n, n]>) grid [1] warps 4 {\n"
    "  %t = load %c[0, 0] : tile<f16[n, n]>\n"
    "  %a, %b = parallel (%i, %j) in [n, 2 * n] {\n"
    "    %v = element %t, [%i, %j] : f16\n"
    "    store %v, %c[%j, %i]\n"
    "    yield %v, %j\n"
    "  }\n"
    "  parallel (%i) in [n] {\n"
    "    %v = element %t, [%i, %i] : f16\n"
    "  }\n"
    "}\n",
    "kernel @pieces(%n: i32, %c: view<f16[%n, 64]>) grid [1] warps 4 {\n"
    "  %r = alloc_shared : shared<f16[2][16, 64]>\n"
    "  %t = splat 1.0 : tile<f16[64, 64]>\n"
    "  store_async %t, %c[%n, 0], %r {cache = evict_first}\n  bulk_wait 0\n}\n",

    "compute @steps<n: dim>(%x: tensor<f32[n, 4]>) -> (%y: tensor<f32[n, 4]>) {\n"
    "  %h, %y = for %t = 0 to n iter (%s = 0.0 : tensor<f32[1, 4]>, %r = %x) {\n"
    "    %u = (slice(%x, [%t, 0]) : [1, 4]) + %s\n"
    "    yield %u, insert_slice(%u, %r, [%t, 0])\n  }\n}\n",

    "plan @p(%n: i32) {\n  %w = scratch [%n] : view<f16[?]>\n  fill %w, 1.5\n"
    "  if %n > 4 {\n    launch @k<b = 8>(%n, %w)\n    launch @k<b = 4>(7, %w) {pdl}\n  }\n"
    "  for %i = 0 to %n {\n    fill subview(%w[%i], [1]), 2.0\n  }\n}\n"
    "kernel @k<b: int>(%n: i32, %w: ptr<f16>) grid [b] warps 1 {\n  pdl_trigger\n  pdl_wait\n}\n",

    "compute @c<n: dim>(%x: tensor<f16[n]>) -> (%y: tensor<f16[n]>) {\n  %y = f<c = 3>(%x, "
    "0.5)\n}\n"
    "func @f<T: type, c: int = 2>(%x: T, %w: f32) -> (%y: T) {\n"
    "  %y, %z = g(max(%x, 0), T(%w) * T(c))\n}\n"
    "func @g<T: type>(%x: T, %w: T) -> (%a: T, %b: T) {\n  %a = %x + %w\n  %b = %x\n}\n",

    "kernel @k(%x: view<f32[8, 16]>) grid [1] warps 1 {\n  %t = load %x[0, 0] : [8, 16]\n"
    "  %i = iota(axis = 0) : tile<i32[8, 16]>\n"
    "  %a, %b = reduce (%t, %i) {axis = 1, combine = @f}\n"
    "  %s = alloc_shared : shared<i32[2][8, 4]>\n"
    "  %c, %d = scan_with [%t, %i], [1.0, -1], %s {axis = 0, combine = @f, exclusive, reverse}\n}\n"
    "func @f(%a: f32, %i: i32, %b: f32, %j: i32) -> (%c: f32, %k: i32) {\n"
    "  %c = %a * %b\n  %k = max(%i, %j)\n}\n",
};

enum { TEXT_CORPUS_COUNT = sizeof text_corpus / sizeof *text_corpus };

#endif
