"""The peers of the products with what follows them, and loops that compute the same."""
import math


def product(make, x, w):
    """x times w transposed."""
    return make((x.shape[0], w.shape[0]), lambda i, j: sum(x[i, e] * w[j, e] for e in range(x.shape[1])))


def row(y, i):
    return [y[i, j] for j in range(y.shape[1])]


def linear_bias_gelu_f16(torch, x, w, b):
    return torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b))


def linear_bias_gelu_f16_reference(make, x, w, b):
    p = product(make, x, w)

    def gelu(v):
        return 0.5 * v * (1 + math.erf(v / math.sqrt(2)))
    return make(p.shape, lambda i, j: gelu(p[i, j] + b[j]))


def linear_layer_norm_f16(torch, x, w):
    return torch.nn.functional.layer_norm(torch.nn.functional.linear(x, w), (w.shape[0],))


def normalize(values, epsilon=1e-5):
    mean = sum(values) / len(values)
    scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in values) / len(values) + epsilon)
    return [(v - mean) * scale for v in values]


def linear_layer_norm_f16_reference(make, x, w):
    p = product(make, x, w)
    rows = [normalize(row(p, i)) for i in range(p.shape[0])]
    return make(p.shape, lambda i, j: rows[i][j])


def linear_softmax_bf16(torch, x, w):
    return torch.softmax(torch.nn.functional.linear(x, w), 1)


def linear_softmax_bf16_reference(make, x, w):
    p = product(make, x, w)
    totals = [sum(map(math.exp, row(p, i))) for i in range(p.shape[0])]
    return make(p.shape, lambda i, j: math.exp(p[i, j]) / totals[i])


def linear_log_sum_exp_f16(torch, x, w):
    return torch.logsumexp(torch.nn.functional.linear(x, w).float(), 1, keepdim=True)


def linear_log_sum_exp_f16_reference(make, x, w):
    p = product(make, x, w)
    return make((p.shape[0], 1), lambda i, _: math.log(sum(map(math.exp, row(p, i)))))


def linear_group_norm_f16(torch, x, w):
    return torch.nn.functional.group_norm(torch.nn.functional.silu(torch.nn.functional.linear(x, w)), 16)


def linear_group_norm_f16_reference(make, x, w):
    p = product(make, x, w)
    part = p.shape[1] // 16

    def swish(v):
        return v / (1 + math.exp(-v))
    groups = {(i, g): normalize([swish(p[i, g * part + j]) for j in range(part)]) for i in range(p.shape[0]) for g in range(16)}
    return make(p.shape, lambda i, j: groups[i, j // part][j % part])


def linear_max_tf32(torch, x, w):
    return torch.nn.functional.linear(x, w).amax(1, keepdim=True)


def linear_max_tf32_reference(make, x, w):
    p = product(make, x, w)
    return make((p.shape[0], 1), lambda i, _: max(row(p, i)))


def swiglu_bf16(torch, x, g, u):
    return torch.nn.functional.silu(torch.nn.functional.linear(x, g)) * torch.nn.functional.linear(x, u)


def swiglu_bf16_reference(make, x, g, u):
    a, b = product(make, x, g), product(make, x, u)
    return make(a.shape, lambda i, j: a[i, j] / (1 + math.exp(-a[i, j])) * b[i, j])
