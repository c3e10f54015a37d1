"""Updates by hand in several styles, each of which clears its gradients."""

import torch

torch.manual_seed(0)
x = torch.randn(40, 3)
y = x.sum(1)


def fit(update, clear):
    w = torch.randn(3, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    for _ in range(6):
        loss = (x @ w + b - y).pow(2).mean()
        loss.backward()
        for p in (w, b):
            update(p)
            clear(p)
    return loss.item()


def in_place(p):
    with torch.no_grad():
        p -= 0.1 * p.grad


def through_data(p):
    p.data.sub_(0.1 * p.grad.data)


def assigned(p):
    p.data = p.data - 0.1 * p.grad


velocity = {}


def momentum(p):
    v = velocity[id(p)] = 0.9 * velocity.get(id(p), 0) + p.grad
    with torch.no_grad():
        p.add_(v, alpha=-0.02)


def to_none(p):
    p.grad = None


def zero(p):
    p.grad.zero_()


def zero_data(p):
    p.grad.data.zero_()


for update in (in_place, through_data, assigned, momentum):
    for clear in (to_none, zero, zero_data):
        velocity.clear()
        print(update.__name__, clear.__name__, fit(update, clear))
