"""The peers of attention, and loops that compute the same."""
import math


def attention(make, q, k, v, scale, sees=lambda i, j: True, bias=lambda h, i, j: 0.0):
    b, heads, m, d = q.shape

    def weights(n, h, i):
        scores = [scale * sum(q[n, h, i, e] * k[n, h, j, e] for e in range(d)) + bias(h, i, j) for j in range(m)]
        exponentials = [math.exp(score) if sees(i, j) else 0.0 for j, score in enumerate(scores)]
        return [one / sum(exponentials) for one in exponentials]
    found = {(n, h, i): weights(n, h, i) for n in range(b) for h in range(heads) for i in range(m)}
    return make(q.shape, lambda n, h, i, e: sum(found[n, h, i][j] * v[n, h, j, e] for j in range(m)))


def attention_f16(torch, q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=0.08838834764831845)


def attention_f16_reference(make, q, k, v):
    return attention(make, q, k, v, 0.08838834764831845)


def attention_causal_bf16(torch, q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.125)


def attention_causal_bf16_reference(make, q, k, v):
    return attention(make, q, k, v, 0.125, lambda i, j: j <= i)


def attention_bias_f16(torch, q, k, v, a):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=a, scale=0.125)


def attention_bias_f16_reference(make, q, k, v, a):
    return attention(make, q, k, v, 0.125, bias=lambda h, i, j: a[h, i, j])


def attention_window_f16(torch, q, k, v):
    i = torch.arange(q.shape[2], device=q.device)
    distance = i[:, None] - i[None, :]
    mask = (distance >= 0) & (distance < 256)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.08838834764831845)


def attention_window_f16_reference(make, q, k, v):
    return attention(make, q, k, v, 0.08838834764831845, lambda i, j: 0 <= i - j < 256)
