/* The manual that the tools print: the grammar, what the tables know, and a glossary, as Markdown.
 * The grammar is written down here and nowhere else. */
#include <string.h>

#include "lib/ir/out.h"
#include "lib/ir/syntax.h"
#include "lib/layout/mma.h"

static const char grammar[] =
    "file    = [\"tile_ir\" \"1\"] { alias | compute | kernel | plan }\n"
    "alias   = \"#\"ID \"=\" \"layout\" \"{\" list {\",\" list} \"}\"\n"
    "list    = (\"reg\" | \"lane\" | \"warp\" | \"block\" | \"offset\") \"=\" \"[\" [\"[\" "
    "INT,+ \"]\"],* \"]\"\n"
    "        | \"count\" \"=\" \"[\" INT,+ \"]\"\n"
    "kernel  = \"kernel\" \"@\"ID [params] \"(\" [arg],* \")\" {clause} region\n"
    "compute = \"compute\" \"@\"ID [params] \"(\" [arg],* \")\" \"->\" \"(\" (\"%\"ID \":\" "
    "type),+ \")\" region\n"
    "plan    = \"plan\" \"@\"ID [params] \"(\" [arg],* \")\" {clause} region\n"
    "params  = \"<\" (ID \":\" (\"int\" | \"bool\" | \"type\" | \"dim\" | \"word\") [\"=\" (expr | "
    "type)]),+ "
    "\">\"\n"
    "arg     = \"%\"ID \":\" type [attrs]\n"
    "clause  = \"tune\" (ID | \"(\" ID,+ \")\") \"in\" \"[\" (expr | \"(\" expr,+ \")\"),+ \"]\"\n"
    "        | \"where\" expr | \"grid\" \"[\" expr,+ \"]\" | \"cluster\" \"[\" expr,+ \"]\"\n"
    "        | \"warps\" expr | \"sync\" \"explicit\" | \"level\" (\"2\" | \"3\")\n"
    "        | \"raster\" ((\"rows\" | \"columns\") \"(\" expr \")\" | \"hilbert\") | "
    "\"persistent\" [\"by\" expr]\n"
    "        | \"of\" \"@\"ID [values]\n"
    "values  = \"<\" (ID \"=\" (expr | scalar | ID)),+ \">\"\n"
    "region  = \"{\" {stmt} \"}\"\n"
    "stmt    = [\"%\"ID,+ \"=\"] (op | for | while | if | roles | launch\n"
    "        | \"sync\" \"explicit\" region)\n"
    "        | \"%\"ID \"=\" typed\n"
    "op      = OP [\"all\"] [operand],* [attrs] [\":\" (type | extents),+]\n"
    "operand = typed | memory | \"[\" [expr],* \"]\"\n"
    "memory  = \"%\"ID [\"[\" [expr],* \"]\"]\n"
    "typed   = expr [\":\" (type | extents)]\n"
    "launch  = \"launch\" \"@\"ID [values] \"(\" [expr],* \")\" [attrs]\n"
    "for     = \"for\" \"%\"ID \"=\" expr \"to\" expr [\"step\" expr]\n"
    "          [\"iter\" \"(\" (\"%\"ID \"=\" typed),+ \")\"] {option} region\n"
    "option  = ID \"(\" expr {\",\" ID \"=\" value} \")\" | \"split\" \"(\" expr \",\" ID \")\"\n"
    "while   = \"while\" [\"iter\" \"(\" (\"%\"ID \"=\" typed),+ \")\"] region\n"
    "          \"do\" [\"(\" \"%\"ID,+ \")\"] region\n"
    "if      = \"if\" expr region [\"else\" region]\n"
    "roles   = \"roles\" \"{\" role {role} \"}\"\n"
    "role    = \"warps\" expr [\"groups\" expr] [\"registers\" expr] [\"as\" \"%\"ID] "
    "region\n"
    "attrs   = \"{\" [ID [\"=\" value]],* \"}\"\n"
    "value   = expr | \"[\" [expr],* \"]\" | ID | TEXT | \"@\"ID\n"
    "type    = scalar | \"ptr\" \"<\" scalar \">\"\n"
    "        | (\"tensor\" | \"view\" | \"tile\" | \"vector\") \"<\" scalar extents\n"
    "          [\",\" \"strides\" extents] [\",\" \"#\"ID] \">\"\n"
    "        | \"shared\" \"<\" scalar [\"[\" expr \"]\"] extents [\",\" \"#\"ID] [\",\" "
    "\"cluster\"] \">\"\n"
    "scalar  = a scalar's name | ID of a type parameter\n"
    "extents = \"[\" (expr | \"?\"),+ \"]\"\n"
    "expr    = unary {INFIX unary}\n"
    "unary   = {\"-\" | \"~\"} primary\n"
    "primary = \"%\"ID | ID | INT | FLOAT | \"true\" | \"false\" | \"inf\" | \"nan\"\n"
    "        | \"num_sms\"\n"
    "        | scalar \"(\" typed \")\" | \"(\" typed \")\"\n"
    "        | CALL [\"(\" [operand | ID [\"=\" value]],* \")\"]\n"
    "        | CALL memory [attrs] [\":\" (type | extents)]\n";

