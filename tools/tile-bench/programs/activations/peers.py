"""The peers of the activations, and the same element by element."""
import math


def each(make, x, function):
    return make(x.shape, lambda *at: function(x[at]))


def gelu_f16(torch, x):
    return torch.nn.functional.gelu(x)


def gelu_f16_reference(make, x):
    return each(make, x, lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))


def mish_f32(torch, x):
    return torch.nn.functional.mish(x)


def mish_f32_reference(make, x):
    return each(make, x, lambda v: v * math.tanh(math.log1p(math.exp(v))))


def swish_bf16(torch, x):
    return torch.nn.functional.silu(x)


def swish_bf16_reference(make, x):
    return each(make, x, lambda v: v / (1 + math.exp(-v)))


def selu_f32(torch, x):
    return torch.selu(x)


def selu_f32_reference(make, x):
    return each(make, x, lambda v: 1.0507009873554805 * (v if v > 0 else 1.6732632423543772 * math.expm1(v)))


def hardtanh_f32(torch, x):
    return torch.nn.functional.hardtanh(x)


def hardtanh_f32_reference(make, x):
    return each(make, x, lambda v: min(max(v, -1.0), 1.0))


def softplus_f32(torch, x):
    return torch.nn.functional.softplus(x)


def softplus_f32_reference(make, x):
    return each(make, x, lambda v: math.log1p(math.exp(v)))


def hardswish_odd_f16(torch, x):
    return torch.nn.functional.hardswish(x)


def hardswish_odd_f16_reference(make, x):
    return each(make, x, lambda v: v * min(max(v + 3, 0), 6) / 6)
