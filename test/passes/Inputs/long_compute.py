"""A compute with a chain of COUNT dependent operations.

usage: long_compute.py COUNT"""
import sys

count = int(sys.argv[1])
print("compute @long<n: dim>(%x: tensor<f32[n]>, %z: tensor<f32[n]>) -> (%y: tensor<f32[n]>)\n{")
for i in range(count):
    left = f"%t{i - 1}" if i else "%x"
    print(f"  {f'%t{i}' if i + 1 < count else '%y'} = {left} {'+-'[i % 2]} %z")
print("}")
