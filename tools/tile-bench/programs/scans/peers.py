"""The peers of the scans, and loops that compute the same."""
import itertools
import operator


def scan(make, x, axis, combine=operator.add, initial=0.0, exclusive=False, reverse=False, read=None):
    """Along each line of the axis."""
    read = read or (lambda *at: x[at])
    lines = [range(extent) for d, extent in enumerate(x.shape) if d != axis]
    found = {}
    for line in itertools.product(*lines):
        order = range(x.shape[axis])
        value = initial
        for i in reversed(order) if reverse else order:
            at = line[:axis] + (i,) + line[axis:]
            after = combine(value, read(*at))
            found[at] = value if exclusive else after
            value = after
    return make(x.shape, lambda *at: found[at])


def cumsum_rows_f32(torch, x):
    return torch.cumsum(x, 1)


def cumsum_rows_f32_reference(make, x):
    return scan(make, x, 1)


def cumsum_exclusive_f32(torch, x):
    return torch.cumsum(torch.nn.functional.pad(x[:, :-1], (1, 0)), 1)


def cumsum_exclusive_f32_reference(make, x):
    return scan(make, x, 1, exclusive=True)


def cumsum_reversed_bf16(torch, x):
    # A cumsum of bf16 rounds each partial sum to bf16; the text sums in f32.
    return x.flip(1).cumsum(1, dtype=torch.float32).flip(1).to(x.dtype)


def cumsum_reversed_bf16_reference(make, x):
    return scan(make, x, 1, reverse=True)


def cumsum_masked_f32(torch, x, k):
    return torch.cumsum(x * k, 1)


def cumsum_masked_f32_reference(make, x, k):
    return scan(make, x, 1, read=lambda *at: x[at] if k[at] else 0.0)


def cumprod_f32(torch, x):
    return torch.cumprod(x, 1)


def cumprod_f32_reference(make, x):
    return scan(make, x, 1, operator.mul, 1.0)


def cumsum_columns_f32(torch, x):
    return torch.cumsum(x, 1)


def cumsum_columns_f32_reference(make, x):
    return scan(make, x, 1)


def cummax_f16(torch, x):
    return torch.cummax(x, 1).values


def cummax_f16_reference(make, x):
    return scan(make, x, 1, max, float("-inf"))
