"""A compute with STEPS steps of a stencil, each a weighted sum of a few neighbors.

    stencil.py STEPS [row|cross]   neighbors of a vector's element, or of a matrix's"""
import sys

steps = int(sys.argv[1])
cross = sys.argv[2:] == ["cross"]
dims, ones, window = ("h, w", "1, 1", "3, 3") if cross else ("m", "1", "2")
places = ["0, 1", "1, 0", "1, 1", "1, 2", "2, 1"] if cross else ["0", "1"]
weight = 0.25 if cross else 0.5  # powers of two: whole inputs give exact results
parameters = ", ".join(f"{name}: dim" for name in dims.split(", "))
print(f"compute @steps<{parameters}>(%x: tensor<f32[{dims}]>) -> (%y: tensor<f32[{dims}]>) {{")
print("  %v0 = %x * 1.0")
origin = ", ".join("0" for name in dims.split(", "))
for step in range(steps):
    print(f"  %w{step} = window %v{step}, [{ones}], [{ones}] {{axis = 0}} : [{dims}, {window}]")
    for i, place in enumerate(places):
        print(f"  %t{step}_{i} = slice(%w{step}, [{origin}, {place}]) : [{dims}, {ones}]")
    total = " + ".join(f"%t{step}_{i}" for i in range(len(places)))
    print(f"  %v{step + 1} = reshape(({total}) * {weight}) : [{dims}]")
print(f"  %y = %v{steps} + 0.0")
print("}")
