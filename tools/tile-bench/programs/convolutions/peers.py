"""The peers of the convolutions, and loops that compute the same."""


def channels_first(array):
    """[n, h, w, c] as PyTorch sees it, without a copy."""
    return array.permute(0, 3, 1, 2)


def conv2d_nhwc(torch, x, w, **how):
    return torch.nn.functional.conv2d(channels_first(x), channels_first(w), **how).permute(0, 2, 3, 1)


def convolve(make, x, w, n_c_hw, k_c_rs, extents, out, stride=1, pad=1, dilation=1, groups=1):
    """A convolution of two dims. n_c_hw and k_c_rs read the element of these coordinates; extents: n, c of a group, k, r, s,
    p, q, h, w; out: arranges n, k, p, q as the result has them."""
    n, c, k, r, s, p, q, h, w_ = extents

    def element(*at):
        i, j, y, x_ = out(*at)
        total, group = 0.0, j // (k // groups)
        for a in range(r):
            for b in range(s):
                row, column = y * stride + a * dilation - pad, x_ * stride + b * dilation - pad
                if 0 <= row < h and 0 <= column < w_:
                    total += sum(n_c_hw(i, group * c + e, row, column) * k_c_rs(j, e, a, b) for e in range(c))
        return total
    order = {"nkpq": (n, k, p, q), "npqk": (n, p, q, k)}
    return make(order["npqk" if out is last else "nkpq"], element)


def first(i, j, y, x):
    return i, j, y, x


def last(i, y, x, j):
    return i, j, y, x


def nhwc_reference(make, x, w, **how):
    n, h, _, _ = x.shape
    k, r, s, c = w.shape
    return convolve(make, x, w, lambda i, e, y, z: x[i, y, z, e], lambda j, e, a, b: w[j, a, b, e],
                    (n, c, k, r, s, h, h, h, h), last, **how)


def nchw_reference(make, x, w, stride=1, **how):
    n, _, h, _ = x.shape
    k, c, r, s = w.shape
    p = (h + stride - 1) // stride
    return convolve(make, x, w, lambda i, e, y, z: x[i, e, y, z], lambda j, e, a, b: w[j, e, a, b],
                    (n, c, k, r, s, p, p, h, h), first, stride=stride, **how)


def conv2d_nhwc_f16(torch, x, w):
    return conv2d_nhwc(torch, x, w, padding=1)


def conv2d_nhwc_f16_reference(make, x, w):
    return nhwc_reference(make, x, w)


def conv2d_nchw_f16(torch, x, w):
    return torch.nn.functional.conv2d(x, w, padding=1)


def conv2d_nchw_f16_reference(make, x, w):
    return nchw_reference(make, x, w)


def conv2d_1x1_strided_bf16(torch, x, w):
    return torch.nn.functional.conv2d(x, w, stride=2)


def conv2d_1x1_strided_bf16_reference(make, x, w):
    return nchw_reference(make, x, w, stride=2, pad=0)


def conv2d_7x7_rgb_tf32(torch, x, w):
    return torch.nn.functional.conv2d(x, w, stride=2, padding=3)


def conv2d_7x7_rgb_tf32_reference(make, x, w):
    return nchw_reference(make, x, w, stride=2, pad=3)


def conv2d_dilated_f16(torch, x, w):
    return conv2d_nhwc(torch, x, w, padding=3, dilation=3)


def conv2d_dilated_f16_reference(make, x, w):
    return nhwc_reference(make, x, w, pad=3, dilation=3)


def conv2d_grouped_f16(torch, x, w):
    return conv2d_nhwc(torch, x, w, padding=1, groups=32)


def conv2d_grouped_f16_reference(make, x, w):
    return nhwc_reference(make, x, w, groups=32)


def conv2d_depthwise_f16(torch, x, w):
    return conv2d_nhwc(torch, x, w, padding=3, groups=x.shape[3])


def conv2d_depthwise_f16_reference(make, x, w):
    return nhwc_reference(make, x, w, pad=3, groups=x.shape[3])


def conv2d_depthwise_nchw_f32(torch, x, w):
    return torch.nn.functional.conv2d(x, w, padding=1, groups=x.shape[1])


def conv2d_depthwise_nchw_f32_reference(make, x, w):
    return nchw_reference(make, x, w, groups=x.shape[1])


def conv1d_causal_f32(torch, x, w):
    return torch.nn.functional.conv1d(torch.nn.functional.pad(x, (8, 0)), w, dilation=2)


def conv1d_causal_f32_reference(make, x, w):
    n, c, length = x.shape
    return make((n, w.shape[0], length), lambda i, k, p: sum(
        x.get(i, e, p + 2 * r - 8) * w[k, e, r] for e in range(c) for r in range(5)))


def conv3d_f16(torch, x, w):
    return torch.nn.functional.conv3d(x, w, padding=1)


def conv3d_f16_reference(make, x, w):
    n, c, d, h, _ = x.shape
    return make((n, w.shape[0], d, h, h), lambda i, k, o, p, q: sum(
        x.get(i, e, o + t - 1, p + r - 1, q + s - 1) * w[k, e, t, r, s]
        for e in range(c) for t in range(3) for r in range(3) for s in range(3)))


def conv2d_bias_relu_f32(torch, x, w, b):
    return torch.relu(torch.nn.functional.conv2d(x, w, b, padding=1))


def conv2d_bias_relu_f32_reference(make, x, w, b):
    y = nchw_reference(make, x, w)
    return make(y.shape, lambda i, k, p, q: max(y[i, k, p, q] + b[k], 0.0))


def conv2d_filter_gradient_f16(torch, x, g):
    size = (g.shape[3], x.shape[3], 3, 3)
    gradient = torch.nn.grad.conv2d_weight(channels_first(x), size, channels_first(g), padding=1)
    return gradient.permute(0, 2, 3, 1)


def conv2d_filter_gradient_f16_reference(make, x, g):
    n, h, _, c = x.shape
    return make((g.shape[3], 3, 3, c), lambda k, r, s, e: sum(
        x.get(i, p + r - 1, q + s - 1, e) * g[i, p, q, k] for i in range(n) for p in range(h) for q in range(h)))