static const char notes[] =
    "`x,+` is one or more x with commas between them, `[x],*` any number. White space, newlines "
    "and\n"
    "`//` comments separate tokens and mean nothing else. ID is letters, digits and underscores; a "
    "name\n"
    "without a mark begins with no digit. INT is decimal or 0x hexadecimal; FLOAT has a point or "
    "an\n"
    "exponent. Names of operations are reserved.\n\n"
    "* A value's name is visible from its statement to the end of its region, and cannot be "
    "defined\n"
    "  again where it is visible. A statement that bears the name of a compute's result defines "
    "it.\n"
    "* An expression of numbers and parameters is a constant. Operators and calls on values are\n"
    "  operations. Grid extents may use integer arguments and `num_sms`, the streaming "
    "multiprocessors\n"
    "  of the device that the launch goes to, and a view argument's extents and strides the "
    "integer\n"
    "  arguments before it; all other expressions outside of statements parameters only. Code is "
    "made\n"
    "  without knowing `num_sms`: in the kernel `grid_dim` tells what the grid is.\n"
    "* A bare number takes its type from its place: that of the operation's other operand, or of "
    "its\n"
    "  result; an index is an i32. Beside a tile, tensor or vector it becomes a `splat`. Where the "
    "place\n"
    "  does not tell, an integer is an i32 and a float an f32. `i64(5)` names its type,\n"
    "  and `f16(0.0) : [8, 8]` is a tile of it.\n"
    "* A scalar type's name around a value is a cast, of tiles too: `f16(%acc)`. What computes or "
    "reads,\n"
    "  and has one result, may be part of an expression, with its attributes by name: "
    "`dot(%a, %b, %c)`,\n"
    "  `exp2(%x, fast)`. What reads may also stand in front of its memory, `f32(load %a[0] : "
    "[8])`: "
    "the\n"
    "  brackets and the type behind them are the read's, an operator's left operand ends there. "
    "An\n"
    "  operation's operand says its type where another operand follows: `store_shared splat(0.0) : "
    "[8], %s`.\n"
    "* The type behind an operation says what the operands do not tell. Nothing for `view`, "
    "`load_shared`,\n"
    "  arithmetic, or one element of `extract`, `ld_global` and `ld_shared`; the extents for "
    "`load` "
    "and `splat`,\n"
    "  `load %a[%i, 0] : [16, 64]`; the element type for `cast`, `matmul` and `scratch`, `cast %t "
    ": "
    "f16`. What is\n"
    "  printed has it all. Several results of one type show it once.\n"
    "* Where a view's strides are given they are part of its type, `?` where only the launch "
    "knows\n"
    "  them: `view %b, [%k, %n], [1, %k]`, a view<f16[?, ?], strides [1, ?]>, is column-major, and "
    "a\n"
    "  stride of 0 repeats a row or a column.\n"
    "* Beside a tile, tensor or vector a scalar becomes a `splat`; tiles and tensors whose extents "
    "are 1\n"
    "  become a `broadcast` where another operand's are longer: `%x - %column` with `[m, n]` and "
    "`[m, 1]`.\n"
    "  Ranks of tiles are the same, those of tensors need not be. The scalar is one for all "
    "threads.\n"
    "* A view may be an argument: `%a: view<f16[%m, %k]>`, or `%b: view<f16[%k, %n], strides [1, "
    "%k]>`.\n"
    "  The launch gives it a buffer, and refuses one that does not hold every element. In PTX it "
    "is "
    "the\n"
    "  pointer to the element at coordinates 0, which `base` gives.\n"
    "* Tiles' extents are odd numbers up to 31 times powers of two: 16, 48, 80, 96, 192. The "
    "warps that\n"
    "  execute an operation on tiles are a power of two. A shared buffer that only `ld_shared` "
    "and its\n"
    "  like see has any extents. A tile has at most 2^20 elements, a vector 2^15.\n"
    "* A parameter's default that compares stands in parentheses.\n"
    "* A parameter of kind `word` is for attributes that are words, and is compared with words as "
    "one of kind\n"
    "  `type` is with types: `where p == rows & T != f64`. `tune` lists words and types like "
    "numbers.\n";

