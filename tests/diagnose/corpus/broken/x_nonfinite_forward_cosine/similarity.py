def unit(v):
    return v / v.norm(dim=-1, keepdim=True)  # expect: nonfinite-forward


def cosine(a, b):
    return (unit(a) * unit(b)).sum(-1)
