"""Writes inputs of the computes in recurrences.tile and their results, computed here in floats of 64 bits.

usage: recurrences.py FOLDER

Creates COMPUTE.NAME.npy for each argument and result of each compute."""
import math
import os
import random
import struct
import sys


def filled(extents, function):
    """A nested list with function(coordinates) at each place."""
    if not extents:
        return function
    return [filled(extents[1:], (lambda i: lambda *at: function(i, *at))(i)) for i in range(extents[0])] \
        if len(extents) > 1 else [function(i) for i in range(extents[0])]


def uniform(*extents, low=-0.5, high=0.5):
    return filled(extents, lambda *at: struct.unpack("f", struct.pack("f", random.uniform(low, high)))[0])


def shape(array):
    return [len(array)] + shape(array[0]) if isinstance(array, list) else []


def flat(array):
    return [x for row in array for x in flat(row)] if isinstance(array, list) else [array]


def write(name, array):
    extents = shape(array)
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, extents))
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    data = struct.pack("<%df" % len(flat(array)), *flat(array))
    with open(os.path.join(sys.argv[1], name + ".npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def save(compute, **arrays):
    for name, array in arrays.items():
        write(compute + "." + name, array)


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def rnn(n=5, b=3, d=4, h=6):
    x, h0, w, u = uniform(n, b, d), uniform(b, h), uniform(d, h), uniform(h, h)
    state, ys = h0, []
    for xt in x:
        state = [[math.tanh(p + q) for p, q in zip(*rows)] for rows in zip(product(xt, w), product(state, u))]
        ys.append(state)
    save("rnn", x=x, h0=h0, w=w, u=u, ys=ys, last=state)


def ssm(n=7, c=13):
    x, a, h0 = uniform(n, c), uniform(c), uniform(c)
    state, ys = h0, []
    for xt in x:
        state = [p * q + r for p, q, r in zip(a, state, xt)]
        ys.append([p * 0.5 for p in state])
    save("ssm", x=x, a=a, h0=h0, ys=ys)


def mamba(n=6, c=5, s=4):
    x, a, b, o = uniform(n, c), uniform(c, s), uniform(n, s), uniform(n, s)
    state, ys = filled([c, s], lambda *at: 0.0), []
    for t in range(n):
        state = [[a[i][j] * state[i][j] + x[t][i] * b[t][j] for j in range(s)] for i in range(c)]
        ys.append([sum(p * q for p, q in zip(row, o[t])) for row in state])
    save("mamba", x=x, a=a, b=b, o=o, ys=ys)


def sinkhorn(m=6, n=9, steps=5):
    cost, a, b = uniform(m, n, low=0, high=1), uniform(m, 1, low=0.5, high=1), uniform(1, n, low=0.5, high=1)
    k = [[math.exp(-x * 4) for x in row] for row in cost]
    u, v = [1.0] * m, [1.0] * n
    for _ in range(steps):
        u = [a[i][0] / sum(k[i][j] * v[j] for j in range(n)) for i in range(m)]
        v = [b[0][j] / sum(k[i][j] * u[i] for i in range(m)) for j in range(n)]
    save("sinkhorn", cost=cost, a=a, b=b, p=[[u[i] * k[i][j] * v[j] for j in range(n)] for i in range(m)])


def laplace(h=7, w=10, steps=6):
    x = uniform(h, w)
    y = x
    for _ in range(steps):
        inside = [[(y[i - 1][j] + y[i + 1][j] + y[i][j - 1] + y[i][j + 1]) / 4 for j in range(1, w - 1)]
                  for i in range(1, h - 1)]
        y = [y[0]] + [[y[i][0]] + inside[i - 1] + [y[i][-1]] for i in range(1, h - 1)] + [y[-1]]
    save("laplace", x=x, y=y)


def jacobi(n=9, steps=7):
    r, d, b = uniform(n, n, low=-0.1, high=0.1), uniform(n, 1, low=1, high=2), uniform(n, 1)
    x = [[0.0] for _ in range(n)]
    for _ in range(steps):
        x = [[(p[0] - q[0]) / s[0]] for p, q, s in zip(b, product(r, x), d)]
    save("jacobi", r=r, d=d, b=b, x=x)


def nested(n=11, steps=5):
    x, y = uniform(n), uniform(n)
    p, q = x, y
    for i in range(0, steps, 2):
        r = p
        for j in range(i, steps):
            r = [s * 0.5 + (i * 10 + j) * k for k, s in enumerate(r)]
        p, q = q, r
    save("nested", x=x, y=y, a=p, b=q)


def append(n=8, d=5, at=3):
    cache, row = uniform(n, d), uniform(1, d)
    read = [[2 * x for x in row[0]]]
    save("append", cache=cache, row=row, new=cache[:at] + read + cache[at + 1:], read=read)


os.makedirs(sys.argv[1], exist_ok=True)
random.seed(1)
for compute in rnn, ssm, mamba, sinkhorn, laplace, jacobi, nested, append:
    compute()
