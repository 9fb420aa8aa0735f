"""Injects each fault of a table into compiled kernels with roles, one place after the
other, and runs the CPU device, which must report the fault. Prints the rows of which a place was not
detected, or that have no place, and a count.

usage: mutations.py INPUTS KERNELS FOLDER [KERNEL...]    INPUTS, KERNELS: folders with .tile files"""
import concurrent.futures
import os
import re
import subprocess
import sys

import shares

INPUTS, SHIPPED, FOLDER = sys.argv[1:4]
TO_ROLES = ("split-k,round-grid,tile-scheduler,canonicalize,cse,licm,dce,choose-instructions,"
            "specialize-warps,skip-masked,pipeline-dots")


def arrays(check, **sizes):
    """Arguments of a product c[m, n] = a[m, k] b[k, n]."""
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    return ([x for name, value in sizes.items() for x in ("--arg", f"{name}={value}")] +
            ["--arg", f"a=int:f16[{m},{k}]", "--arg", f"b=int:f16[{k},{n}]",
             "--arg", f"c=poison:f16[{m},{n}]", "--sms=2", "--check", check])


PRODUCT = arrays("c=matmul(a,b)", m=320, n=128, k=96, used=96)
NOTHING = arrays("c=matmul(a,b)*0", m=320, n=128, k=96, used=0)
TWO = ["--arg", "k=224", "--arg", "a=int:f16[64,224]", "--arg", "b=int:f16[224,64]", "--arg", "c=int:f16[224,64]",
       "--arg", "d=poison:f16[64,64]", "--arg", "e=poison:f16[64,64]", "--arg", "f=poison:f16[224,64]", "--check"]


def scores(m):
    """One block's tiles of m rows: tiles with many iterations, an even number each, and tiles with one."""
    arguments = [x for name in "xkv" for x in ("--arg", f"{name}=int")] + ["--arg", "o=poison", "--check"]
    return tuple(["--sms=1", "--arg", f"m={m}", "--arg", f"n={n}"] + arguments for n in (328, 32))


# Four tiles of three groups: the first ones skip most iterations; with many blocks of keys, and with one.
SKIPS = tuple(["--arg", f"n={n}", "--arg", "shift=0", "--arg", "q=int", "--arg", "k=int", "--arg", "v=int",
               "--arg", "o=poison", "--sms=1", "--check"] for n in (328, 32))
TAKE_TURNS = "block_m=64 block_n=64 block_k=32 stages=2 num_warps=8 how=ping_pong"
TAKE_TURNS_TOGETHER = "many=1 stages=2 num_warps=8 how=ping_pong along_m=1 along_n=2"
COOPERATE = "block_m=128 block_n=64 block_k=32 stages=2 num_warps=8"
# Name: file, kernel, level of the text, parameters, and launches, of which one must detect a fault; the launches are
# long enough for rings to wrap.
KERNELS = {
    "ping-pong": ("specialized.tile", "tiles", 3, TAKE_TURNS, (PRODUCT, NOTHING)),
    "cooperative": ("specialized.tile", "tiles", 3, COOPERATE, (PRODUCT, NOTHING)),
    "exchange": ("matmul.tile", "matmul", 3, "block_m=64 block_n=64 block_k=64 stages=2 num_warps=4 split=2 "
                 "strategy=exchange consumers=cooperative", (arrays("c=matmul(a,b)", m=64, n=128, k=896),)),
    "stream-K": ("matmul.tile", "matmul", 3, "block_m=64 block_n=64 block_k=64 stages=2 num_warps=4 split=1 "
                 "strategy=stream_k consumers=cooperative",
                 tuple(arrays("c=matmul(a,b)", m=m, n=64, k=576) + [f"--sms={sms}"]
                       for m, sms in ((192, 2), (320, 3), (448, 5)))),
    "two products": ("specialized.tile", "two", 3, "stages=2", (TWO + ["d=matmul(a,b)"], TWO + ["e=matmul(a,c)+1"])),
    "in a row": ("pipeline_dots.tile", "linear", 3, "stages=2", scores(300)),
    "in a row as tiles": ("pipeline_dots.tile", "linear", 2, "stages=2", scores(300)),
    "in turn": ("pipeline_dots.tile", "linear", 3, "stages=2 block_m=128 num_warps=8 how=ordered", scores(600)),
    "three in turn": ("pipeline_dots.tile", "linear", 3, "stages=2 block_m=192 num_warps=8 how=ordered", scores(600)),
    "three as tiles": ("pipeline_dots.tile", "linear", 2, "stages=2 block_m=192 num_warps=8 how=cooperative_3", scores(600)),
    "skipped": ("../skip_masked.tile", "linear", 3, "consumers=ordered", SKIPS),
    "skipped as tiles": ("../skip_masked.tile", "linear", 2, "consumers=cooperative_3", SKIPS),
    "by hand": ("roles_pipelined.tile", "roles_pipelined", 3, "block_n=64 block_k=32 stages=2",
                (arrays("c=matmul(a,b)", m=128, n=64, k=224),)),
    "cluster": ("multicast.tile", "tiles", 3, TAKE_TURNS_TOGETHER, (PRODUCT, NOTHING)),
    "ping-pong as tiles": ("specialized.tile", "tiles", 2, TAKE_TURNS, (PRODUCT, NOTHING)),
    "cooperative as tiles": ("specialized.tile", "tiles", 2, COOPERATE, (PRODUCT, NOTHING)),
    "cluster as tiles": ("multicast.tile", "tiles", 2, TAKE_TURNS_TOGETHER, (PRODUCT, NOTHING)),
    "two products as tiles": ("specialized.tile", "two", 2, "stages=2",
                              (TWO + ["d=matmul(a,b)"], TWO + ["e=matmul(a,c)+1"])),
}