static const char statements[] =
    "* `while` runs its first region, which yields an i1 and the carried values. If the i1 holds, "
    "the\n"
    "  second region gets these values under its own names and yields the next ones; else they "
    "are\n"
    "  the results: `%r = while iter (%a = 0) { yield %a < %n, %a } do (%b) { yield %b + 1 }`.\n"
    "* `yield` without operands may be left out, and so may an `else` that holds nothing else. A "
    "loop's\n"
    "  `step` is 1 if it is not there. An operation that only computes may have fewer names than "
    "results:\n"
    "  `%x, %y = block_id`.\n"
    "* `level 3` says that nothing is to be added to a kernel: it holds operations of level 3, "
    "each "
    "shared\n"
    "  buffer has its `offset`, and the barriers that stand in it are all there are. So are "
    "kernels "
    "that\n"
    "  `lower-tiles` has lowered, and without the word those whose text can be nothing else: "
    "operations of\n"
    "  level 3 only, and an `offset` for each of its shared buffers. All others are at level 2, "
    "also "
    "where\n"
    "  they use operations of level 3: the compiler places buffers and barriers.\n"
    "* A thread's access to a shared buffer names an element by its stage and coordinates, "
    "`%s[%stage, %i, %j]`,\n"
    "  whatever layout the buffer gets; or, where no tile operation uses the buffer, by its "
    "row-major\n"
    "  offset. At level 3 there are offsets only.\n"
    "* `atomic_add %t, %v[%i]` is `atomic %t, %v[%i] {kind = add}`: a word of `kind` may stand "
    "behind the\n"
    "  name of an operation that has the attribute. The old elements, which need no name, are 0 "
    "where\n"
    "  nothing is done. What is not relaxed is ordered for the whole block: `%n = atomic_add 1, "
    "%c[0]\n"
    "  {ordering = acq_rel}` releases what all its threads have done and lets all of them see what "
    "the\n"
    "  others released. A thread's own accesses are `atomic_thread` and `atomic_cas_thread`.\n"
    "* In a `sync explicit` region the author writes every barrier that its accesses need; around "
    "it\n"
    "  the compiler goes on writing them, one before the region too if what came before needs it.\n"
    "* `of @compute` names a kernel's reference: each argument and result of the compute is an "
    "argument of\n"
    "  the kernel by its name, a dim an integer argument, or a parameter. Another one is given: "
    "`of @matmul<k = 64>`.\n"
    "* `load %a[0, 0] {cache = evict_first} : [64, 64]`: what is read once should not push out of "
    "the L2\n"
    "  what others read again. The word may be a parameter, so that a tuner chooses. It is a hint: "
    "where\n"
    "  PTX cannot say it (before 7.4), it is left out with a remark.\n"
    "* A layout's lists hold one coordinate list for each bit of the register's, lane's and "
    "warp's\n"
    "  number, or of the element's offset in a shared buffer. Where extents are no powers of two, "
    "the\n"
    "  lists tell of one part, and `count = [1, 3]` says how many parts lie along each dim: "
    "threads have\n"
    "  registers for one part after the other, buffers keep them one after the other, row-major. "
    "`block`\n"
    "  is for the blocks of a cluster; its coordinates are zero.\n";

