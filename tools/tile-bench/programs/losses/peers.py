"""The peers of the losses, and loops that compute the same."""
import math


def places(array):
    return [(i, j) for i in range(array.shape[0]) for j in range(array.shape[1])]


def one(make, value):
    return make((1, 1), lambda i, j: value)


def mse_loss_f32(torch, x, t):
    return torch.nn.functional.mse_loss(x, t)


def mse_loss_f32_reference(make, x, t):
    return one(make, sum((x[at] - t[at]) ** 2 for at in places(x)) / len(places(x)))


def cross_entropy_f32(torch, x, t):
    return torch.nn.functional.cross_entropy(x, t.view(-1).long())


def cross_entropy_f32_reference(make, x, t):
    m, n = x.shape
    rows = [math.log(sum(math.exp(x[i, j]) for j in range(n))) - x[i, t[i, 0]] for i in range(m)]
    return one(make, sum(rows) / m)


def kl_div_f32(torch, x, t):
    return torch.nn.functional.kl_div(x, t, reduction="batchmean")


def kl_div_f32_reference(make, x, t):
    return one(make, sum(t[at] * (math.log(t[at]) - x[at]) for at in places(x)) / x.shape[0])


def huber_loss_f16(torch, x, t):
    return torch.nn.functional.huber_loss(x.float(), t.float(), delta=0.5)


def huber_loss_f16_reference(make, x, t):
    def loss(d):
        return 0.5 * d * d if d < 0.5 else 0.5 * (d - 0.25)
    return one(make, sum(loss(abs(x[at] - t[at])) for at in places(x)) / len(places(x)))


def hinge_loss_f32(torch, x, t):
    return (1 - x * torch.where(t, 1.0, -1.0)).clamp(min=0).mean()


def hinge_loss_f32_reference(make, x, t):
    return one(make, sum(max(0.0, 1 - (x[i, j] if t[i, 0] else -x[i, j])) for i, j in places(x)) / len(places(x)))


def triplet_loss_f32(torch, a, p, q):
    return torch.nn.functional.triplet_margin_loss(a, p, q)


def triplet_loss_f32_reference(make, a, p, q):
    m, n = a.shape

    def distance(i, other):
        return math.sqrt(sum((a[i, j] - other[i, j] + 1e-6) ** 2 for j in range(n)))
    return one(make, sum(max(0.0, distance(i, p) - distance(i, q) + 1) for i in range(m)) / m)
