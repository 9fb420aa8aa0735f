"""The peers of the norms, and loops that compute the same."""
import itertools
import math


def normalize(make, x, group, epsilon=1e-5, centered=True):
    """Elements whose coordinates `group` maps to the same key have mean 0 and variance 1."""
    members = {}
    for at in itertools.product(*map(range, x.shape)):
        members.setdefault(group(*at), []).append(x[at])
    facts = {}
    for key, values in members.items():
        mean = sum(values) / len(values) if centered else 0.0
        facts[key] = mean, 1 / math.sqrt(sum((v - mean) ** 2 for v in values) / len(values) + epsilon)
    return make(x.shape, lambda *at: (x[at] - facts[group(*at)][0]) * facts[group(*at)][1])


def layer_norm_f16(torch, x, w, b):
    return torch.nn.functional.layer_norm(x, w.shape, w, b, 1e-5)


def layer_norm_f16_reference(make, x, w, b):
    y = normalize(make, x, lambda i, j: i)
    return make(x.shape, lambda i, j: y[i, j] * w[j] + b[j])


def rms_norm_bf16(torch, x, w):
    return torch.nn.functional.rms_norm(x, w.shape, w, 1e-6)


def rms_norm_bf16_reference(make, x, w):
    y = normalize(make, x, lambda i, j: i, 1e-6, False)
    return make(x.shape, lambda i, j: y[i, j] * w[j])


def rms_norm_channels_f32(torch, x):
    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-5)


def rms_norm_channels_f32_reference(make, x):
    return normalize(make, x, lambda n, c, h, w: (n, h, w), 1e-5, False)


def group_norm_f16(torch, x, w, b):
    return torch.nn.functional.group_norm(x, 32, w, b, 1e-5)


def group_norm_f16_reference(make, x, w, b):
    y = normalize(make, x, lambda n, c, h, v: (n, c * 32 // x.shape[1]))
    return make(x.shape, lambda n, c, h, v: y[n, c, h, v] * w[c] + b[c])


def batch_norm_f32(torch, x, w, b):
    return torch.nn.functional.batch_norm(x, None, None, w, b, True, 0.1, 1e-5)


def batch_norm_f32_reference(make, x, w, b):
    y = normalize(make, x, lambda n, c, h, v: c)
    return make(x.shape, lambda n, c, h, v: y[n, c, h, v] * w[c] + b[c])


def instance_norm_f32(torch, x):
    return torch.nn.functional.instance_norm(x, eps=1e-5)


def instance_norm_f32_reference(make, x):
    return normalize(make, x, lambda n, c, h, v: (n, c))


def l2_norm_f32(torch, x):
    return torch.nn.functional.normalize(x, dim=1)


def l2_norm_f32_reference(make, x):
    lengths = [math.sqrt(sum(x[i, j] ** 2 for j in range(x.shape[1]))) for i in range(x.shape[0])]
    return make(x.shape, lambda i, j: x[i, j] / lengths[i])