# Places that are no fault: with several rings each one also waits for the others; of two sums one may be complete
# while the other is waited for; a buffer that is filled once.
SOUND = {
    "cluster": {"a warp's lanes have not come when it gives a stage back"},  # the second time in a row
    "two products": {"a count is one too low", "a warp's lanes have not come when it gives a stage back",
                     "no wait for an empty stage", "sums are used one group too early",
                     "no bulk_wait before the buffer is filled again"},
    "two products as tiles": {"no wait for an empty stage"},
}

# The same, only at the last of a row's places: after a tile's last product, whose stage is refilled after the wait for
# the next tile's first product, or whose tile outside the loop only the first of two products reads.
SOUND_LAST = {name: {"a stage is given back before what reads it is done",
                     "a warp's lanes have not come when it gives a stage back"}
              for name in ("in a row", "in turn", "three in turn", "skipped")}
# The producer's wait for the second ring: it has waited for the first one, which is given back later.
SOUND_LAST |= {name: {"a wait for another stage"} for name in ("two products", "two products as tiles")}

STUCK = "deadlock: "
EARLY = "may pass one round early|wait comes too late"
LANDS = "while an asynchronous copy is in flight"
READS = "write while an asynchronous operation that nothing has waited for reads"
RACE = "data race: "
UNINITIALISED = "read of uninitialized shared memory"
BYTES = "fewer bytes are expected than copied|bytes more have been written than|bytes that a barrier expects"
MANY = "more arrivals than its count"
MEET = "arrives at barrier|the block ends, and barrier"
WRONG = "first wrong element"
OUTSIDE = "are not in the buffer in which the matrix begins"
ENDED = "may have ended before this|has ended, and its shared memory|may not have started"
WAITED = "|".join((STUCK, EARLY, LANDS, READS, RACE, UNINITIALISED, ENDED))


def add(group, amount):
    """Another number in this group."""
    def by(m):
        start, end = m.start(group) - m.start(), m.end(group) - m.start()
        number = int(int(m[group]) * amount) if isinstance(amount, float) else int(m[group]) + amount
        return m[0][:start] + str(number) + m[0][end:]
    return by


def turned(m):
    return f"{m[1]}%turned = xor {m[3]}, 1 : i32{m[1]}{m[2]}, %turned"