static const char walk[] =
    "\n"
    "## The order of tiles\n"
    "\n"
    "A kernel's body makes one tile, `block_id` says which. In which order tiles are visited is a "
    "matter of\n"
    "clauses; `block_id` and `grid_dim` go on to mean the tile and the grid that is written.\n"
    "\n"
    "* `raster rows(n)` visits tiles in groups of n neighbours along the first dim of the grid: in "
    "a group\n"
    "  these n first, then along the second dim. `raster columns(n)` exchanges the dims. Blocks "
    "that run at\n"
    "  once then read few rows and columns, which stay in the L2. n may be a parameter, and tuned. "
    "`raster\n"
    "  hilbert` follows a curve that keeps near together what is near, for any extents. Later dims "
    "are\n"
    "  slower, and not touched. The blocks of a `cluster` stay together.\n"
    "* `persistent` launches `min(tiles, num_sms)` blocks, which all run at once; each visits "
    "tiles in\n"
    "  ascending order, so that a tile may wait for those before it, as parts of a sum along the "
    "third\n"
    "  dim do. Shared memory is free again after each tile. There can be 2^30 tiles.\n"
    "* `persistent by EXPR` deals tiles out so that all blocks get about the same: from the "
    "dearest to the\n"
    "  cheapest, in turns, each round in the reverse order of the one before. EXPR is the cost of "
    "a tile\n"
    "  over parameters, integer arguments and `block_id(0)`, `block_id(1)`, `block_id(2)`, as "
    "`persistent by\n"
    "  block_id(0) + 1` under a causal mask. Tiles that are alike in the dims it names come in the "
    "order\n"
    "  that they would have otherwise; others of equal cost come with `x` the fastest, then `y`. A "
    "tile may\n"
    "  wait for cheaper ones only if these come first: the cost does not name the dim along which "
    "tiles\n"
    "  wait.\n"
    "* A cost that names one dim, and plainly only grows or only falls along it, takes the kernel "
    "a few\n"
    "  instructions. For any other the kernel looks its tiles up with `tile_by_cost`: the launch "
    "sorts them,\n"
    "  once for each shape on a device, and keeps 4 bytes for each tile of the dims that are "
    "named, 2^22 at\n"
    "  most. A captured launch finds its order if `tile_kernel_prepare` made it before.\n";

static const char splits[] =
    "\n"
    "## Sums in parts\n"
    "\n"
    "A loop that carries sums can be dealt out to several blocks, which matters where a grid has "
    "few tiles and\n"
    "k is long:\n"
    "\n"
    "    %acc = for %ko = 0 to %k step block_k iter (%sum = 0.0 : tile<f32[64, 64]>) split (8, "
    "workspace) pipelined (4) {\n"
    "\n"
    "* `split (factor, strategy)`: both may be parameters, as in `tune (split, strategy) in [(1, "
    "serial), (8,\n"
    "  workspace)]`. Part p runs the iterations p, p + factor, ..; any factor is right, 1 is no "
    "split.\n"
    "* What the loop carries is tiles that start at 0 and are only added to (`dot`, `add`, `sub`, "
    "`fma`, also\n"
    "  inside `if` and `for`); the body writes nothing that is seen outside, and an iteration "
    "reads "
    "nothing\n"
    "  that another one has written. What stands behind the loop is done once, with the whole "
    "sums.\n"
    "* Parts are added in the type of the accumulator, at least f32; in a fixed order, so that the "
    "result is\n"
    "  the same, bit by bit, in every launch, with all strategies but `atomic`:\n"
    "  `serial`: one block after the other, at a semaphore. `workspace`: the parts go to memory, "
    "and a "
    "second\n"
    "  kernel adds them; the kernel becomes a plan of its name. `atomic`: to memory, as they come. "
    "`exchange`:\n"
    "  all blocks of a tile run at once, and each adds a share; `serial` where the device does not "
    "hold them.\n"
    "  `cluster`: 2 to 8 blocks, through distributed shared memory, from sm_90 on. `stream_k`: "
    "factor "
    "x\n"
    "  num_sms blocks share the iterations of all tiles evenly; its factor begins at 1.\n"
    "* `block_id` and `grid_dim` go on to mean the grid that is written.\n"
    "* A loop without the clause gets one where the bindings `split.factor` and `split.strategy` "
    "ask for it.\n"
    "\n"
    "Parameters that `tune` names are chosen by `tile-run --tune` and `tile_tune`, for the sizes "
    "of "
    "a launch, from\n"
    "the points at which every `where` holds; a default is for who does not tune.\n";

