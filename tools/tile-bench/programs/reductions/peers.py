"""The peers of the reductions, and loops that compute the same."""
import math


def rows(make, x, function):
    return make((x.shape[0], 1), lambda i, _: function([x[i, j] for j in range(x.shape[1])]))


def sum_all_f32(torch, x):
    return x.sum()


def sum_all_f32_reference(make, x):
    return make((1, 1), lambda i, j: sum(x.data))


def row_max_f16(torch, x):
    return x.amax(1, keepdim=True)


def row_max_f16_reference(make, x):
    return rows(make, x, max)


def column_mean_f32(torch, x):
    return x.mean(0, keepdim=True)


def column_mean_f32_reference(make, x):
    return make((1, x.shape[1]), lambda _, j: sum(x[i, j] for i in range(x.shape[0])) / x.shape[0])


def row_product_f32(torch, x):
    return x.prod(1, keepdim=True)


def row_product_f32_reference(make, x):
    return rows(make, x, math.prod)


def log_sum_exp_bf16(torch, x):
    return torch.logsumexp(x.float(), 1, keepdim=True)


def log_sum_exp_bf16_reference(make, x):
    return rows(make, x, lambda row: math.log(sum(map(math.exp, row))))


def argmax_rows_f32(torch, x):
    return torch.max(x, 1, keepdim=True)


def argmax_rows_f32_reference(make, x):
    return rows(make, x, max), rows(make, x, lambda row: row.index(max(row)))


def argmin_middle_f32(torch, x):
    return x.argmin(1, keepdim=True)


def argmin_middle_f32_reference(make, x):
    def place(b, n):
        column = [x[b, m, n] for m in range(x.shape[1])]
        return column.index(min(column))
    return make((x.shape[0], 1, x.shape[2]), lambda b, _, n: place(b, n))