# The fault; where, at this level; the replacement; the expected report.
ROWS = {3: [
    ("a barrier is not initialised", r"\n *mbarrier_init.*", "", "has not been initialized"),
    ("a count is one too high", r"mbarrier_init %\S+, (\d+)", add(1, 1), STUCK),
    ("a count is twice as high", r"mbarrier_init %\S+, (\d+)", add(1, 2.0), STUCK),
    ("a count is one too low", r"mbarrier_init %\S+, ([2-9]|\d\d)", add(1, -1), "|".join((EARLY, READS, RACE, MANY))),
    ("no mbarrier_fence", r"\n *mbarrier_fence", "", "add mbarrier_fence after its mbarrier_init"),
    ("mbarrier_fence before what it publishes", r"((?:\n *mbarrier_init.*)+)(\n *mbarrier_fence)", r"\2\1",
     "add mbarrier_fence after its mbarrier_init"),
    ("no barrier behind mbarrier_init", r"\n  sync(?=\n  roles)", "", "initialized"),
    ("everybody initialises", r"if %\w+ (\{\n *mbarrier_init)", r"if true \1", RACE),
    ("nobody initialises", r"if %\w+ (\{\n *mbarrier_init)", r"if false \1", "has not been initialized"),
    ("no bytes expected, no arrival", r"\n *mbarrier_expect.*", "", STUCK),
    ("an arrival that expects nothing", r"mbarrier_expect (%\S+), \d+", r"mbarrier_arrive \1", BYTES),
    ("16 bytes too few", r"mbarrier_expect %\S+ (\d+)", add(1, -16), BYTES + "|16 bytes more than expected"),
    ("16 bytes too many", r"mbarrier_expect %\S+ (\d+)", add(1, 16), "16 bytes are missing"),
    ("half of the bytes", r"mbarrier_expect %\S+ (\d+)", add(1, 0.5), BYTES + "|more than expected"),
    ("twice the bytes", r"mbarrier_expect %\S+ (\d+)", add(1, 2.0), "bytes are missing"),
    ("bytes without an arrival", r"mbarrier_expect .*", r"\g<0> {noarrive}", STUCK),
    ("bytes and arrival twice", r"\n *mbarrier_expect .*", r"\g<0>\g<0>", MANY + "|" + STUCK),
    ("the arrival at another stage", r"(mbarrier_(?:expect|arrive) %\w+)\[%\w+\]", r"\1[0]",
     "|".join((MANY, WAITED, BYTES))),
    ("no wait for a full stage", r"\n *mbarrier_wait %full.*", "", WAITED),
    ("no wait for an empty stage", r"\n *mbarrier_wait %empty.*", "", WAITED + "|" + MANY),
    ("the other parity", r"(\n *)(mbarrier_wait %\S+), (%\w+)", turned, WAITED),
    ("the first parity is the other one", r"%parity = 1", "%parity = 0", STUCK),
    ("a wait for another stage", r"(mbarrier_wait %\w+)\[%\w+\]", r"\1[0]", WAITED),
    ("a stage is not given back", r"\n *mbarrier_arrive %empty.*", "", STUCK),
    ("a stage is given back twice", r"\n *mbarrier_arrive %empty.*", r"\g<0>\g<0>",
     "|".join((MANY, EARLY, READS, RACE, LANDS))),
    ("a warp's lanes have not come when it gives a stage back", r"\n *sync_warp(?=\n *mbarrier_arrive)", "", RACE),
    ("a stage is given back before its products are done",
     r"(\n *wgmma_wait 1)((?:\n.*){0,3}?\n *if %\w+ \{\n *sync_warp\n *mbarrier_arrive.*\n *\})", r"\2\1", READS + "|" + RACE),
    ("a stage is given back in the first iteration, too", r"if %\w+ (\{\n *sync_warp\n *mbarrier_arrive %empty\[%previous)",
     r"if true \1", "|".join((MANY, EARLY, READS, RACE))),
    ("one product more under way", r"(\n *)wgmma_wait 1\n", r"\1wgmma_wait 2\n", READS),
    ("no wait for products", r"\n *wgmma_wait 1(?=\n)", "", READS),
    ("sums are used one group too early", r"wgmma_wait 0, %", "wgmma_wait 1, %", "still pending|" + READS + "|" + RACE),
    ("sums are used while their product runs beside another one", r"wgmma_wait 1, %", "wgmma_wait 2, %",
     "still pending|is used once"),
    ("a stage is given back before what reads it is done",
     r"(\n *%\S+ = wgmma_wait [01], .*)(\n *sync_warp\n *mbarrier_arrive %empty.*)", r"\2\1", READS + "|" + RACE),
    ("sums are used without a wait", r"= wgmma_wait 0, (%\w+) : (.*)", r"= add \1, \1 : \2", "still pending"),
    ("no wgmma_fence", r"\n *wgmma_fence", "", "wgmma_fence"),
    ("no wgmma_commit", r"\n *wgmma_commit", "", "still pending|" + READS),
    ("the first product keeps what was there", r"(= wgmma %\w+, %\w+, %sum), %\w+ ", r"\1, true ",
     "poison|undefined|uninitialized|" + WRONG),
    ("the next product does not keep the sums", r"(= wgmma %\w+, %\w+, %\w+), true ", r"\1, false ", WRONG),
    ("another stage is multiplied", r"(wgmma_descriptor %\w+\[)%\w+", r"\g<1>0", "|".join((WAITED, WRONG))),
    ("a descriptor of another swizzle", r"(wgmma_descriptor .*swizzle = )\d+", r"\g<1>32", "|".join((LANDS, UNINITIALISED, RACE, WRONG))),
    ("a descriptor without swizzle", r"(wgmma_descriptor .*swizzle = )\d+", r"\g<1>0", "|".join((LANDS, UNINITIALISED, RACE, WRONG, OUTSIDE))),
    ("a descriptor of another stride", r"wgmma_descriptor .*stride = (\d+)", add(1, 0.25), "|".join((LANDS, UNINITIALISED, RACE, WRONG))),
    ("a descriptor of twice the stride", r"wgmma_descriptor .*stride = (\d+)", add(1, 2.0), "|".join((LANDS, UNINITIALISED, RACE, WRONG, OUTSIDE))),
    ("a descriptor of the other major dim", r"(wgmma_descriptor .*: descriptor<f16, )k", r"\1mn",
     "|".join((LANDS, UNINITIALISED, WRONG, "wgmma"))),
    ("a map without swizzle", r"(tensor_map .*swizzle = )\d+", r"\g<1>0", WRONG),
    ("a map of another swizzle", r"(tensor_map .*swizzle = )\d+", r"\g<1>32", "a box whose rows are as long as its swizzle"),
    ("a copy for another barrier", r"(tma_load .*, %full)\[%\w+\]", r"\1[1]", "|".join((BYTES, STUCK, EARLY))),
    ("a copy to another stage", r"(tma_load %\w+, \[.*?\], %\w+)\[%\w+\]", r"\1[0]", "|".join((LANDS, UNINITIALISED, READS, RACE))),
    ("a copy left out", r"\n *tma_load .*", "", "bytes are missing"),
    ("a copy twice", r"\n *tma_load .*", r"\g<0>\g<0>", LANDS),
    ("every thread copies", r"if %\w+ (\{(?:\n.*){1,3}\n *tma_load)", r"if true \1", LANDS),
    ("nobody copies", r"if %\w+ (\{(?:\n.*){1,3}\n *tma_load)", r"if false \1", "bytes are missing"),
    ("no fence_async", r"\n *fence_async", "", "data that no fence_async has made visible"),
    ("fence_async behind the barrier", r"(\n *fence_async)(\n *sync)\b", r"\2\1", "data that no fence_async has made visible"),
    ("no barrier before the store's copy", r"(\n *fence_async)\n *sync\b", r"\1", RACE),
    ("the store's copy before the barrier",
     r"(\n *sync|\n *if %\w+ \{\n *sync [1-9].*\n.*\n *sync [1-9].*\n *\})(\n *if %\w+ \{(?:\n.*){1,2}\n *tma_store(?:.*\n)*? *\})", r"\2\1", RACE),
    ("every thread stores", r"if %\w+ (\{(?:\n.*){1,2}\n *tma_store)", r"if true \1", RACE),
    ("nobody stores", r"if %\w+ (\{(?:\n.*){1,2}\n *tma_store)", r"if false \1", WRONG),
    ("no bulk_commit", r"\n *bulk_commit", "", READS + "|bulk_commit and bulk_wait 0"),
    ("no bulk_wait before the buffer is filled again", r"\n *bulk_wait 0 \{read\}(?=\n *sync)", "", READS),
    ("no barrier behind bulk_wait", r"(\n *bulk_wait 0 \{read\})\n *sync\b", r"\1", READS + "|" + RACE),
    ("no bulk_wait at the end", r"\n *bulk_wait 0 \{read\}(?=\n *\})", "", "the thread ends, and the store may not have read"),
    ("one copy more under way at the end", r"bulk_wait 0( \{read\}\n *\})", r"bulk_wait 1\1", "the thread ends, and the store may not"),
    ("a piece of the tile is not written", r"\n *stmatrix .*", "", UNINITIALISED + "|" + WRONG),
    ("no cluster barrier behind mbarrier_init", r"\n *cluster_arrive\n *cluster_wait", "", ENDED + "|initialized"),
    ("another block is not told", r"\n *mbarrier_arrive %\d+.*", "", STUCK),
    ("a block tells itself in place of the other", r"(map_shared %empty, )%\w+", r"\g<1>0",
     "|".join((MANY, EARLY, STUCK, READS, RACE))),
    ("a copy for this block alone", r"(tma_load .*\], %full\S+), 3", r"\1, 1", STUCK + "|" + BYTES),
    ("a copy for the other block alone", r"(tma_load .*\], %full\S+), 3", r"\1, 2", STUCK + "|" + BYTES),
    ("a block does not stay for the others", r"(\n *%.* = for %\w+ = 0 to )2( step 1 iter .*\n *mbarrier_wait %empty)", r"\g<1>0\2", ENDED),
    ("a block stays for one stage alone", r"(\n *%.* = for %\w+ = 0 to )2( step 1 iter .*\n *mbarrier_wait %empty)", r"\g<1>1\2", ENDED),
    ("a turn is not given", r"\n *sync_arrive.*", "", STUCK),
    ("a turn is given twice", r"\n *sync_arrive.*", r"\g<0>\g<0>", MEET),
    ("a turn without waiting for it", r"\n *sync [1-9], .*", "", WAITED + "|" + MEET),
    ("turns of 4 warps more", r"sync(?:_arrive)? [1-9], (\d+)", add(1, 4), MEET + "|" + STUCK),
    ("turns of one warp less", r"sync(?:_arrive)? [1-9], (\d+)", add(1, -1), MEET + "|" + RACE),
    ("a turn at another barrier", r"sync_arrive ([1-9]), ", add(1, 2), MEET + "|" + STUCK),
    ("a turn is given at the end, too", r"if %\w+ (\{\n *if %\w+ \{\n *sync_arrive)", r"if true \1", MEET),
    ("no turn is given", r"if %\w+ (\{\n *if %\w+ \{\n *sync_arrive)", r"if false \1", STUCK),
    ("more registers than there are", r"registers 232", "registers 248", "registers in total"),
    ("the buffers overlap", r"alloc_shared \{offset = (\d{5,})\} : shared<f16", add(1, -1024),
     "|".join((LANDS, READS, RACE, "overlap"))),
    ("a buffer over the barriers", r"%full = alloc_shared \{offset = (\d+)", add(1, -128),
     "has been overwritten|initialized again|" + RACE),
    ("a counter does not release", r"\{kind = add, ordering = release\}", "{kind = add}", RACE),
    ("nobody waits at the counter", r"\n *wait_acquire .*", "", RACE + "|uninitialized scratch"),
    ("a counter misses an arrival", r"if %\w+ (\{\n *atomic_thread .*release)", r"if false \1", "deadlock|wait_acquire"),
    ("no barrier before the counter", r"\n *sync(?=(\n *%.*)*\n *if %\w+ \{\n *atomic_thread .*release)", "", RACE),
    ("no barrier behind the counter", r"(wait_acquire .*\n *\})\n *sync", r"\1", RACE + "|uninitialized scratch"),
    ("who asks for the others does not acquire", r"\{kind = add, ordering = acquire\}", "{kind = add}", RACE),
    ("who asks counts, too", r"atomic_thread 0(, .*ordering = acquire\})", r"atomic_thread 1\1",
     "|".join((WRONG, RACE, "uninitialized scratch"))),
    ("who asks is one short", r"(\n *)(%\w+) = sub (%\w+, %\w+) : i32(?=(?:\n.*){0,13}ordering = acquire)",
     r"\1%less = sub \3 : i32\1\2 = sub %less, 1 : i32", "|".join((WRONG, RACE, "uninitialized scratch"))),
    ("who hands over does not release", r"ordering = acq_rel", "ordering = acquire", RACE),
    ("the last block does not acquire", r"ordering = acq_rel", "ordering = release", RACE),
    ("nobody says that a part is there", r"if %\w+ (\{\n(?: *%.*\n)* *%\w+ = atomic_thread 1, .*acq_rel)",
     r"if false \1", WRONG + "|" + UNINITIALISED),
    ("no barrier before a part is counted", r"\n *sync(?=(\n *%.*)*\n *if %\w+ \{(\n *%.*)*atomic_thread .*acq_rel)", "", RACE),
    ("a tile's counter is left as it is", r"\n *%?\w*(?: = )?atomic_thread 0, .*kind = exch.*", "", "clean"),
], 2: [
    ("a count is one too high", r"alloc_barrier \{count = (\d+)", add(1, 1), STUCK),
    ("a count is one too low", r"alloc_barrier \{count = ([2-9])", add(1, -1), "|".join((EARLY, READS, RACE, MANY))),
    ("no arrival", r"\n *barrier_arrive.*", "", STUCK),
    ("an arrival twice", r"\n *barrier_arrive.*", r"\g<0>\g<0>", "|".join((MANY, EARLY, READS, RACE, STUCK, LANDS))),
    ("the arrival at another stage", r"(barrier_arrive %\w+)\[%\w+\]", r"\1[0]",
     "|".join((MANY, WAITED, BYTES, "may come too late"))),
    ("no wait for a full stage", r"\n *barrier_wait %full.*", "", WAITED),
    ("no wait for an empty stage", r"\n *barrier_wait %empty.*", "", WAITED + "|" + MANY),
    ("the other parity", r"(\n *)(barrier_wait %\S+), (%\w+)", turned, WAITED),
    ("a wait for another stage", r"(barrier_wait %\w+)\[%\w+\]", r"\1[0]", WAITED),
    ("a copy for another barrier", r"(copy_async .*, %full)\[%\w+\]", r"\1[1]",
     BYTES + "|may come too late|" + WAITED),
    ("a copy to another stage", r"(copy_async .*, %\w+)\[%\w+\](?=, %full)", r"\1[0]",
     "|".join((LANDS, UNINITIALISED, READS, RACE))),
    ("a copy left out", r"\n *copy_async .*, %full.*", "", UNINITIALISED + "|" + RACE),
    ("a copy twice", r"\n *copy_async .*, %full.*", r"\g<0>\g<0>", LANDS),
    ("one product more under way", r"(= dot_wait %\w+, )1", r"\g<1>2", READS + "|still pending"),
    ("a stage is given back before what reads it is done", r"(\n *%\w+ = dot_wait .*)(\n *barrier_arrive.*)", r"\2\1", READS + "|" + RACE),
    ("sums are used one group too early", r"(= dot_wait %\w+, )0", r"\g<1>1", "still pending|pending|" + READS),
    ("another stage is multiplied", r"(= dot %\w+)\[%\w+\]", r"\1[0]", "|".join((WAITED, WRONG))),
    ("no bulk_wait at the end", r"\n *bulk_wait 0 \{read\}(?=\n *\})", "", "ends, and the store may not have read"),
    ("a turn is not given", r"\n *sync_arrive.*", "", STUCK),
    ("a turn without waiting for it", r"\n *sync [1-9], .*", "", WAITED + "|" + MEET),
    ("turns of 4 warps more", r"sync(?:_arrive)? [1-9], (\d+)", add(1, 4), MEET + "|" + STUCK),
    ("a turn is given at the end, too", r"if %\w+ (\{\n *%\w+ = eq .*\n *if %\w+ \{\n *sync_arrive)", r"if true \1", MEET),
]}


