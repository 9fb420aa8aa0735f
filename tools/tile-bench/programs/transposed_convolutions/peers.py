"""The peers of the transposed convolutions, and loops that compute the same: each output adds the inputs that reach it."""
import math


def tconv2d_stride2_f16(torch, x, w):
    return torch.nn.functional.conv_transpose2d(x, w, stride=2, padding=1)


def reaching(p, taps, stride, pad, extent):
    """The pairs of an input's coordinate and a tap that add to the output at p."""
    return [((p + pad - r) // stride, r) for r in range(taps)
            if (p + pad - r) % stride == 0 and 0 <= (p + pad - r) // stride < extent]


def tconv2d_stride2_f16_reference(make, x, w):
    n, c, h, _ = x.shape
    return make((n, w.shape[1], 2 * h, 2 * h), lambda i, k, p, q: sum(
        x[i, e, y, z] * w[e, k, r, s]
        for y, r in reaching(p, 4, 2, 1, h) for z, s in reaching(q, 4, 2, 1, h) for e in range(c)))


def tconv2d_stride2_unet_bf16(torch, x, w):
    y = torch.nn.functional.conv_transpose2d(x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2), stride=2)
    return y.permute(0, 2, 3, 1)


def tconv2d_stride2_unet_bf16_reference(make, x, w):
    n, h, _, c = x.shape
    return make((n, 2 * h, 2 * h, w.shape[3]), lambda i, p, q, k: sum(
        x[i, p // 2, q // 2, e] * w[e, p % 2, q % 2, k] for e in range(c)))


def tconv1d_stride4_f32(torch, x, w):
    return torch.nn.functional.conv_transpose1d(x, w, stride=4, padding=2)


def tconv1d_stride4_f32_reference(make, x, w):
    n, c, length = x.shape
    return make((n, w.shape[1], 4 * length), lambda i, k, p: sum(
        x[i, e, y] * w[e, k, r] for y, r in reaching(p, 8, 4, 2, length) for e in range(c)))


def tconv3d_stride2_f16(torch, x, w):
    return torch.nn.functional.conv_transpose3d(x, w, stride=2)


def tconv3d_stride2_f16_reference(make, x, w):
    n, c, d, h, _ = x.shape
    return make((n, w.shape[1], 2 * d, 2 * h, 2 * h), lambda i, k, o, p, q: sum(
        x[i, e, o // 2, p // 2, q // 2] * w[e, k, o % 2, p % 2, q % 2] for e in range(c)))


def tconv2d_tanh_f16(torch, x, w, b):
    return torch.tanh(torch.nn.functional.conv_transpose2d(x, w, b))


def tconv2d_tanh_f16_reference(make, x, w, b):
    n, c, h, _ = x.shape
    return make((n, w.shape[1], h + 2, h + 2), lambda i, k, p, q: math.tanh(b[k] + sum(
        x[i, e, y, z] * w[e, k, r, s]
        for y, r in reaching(p, 3, 1, 0, h) for z, s in reaching(q, 3, 1, 0, h) for e in range(c))))
