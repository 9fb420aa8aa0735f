"""The peers of the pools, and loops that compute the same."""
import itertools

LOW = float("-inf")


def pool(make, x, first, windows, extent, stride, pad, reduce, otherwise):
    """Reduces the windows of the dims from `first` on, of which there are as many as `windows` has extents."""
    dims = len(windows)
    shape = x.shape[:first] + windows + x.shape[first + dims:]

    def element(*at):
        begin = [p * stride - pad for p in at[first:first + dims]]
        places = ([b + r for b, r in zip(begin, taps)] for taps in itertools.product(range(extent), repeat=dims))
        return reduce(x.get(*at[:first], *place, *at[first + dims:], otherwise=otherwise) for place in places)
    return make(shape, element)


def max_pool1d_f32(torch, x):
    return torch.nn.functional.max_pool1d(x, 5, 2, 2)


def max_pool1d_f32_reference(make, x):
    return pool(make, x, 2, ((x.shape[2] + 1) // 2,), 5, 2, 2, max, LOW)


def max_pool2d_f16(torch, x):
    return torch.nn.functional.max_pool2d(x, 3, 2, 1)


def max_pool2d_f16_reference(make, x):
    return pool(make, x, 2, (x.shape[2] // 2,) * 2, 3, 2, 1, max, LOW)


def max_pool2d_nhwc_bf16(torch, x):
    return torch.nn.functional.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)


def max_pool2d_nhwc_bf16_reference(make, x):
    return pool(make, x, 1, (x.shape[1] // 2,) * 2, 2, 2, 0, max, LOW)


def max_pool3d_f32(torch, x):
    return torch.nn.functional.max_pool3d(x, 3, 2, 1)


def max_pool3d_f32_reference(make, x):
    return pool(make, x, 2, (x.shape[2] // 2,) * 3, 3, 2, 1, max, LOW)


def avg_pool1d_f16(torch, x):
    return torch.nn.functional.avg_pool1d(x, 8, 1)


def avg_pool1d_f16_reference(make, x):
    return pool(make, x, 2, (x.shape[2] - 7,), 8, 1, 0, lambda window: sum(window) / 8, 0.0)


def avg_pool2d_f32(torch, x):
    return torch.nn.functional.avg_pool2d(x, 3, 1, 1)


def avg_pool2d_f32_reference(make, x):
    return pool(make, x, 2, x.shape[2:], 3, 1, 1, lambda window: sum(window) / 9, 0.0)


def avg_pool3d_f32(torch, x):
    return torch.nn.functional.avg_pool3d(x, 2)


def avg_pool3d_f32_reference(make, x):
    return pool(make, x, 2, (x.shape[2] // 2,) * 3, 2, 2, 0, lambda window: sum(window) / 8, 0.0)