static const char plans[] =
    "\n"
    "## Plans\n"
    "\n"
    "A plan says what the host launches, its statements are steps, in program order on one "
    "stream:\n"
    "\n"
    "    plan @matmul_splitk<split: int = 4>(%m: i32, %n: i32, %k: i32, ...) of @matmul\n"
    "    {\n"
    "      %w = scratch [split, %m, %n] : view<f32[?, ?, ?]>\n"
    "      launch @partial<split = split>(%m, %n, %k, %a, %b, %w)\n"
    "      launch @reduce(%m, %n, %w, %c) {pdl}\n"
    "    }\n"
    "\n"
    "* The steps are `launch`, `fill`, `if` on an integer expression, and `scratch`: a view that "
    "lives to\n"
    "  the end of the plan, whose bytes steps that do not use it may use.\n"
    "* The clauses are `tune`, `where` and `of`; `<..>` hands parameters on to kernels by name. A "
    "kernel's\n"
    "  parameters that are not given are what they are where it is launched alone.\n"
    "* What the host computes is integers, of integer arguments and `num_sms`; floats are handed "
    "on.\n"
    "* A launch with `{pdl}` overlaps the launch right before it. Before its `pdl_wait` the kernel "
    "touches\n"
    "  no scratch, and nothing that a step before wrote.\n"
    "* A launch with `{resident}` runs all of its blocks at once, so that they may wait for each "
    "other; with\n"
    "  `{resident, otherwise = @j}` the kernel @j takes its place, on the same arguments, where "
    "the "
    "device does\n"
    "  not hold so many blocks.\n";

static const char executors[] =
    "\n"
    "## Roles and barriers\n"
    "\n"
    "A kernel's warps execute an operation together; the regions of `roles` run side by side, each "
    "by warps\n"
    "of its own:\n"
    "\n"
    "    roles {\n"
    "      warps 4 registers 40 { ... }\n"
    "      warps 4 groups 2 registers 232 as %g { ... }\n"
    "    }\n"
    "\n"
    "* The regions take the warps in the order of the text; together they are the kernel's. "
    "`groups 2`\n"
    "  are two groups that run the same region, `%g` is the group's number.\n"
    "* What stands in a region belongs to one group: tiles and their layouts, `thread_id`, "
    "`uniform`,\n"
    "  `sync`, and each buffer that it allocates. Values from outside are seen inside, except "
    "tiles.\n"
    "* `registers` is what each thread is to have, for groups of 4 warps from a multiple of 4 on.\n"
    "  PTX does not ask for them yet, and a remark says so.\n"
    "* `sync` is the barrier of all threads that execute it, in a region one group's; `sync all` "
    "is for\n"
    "  all groups of the region. `sync 1, 8` is barrier 1, where 8 warps meet; some of them may "
    "come by\n"
    "  `sync_arrive 1, 8` and go on at once. Numbers are 1 to 15, less one for each set of warps "
    "that has\n"
    "  a `sync`.\n"
    "* The compiler orders what a group itself does with memory, and what happens before and "
    "behind the\n"
    "  roles. What regions and groups do with each other's memory is yours to order, by barriers "
    "with\n"
    "  numbers; the CPU device reports what is not, and who waits for ever.\n"
    "* Behind its region a warp waits for nobody. After the roles all warps go on together.\n";

