"""Prints a level-3 kernel that casts every element type to every other one, alone and in vectors."""
SCALARS = ["i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "tf32", "e4m3", "e5m2"]
BYTES = {"i64": 8, "f64": 8, "i32": 4, "f32": 4, "tf32": 4, "i16": 2, "f16": 2, "bf16": 2}

arguments = ", ".join("%%p_%s: ptr<%s> {divisible = 16}" % (name, name) for name in SCALARS)
print("kernel @casts(%s) grid [1] warps 1 {" % arguments)
print("  %t = thread_id : i32")
print("  %i = shl %t, 3 : i32")
for source in SCALARS:
    for width in (1, 2, 4, 8):
        if width * BYTES.get(source, 1) > 16:
            continue
        kind = "%s" if width == 1 else "vector<%%s[%d]>" % width
        name = "%s_%d" % (source, width)
        print("  %%x_%s = ld_global %%p_%s[%%i] : %s" % (name, source, kind % source))
        for target in SCALARS:
            if width * BYTES.get(target, 1) > 16:
                continue
            print("  %%y_%s_%s = cast %%x_%s : %s" % (name, target, name, kind % target))
            print("  st_global %%y_%s_%s, %%p_%s[%%i]" % (name, target, target))
print("}")
