"""Prints a level-3 kernel with the atomic accesses of every kind on one element type, as `red` and as
`atom`, in global and in shared memory, alone and in vectors, with and without a predicate."""
import sys

name = sys.argv[1]
BYTES = {"i8": 1, "i16": 2, "f16": 2, "bf16": 2, "i32": 4, "f32": 4, "i64": 8, "f64": 8}
KINDS = ["add", "min", "max", "exch"] + ([] if name[0] in "fb" else ["and", "or", "xor"])

print("kernel @k(%%p: ptr<%s> {divisible = 16}) grid [4] warps 2 level 3 {" % name)
print("  %b, %y, %z = block_id")
print("  %t = thread_id")
print("  %e = mul %t, 16")
print("  %q = gt %t, 5")
print("  %%s = alloc_shared {offset = 0} : shared<%s[1024]>" % name)
print("  %%x1 = cast %%b : %s" % name)
number = 0
for width in (1, 2, 4, 8):
    if width * BYTES[name] > 16 or (width > 2 and name[0] not in "fb"):
        continue
    if width > 1:
        print("  %%x%d = splat %%x1 : vector<%s[%d]>" % (width, name, width))
    for kind in KINDS:
        for memory in ("%p", "%s"):
            one = "atomic_thread_%s %%x%d, %s[%%e]" % (kind, width, memory)
            print("  %s" % one)
            print("  %s, %%q {ordering = release, scope = cluster}" % one)
            for more in ("{ordering = acq_rel}", ", %q {ordering = acquire, scope = sys}"):
                number += 1
                print("  %%r%d = %s%s" % (number, one, more))
                print("  st_global %%r%d, %%p[%%e + %d]" % (number, 16 * number))
for memory in ("%p", "%s"):
    number += 1
    print("  %%r%d = atomic_cas_thread %%x1, %%x1, %s[%%e], %%q {ordering = acq_rel}" % (number, memory))
    print("  st_global %%r%d, %%p[%%e + %d]" % (number, 16 * number))
print("  fence")
print("  fence {ordering = sc, scope = cluster}")
print("}")