static const char clusters[] =
    "\n"
    "## Clusters\n"
    "\n"
    "With `cluster [2]` behind the grid, neighbours along its first dim are clusters of two: they "
    "run "
    "at the\n"
    "same time and reach each other's shared memory. From sm_90 on; PTX promises clusters of up to "
    "8 "
    "blocks,\n"
    "more are up to the GPU. `cluster [1, 2]` is along the second dim.\n"
    "\n"
    "    store_shared %partial, %s\n"
    "    cluster_arrive\n"
    "    cluster_wait\n"
    "    %peer = map_shared %s, %rank\n"
    "    %theirs = load_shared %peer\n"
    "    cluster_arrive\n"
    "    cluster_wait\n"
    "\n"
    "* `map_shared %s, %rank` is the buffer `%s` of the block with that rank, for instance a\n"
    "  `shared<f32[64, 64], cluster>`. `load_shared`, `store_shared`, `ld_shared` and `st_shared` "
    "go "
    "through\n"
    "  it, stages, coordinates and layout are those of `%s`. The rank may be the block's own.\n"
    "* `cluster_arrive` and `cluster_wait` are one barrier of all threads of the cluster in two "
    "halves, and so\n"
    "  of the block, too. All threads come to both, in turn. What is before the first half comes "
    "before what\n"
    "  is behind the second one; between the two a block does what concerns nobody else. With\n"
    "  `cluster_arrive {relaxed}` the blocks only meet.\n"
    "* A grid that is no multiple of its clusters is rounded up, while `block_id` and `grid_dim` "
    "go on "
    "to mean\n"
    "  what is written. Blocks behind it come to the cluster's barriers and do nothing else: their "
    "shared\n"
    "  memory holds nothing. How often they come follows from arguments and coordinates, which are "
    "those of\n"
    "  the nearest block of the grid; a barrier that depends on memory is refused. Kernels written "
    "at "
    "level 3\n"
    "  and grids with `num_sms` are made of whole clusters.\n"
    "* A block's shared memory is there once it has started, and until it ends: a cluster barrier "
    "comes before\n"
    "  the first access and behind the last one. In which order blocks access it is yours to say; "
    "the compiler\n"
    "  orders what the block's own threads do with it, and gives the bytes to another buffer only "
    "behind the\n"
    "  cluster barrier that follows the last access through `map_shared`. The CPU device reports "
    "what is not\n"
    "  in order, at the access.\n";

static void print_infix(const tile_out *out) {
    tile_out_print(out, "\nINFIX, from weak to strong, all left associative:");
    for (int precedence = TILE_PRECEDENCE_LOWEST; precedence < TILE_PRECEDENCE_UNARY; precedence++)
        for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
            const tile_infix *infix = tile_infix_from_opcode((tile_opcode)i);
            if (infix && infix->precedence == precedence)
                tile_out_print(out, " `%s` %s;", infix->symbol,
                               tile_op_get_info(infix->opcode)->name);
        }
    tile_out_print(out, "\n`-` is neg, `~` is not.\n\nCALL:");
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_opcode_is_callable((tile_opcode)i))
            tile_out_print(out, " `%s`", tile_op_get_info((tile_opcode)i)->name);
    tile_out_print(out, "\n");
}

