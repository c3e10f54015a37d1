"""Optimizers as functions, differentiable ones for learning to learn, and gradients through solutions."""

import torch
import torchopt
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 3)
y = (x @ torch.tensor([[1.0], [-2.0], [0.5]])).tanh()

weights = {"w": torch.zeros(3, 1, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}


def loss_of(weights, x=x, y=y):
    return ((x @ weights["w"] + weights["b"]).tanh() - y).square().mean()


schedule = torchopt.schedule.linear_schedule(0.1, 0.01, 20, 5)
chain = torchopt.chain(torchopt.clip.clip_grad_norm(1.0), torchopt.adam(lr=schedule))
state = chain.init(weights)
for _ in range(20):
    gradients = torch.autograd.grad(loss_of(weights), list(weights.values()))
    updates, state = chain.update(dict(zip(weights, gradients, strict=True)), state, inplace=False)
    weights = torchopt.apply_updates(weights, updates, inplace=False)
    weights = {name: value.detach().requires_grad_() for name, value in weights.items()}
print(loss_of(weights).item(), weights["w"].flatten().tolist())

for make in (torchopt.SGD, torchopt.RMSProp, torchopt.AdamW, torchopt.Adam):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = make(net.parameters(), lr=0.02)
    for _ in range(15):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
    print(make.__name__, loss.item())

torch.manual_seed(2)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
outer = torch.optim.Adam(net.parameters(), lr=0.01)
inner = torchopt.MetaSGD(net, lr=0.1)
for _ in range(6):
    outer.zero_grad()
    before, inside = torchopt.extract_state_dict(net, by="reference"), torchopt.extract_state_dict(inner)
    total = torch.zeros(())
    for task in range(3):
        target = y * (task - 1)
        for _ in range(2):
            inner.step(nn.functional.mse_loss(net(x[:20]), target[:20]))
        total = total + nn.functional.mse_loss(net(x[20:]), target[20:])
        torchopt.recover_state_dict(net, before)
        torchopt.recover_state_dict(inner, inside)
    total.backward()
    outer.step()
    print(total.item())


def stationary(solution, penalty, x, y):
    return x.T @ (x @ solution - y) / len(x) + penalty * solution


@torchopt.diff.implicit.custom_root(stationary, argnums=1, solve=torchopt.linear_solve.solve_normal_cg())
def ridge(start, penalty, x, y):
    with torch.no_grad():
        return torch.linalg.solve(x.T @ x / len(x) + penalty * torch.eye(3), x.T @ y / len(x))


penalty = torch.tensor(0.1, requires_grad=True)
solution = ridge(torch.zeros(3, 1, requires_grad=True), penalty, x[:20], y[:20])
loss = (x[20:] @ solution - y[20:]).square().mean()
print(loss.item(), torch.autograd.grad(loss, penalty)[0].item())