def make(name):
    file, kernel, level, parameters, _ = KERNELS[name]
    path = os.path.join(SHIPPED if file == "matmul.tile" else INPUTS, file)
    made = os.path.join(FOLDER, name.replace(" ", "_").replace(",", "") + ".tile")
    with open(path, encoding="utf-8") as source:  # the kernel and the functions that it refers to
        text = source.read()
    parts = [p for p in re.split(r"\n(?=(?://.*\n)*(?:kernel|compute|func) @)", text)
             if f"kernel @{kernel}<" in p or "compute @" in p or "func @" in p]
    alone = made + ".source"
    with open(alone, "w", encoding="utf-8") as out:
        out.write("\n".join(parts))
    if level == 3:
        command = ["tilec", alone, f"--kernel={kernel}", "--emit=tile"]
        for parameter in parameters.split():
            command += ["--param", parameter]
    else:
        command = ["tile-opt", alone, f"--kernel={kernel}", "--pass-pipeline=instantiate{" + parameters + "}," + TO_ROLES]
    subprocess.run(command + ["--target=sm_90a", "-o", made], check=True)
    with open(made, encoding="utf-8") as out:
        return out.read()


def run(name, number, text, seed):
    """The first report of the launches; "nothing" if all results are correct."""
    path = os.path.join(FOLDER, f"{number}.tile")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    _, kernel, level, _, launches = KERNELS[name]
    command = ["tile-run", path, f"--kernel={kernel}", "--device=cpu", "--target=sm_90a", f"--level={level}",
               f"--seed={seed}"]
    report = "nothing"
    for arguments in launches:
        ran = subprocess.run(command + arguments, capture_output=True, text=True, timeout=200)
        found = re.search(r"error: (.*)", ran.stderr)
        right = ran.returncode == 0 and re.search(r": 0 wrong", ran.stdout)
        report = found.group(1) if found else "nothing" if right else f"exit {ran.returncode}"
        if report != "nothing":
            break
    os.remove(path)
    return report