static void print_scalars(const tile_out *out) {
    static const struct {
        const char *name, *meaning;
        unsigned bits;
    } rows[] = {
#define SCALAR(number, name, bits, class, exponent, mantissa, pack, use, meaning) \
    {#name, meaning, bits},
#include "tile/scalars.def"
#undef SCALAR
    };
    tile_out_print(out, "\n## Scalars\n\n| name | bits | meaning |\n|---|---|---|\n");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        tile_out_print(out, "| `%s` | %u | %s |\n", rows[i].name, rows[i].bits, rows[i].meaning);
}

static const char *class_word(tile_operand_class class) {
    static const char *const words[] = {
        [TILE_CLASS_any] = "any",
        [TILE_CLASS_number] = "number",
        [TILE_CLASS_integer] = "integer",
        [TILE_CLASS_floating] = "float",
        [TILE_CLASS_boolean] = "i1",
        [TILE_CLASS_scalar] = "scalar",
        [TILE_CLASS_index] = "i32",
        [TILE_CLASS_long_index] = "i32 or i64",
        [TILE_CLASS_constant] = "constant i32",
        [TILE_CLASS_pointer] = "pointer",
        [TILE_CLASS_tensor] = "tensor",
        [TILE_CLASS_view] = "view",
        [TILE_CLASS_shared] = "shared",
        [TILE_CLASS_any_shared] = "shared, of the cluster too",
        [TILE_CLASS_memory] = "view or shared",
        [TILE_CLASS_location] = "ptr or shared",
        [TILE_CLASS_tile] = "tile",
        [TILE_CLASS_tile_or_shared] = "tile or shared",
        [TILE_CLASS_vector] = "vector",
    };
    return words[class];
}

static void print_operand(const tile_out *out, const tile_op_info *info, unsigned i) {
    static const struct {
        const char *before, *after;
    } shapes[] = {
        [TILE_FORM_value] = {"", ""},         [TILE_FORM_optional] = {"", "?"},
        [TILE_FORM_element] = {"", "[...]"},  [TILE_FORM_address] = {"", "[...]"},
        [TILE_FORM_part] = {"", "[...]"},     [TILE_FORM_whole] = {"", "?"},
        [TILE_FORM_list] = {"[", ", ...]"},   [TILE_FORM_optlist] = {"[", ", ...]?"},
        [TILE_FORM_variadic] = {"", ", ..."},
    };
    tile_operand_form form = info->operands[i].form;
    tile_out_print(out, "%s%s%%%s%s", i ? ", " : " ", shapes[form].before, info->operands[i].name,
                   shapes[form].after);
}

/* What the operands must be: lhs number, rhs number. */
static void print_classes(const tile_out *out, const tile_op_info *info) {
    for (unsigned i = 0; i < info->operand_count; i++)
        tile_out_print(out, "%s%s %s", i ? ", " : "", info->operands[i].name,
                       class_word(info->operands[i].class_));
}

static void print_op_row(const tile_out *out, const tile_op_info *info) {
    tile_out_print(out, "| `%s", info->name);
    for (unsigned i = 0; i < info->operand_count; i++) print_operand(out, info, i);
    tile_out_print(out, "` | ");
    print_classes(out, info);
    tile_out_print(out, " | ");
    for (unsigned level = 0; level <= 3; level++)
        if (info->levels >> level & 1) tile_out_print(out, "%u ", level);
    tile_out_print(out, "|");
    for (unsigned i = 0; i < info->attr_count; i++)
        tile_out_print(out, " `%s`%s", tile_attr_keyword(info->attrs[i].id),
                       info->attrs[i].required ? " (needed)" : "");
    tile_out_print(out, " | ");
    tile_out_print(out, "%s |\n", info->meaning);
}

static void print_ops(const tile_out *out) {
    tile_out_print(
        out, "\n## Operations\n\n`?` marks an operand that may be left out.\n\n"
             "| operation | operands | levels | attributes | meaning |\n|---|---|---|---|---|\n");
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_op_get_info((tile_opcode)i)->name)
            print_op_row(out, tile_op_get_info((tile_opcode)i));
}

static void print_words(const tile_out *out, tile_attr_id id) {
    const char *word;
    for (unsigned i = 0; (word = tile_attr_word(id, i)); i++)
        tile_out_print(out, "%s`%s`", i ? ", " : ": ", word);
}

static void print_conditions(const tile_out *out) {
    tile_out_print(out,
                   "\n## Conditions\n\nA kernel has up to 8 variants. Each relies on conditions on "
                   "the arguments, and a launch takes the first one whose conditions hold.\n\n"
                   "| condition | reads | holds if |\n|---|---|---|\n");
#define CONDITION(number, name, reads, meaning) \
    tile_out_print(out, "| `%s` | %s | %s |\n", #name, reads, meaning);
#include "tile/conditions.def"
}

static void print_attrs(const tile_out *out) {
    static const char *const kinds[] = {[TILE_KIND_flag] = "",
                                        [TILE_KIND_expr] = " = expr",
                                        [TILE_KIND_list] = " = [expr, ...]",
                                        [TILE_KIND_word] = " = WORD",
                                        [TILE_KIND_text] = " = TEXT",
                                        [TILE_KIND_symbol] = " = @ID",
                                        [TILE_KIND_constant] = " = number",
                                        [TILE_KIND_values] = "",
                                        [TILE_KIND_tile] = " = expr"};
    tile_out_print(out, "\n## Attributes\n\n| attribute | meaning |\n|---|---|\n");
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++) {
        const tile_attr_info *info = tile_attr_get_info((tile_attr_id)i);
        if (!info->name) continue;
        tile_out_print(out, "| `%s%s` | %s", tile_attr_keyword((tile_attr_id)i), kinds[info->kind],
                       info->meaning);
        print_words(out, (tile_attr_id)i);
        tile_out_print(out, " |\n");
    }
}

