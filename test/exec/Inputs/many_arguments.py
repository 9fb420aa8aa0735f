"""Writes computes with N results, and with N arguments in one kernel and in several, and a plan that passes an array
through N scratch views: many_arguments.py N
Prints the arguments of tile-run for such a compute instead: many_arguments.py N --options"""
import sys

count = int(sys.argv[1])
if len(sys.argv) > 2:
    print(" ".join("--arg x%d=int" % i for i in range(count)))
    sys.exit()
results = ", ".join("%%y%d: tensor<f32[n]>" % i for i in range(count))
print("compute @results<n: dim>(%%x: tensor<f32[n]>) -> (%s)\n{" % results)
for i in range(count):
    print("  %%y%d = %%x + %d.0" % (i, i))
print("}\n")
print("kernel @add(%n: i32, %x: view<f32[%n]>, %y: view<f32[%n]>) grid [ceildiv(%n, 64)] warps 1\n{")
print("  %b = block_id\n  store (load %x[%b * 64] : [64]) + 1.0, %y[%b * 64]\n}\n")
print("plan @chain(%n: i32, %x: view<f32[%n]>, %y: view<f32[%n]>) of @summed\n{")
for i in range(count):
    print("  %%s%d = scratch [%%n] : f32" % i)
    print("  launch @add(%%n, %%%s, %%s%d)" % ("x" if i == 0 else "s%d" % (i - 1), i))
print("  launch @add(%%n, %%s%d, %%y)\n}\n" % (count - 1))
print("compute @summed<n: dim>(%%x: tensor<f32[n]>) -> (%%y: tensor<f32[n]>)\n{\n  %%y = %%x + %d.0\n}" % (count + 1))

arguments = ", ".join("%%x%d: tensor<f32[n, m]>" % i for i in range(count))
for name, steps in ("sum", 0), ("rows", 8):
    print("compute @%s<n: dim, m: dim>(%s) -> (%%y: tensor<f32[n, m]>)\n{" % (name, arguments))
    last = "x0"
    for i in range(1, count):
        print("  %%a%d = %%%s + %%x%d" % (i, last, i))
        last = "a%d" % i
        if steps and i % (count // steps) == 0:  # of rows, then of columns: a kernel each
            axis = i // (count // steps) % 2
            print("  %%r%d = reduce %%%s {kind = max, axis = %d}" % (i, last, axis))
            print("  %%b%d = %%%s - %%r%d" % (i, last, i))
            last = "b%d" % i
    print("  %%y = %%%s + %%x0\n}" % last)
