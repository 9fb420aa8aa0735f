"""The peers of softmax, and loops that compute the same."""
import itertools
import math


def softmax(make, x, axis, is_log=False, read=None):
    """Along the axis of elements that `read` may change."""
    read = read or (lambda *at: x[at])
    lines = [range(extent) for d, extent in enumerate(x.shape) if d != axis]
    top, total = {}, {}
    for line in itertools.product(*lines):
        values = [read(*line[:axis], i, *line[axis:]) for i in range(x.shape[axis])]
        top[line] = max(values)
        total[line] = sum(math.exp(value - top[line]) for value in values)

    def element(*at):
        line = at[:axis] + at[axis + 1:]
        shifted = read(*at) - top[line]
        return shifted - math.log(total[line]) if is_log else math.exp(shifted) / total[line]
    return make(x.shape, element)


def softmax_f16(torch, x):
    return torch.softmax(x, 1)


def softmax_f16_reference(make, x):
    return softmax(make, x, 1)


def log_softmax_f32(torch, x):
    return torch.log_softmax(x, 1)


def log_softmax_f32_reference(make, x):
    return softmax(make, x, 1, True)


def softmax_middle_f32(torch, x):
    return torch.softmax(x, 1)


def softmax_middle_f32_reference(make, x):
    return softmax(make, x, 1)


def softmax_masked_bf16(torch, x, k):
    return torch.softmax(x.masked_fill(~k, -1e30), 1)


def softmax_masked_bf16_reference(make, x, k):
    return softmax(make, x, 1, read=lambda *at: x[at] if k[at] else -1e30)