static const char products[] =
    "`dot` adds the products lhs[i, k] * rhs[k, j] to acc[i, j] one after the other, in the order "
    "of k.\n"
    "Both operands are cast to acc's type first. Each step is one `fma` in that type, rounded "
    "once; "
    "for\n"
    "integers a product and a sum, which wrap. So the CPU device adds, at levels 2 and 3 alike. A "
    "tensor\n"
    "core may add several products before it rounds, or round towards zero: sums of small whole "
    "numbers\n"
    "are the same everywhere, others differ in the last places.\n\n"
    "Any types can be multiplied; the accumulator's must have arithmetic. The first instruction of "
    "this "
    "table is\n"
    "taken whose types are those of lhs, rhs and acc, whose extents divide the tiles', and which "
    "the target\n"
    "has. If there is none, both operands are cast to types of an instruction that have all their\n"
    "values (8-bit floats and integers to f16, for instance). If there is none of these either, "
    "each\n"
    "thread adds its products one by one, reading both operands from shared memory. A remark tells "
    "of\n"
    "both.\n\n"
    "tf32 is a type of tiles and shared buffers for tensor cores: `cast`, `copy` and `copy_async` "
    "from f32\n"
    "round to it. `cp.async` cannot round, so a tf32 buffer that `copy_async` fills from f32 holds "
    "f32 and\n"
    "is rounded where it is read; where other operations write it, the copy goes through registers "
    "instead,\n"
    "and a remark says so.\n\n"
    "Where m is a multiple of 8 but not of 16, and n is one of 16, the compiler multiplies the "
    "transposed\n"
    "matrices, so that n lies in the instruction's 16 rows: tiles of 8 rows waste nothing.\n\n"
    "| instruction | lhs | rhs | acc | compute capability |\n|---|---|---|---|---|\n";

static void print_products(const tile_out *out) {
    tile_out_print(out, "\n## Products\n\n");
    out->writer(products, strlen(products), out->user);
    for (unsigned i = 0; tile_mma_at(i); i++) {
        const tile_mma *row = tile_mma_at(i);
        tile_out_print(out, "| `%s` | %s%s | %s%s | %s | %u.%u |\n", row->shape,
                       row->unsigned_lhs ? "unsigned " : "", tile_scalar_name(row->lhs),
                       row->unsigned_rhs ? "unsigned " : "", tile_scalar_name(row->rhs),
                       tile_scalar_name(row->acc), row->capability / 10, row->capability % 10);
    }
}

static void print_glossary(const tile_out *out) {
    static const struct {
        const char *name, *meaning;
    } words[] = {
#define WORD(name, meaning) {name, meaning},
#include "lib/ir/glossary.def"
#undef WORD
    };
    tile_out_print(out, "\n## Glossary\n\n| word | meaning |\n|---|---|\n");
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        tile_out_print(out, "| %s | %s |\n", words[i].name, words[i].meaning);
}

void tile_manual_print(tile_writer writer, void *user) {
    tile_out out = {writer, user};
    if (!writer) return;
    tile_out_print(&out, "# Tile IR\n\n## Grammar\n\n```\n");
    writer(grammar, strlen(grammar), user);
    tile_out_print(&out, "```\n\n");
    writer(notes, strlen(notes), user);
    writer(statements, strlen(statements), user);
    print_infix(&out);
    writer(walk, strlen(walk), user);
    writer(splits, strlen(splits), user);
    writer(executors, strlen(executors), user);
    writer(clusters, strlen(clusters), user);
    writer(plans, strlen(plans), user);
    print_scalars(&out);
    print_ops(&out);
    print_attrs(&out);
    print_conditions(&out);
    print_products(&out);
    print_glossary(&out);
}