def run_twice(name, number, text, expected, seed):
    """A second order of the warps and blocks, if the first one does not show the fault."""
    report = run(name, number, text, seed)
    return report if re.search(expected, report) else run(name, number, text, 3 - seed)


MOST = 3  # places of a row in one kernel: the first, one in the middle, the last


def places(pattern, text):
    """Only in the first kernel of the text; the others are its fallbacks."""
    end = re.search(r"\n}\n", text[text.index("kernel @"):])
    body = text[:text.index("kernel @") + end.end()]
    found = list(re.finditer(pattern, body))
    return found if len(found) <= MOST else [found[0], found[len(found) // 2], found[-1]]


def main():
    names = sys.argv[4:] or list(KERNELS)
    texts = {name: make(name) for name in names}
    jobs, planted = [], set()
    for name, text in texts.items():
        level = KERNELS[name][2]
        jobs += [(name, "as it is", text, "^nothing$", seed) for seed in (0, 3)]
        for row, pattern, by, expected in ROWS[level]:
            found = places(pattern, text)
            for m in found:
                changed = text[:m.start()] + (by(m) if callable(by) else m.expand(by)) + text[m.end():]
                if changed == text:
                    continue
                planted.add((level, row))
                sound = row in SOUND.get(name, ()) or (m is found[-1] and row in SOUND_LAST.get(name, ()))
                jobs.append((name, row, changed, f"{expected}|^nothing$" if sound else expected, 3 * (len(jobs) % 2)))
    jobs = shares.take(jobs)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = list(pool.map(lambda job: run_twice(job[1][0], job[0], *job[1][2:]), enumerate(jobs)))
    missed = {f"{row}, in {name}: {report}" for (name, row, _, expected, _), report in zip(jobs, reports)
              if not re.search(expected, report)}
    if not sys.argv[4:]:
        missed |= {f"{row}: is planted nowhere at level {level}" for level in ROWS for row, *_ in ROWS[level]
                   if (level, row) not in planted}
    for line in sorted(missed):
        print("not found:", line)
    print(f"{len(planted)} kinds of faults, {len(jobs)} runs, {len(missed)} not found")


main()
