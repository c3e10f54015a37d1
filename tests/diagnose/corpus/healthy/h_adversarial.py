"""Adversarial training (FGSM and PGD), mixup, saliency, distillation."""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)


def fgsm(x, y, eps):
    delta = torch.zeros_like(x, requires_grad=True)
    F.cross_entropy(model(x + delta), y).backward()
    return eps * delta.grad.detach().sign()


def pgd(x, y, eps, alpha, n):
    x_adv = x.detach() + torch.zeros_like(x).uniform_(-eps, eps)
    for _ in range(n):
        x_adv.requires_grad_()
        with torch.enable_grad():
            loss = F.cross_entropy(model(x_adv), y)
        g = torch.autograd.grad(loss, [x_adv])[0]
        x_adv = x_adv.detach() + alpha * torch.sign(g.detach())
        x_adv = torch.min(torch.max(x_adv, x - eps), x + eps)
    return x_adv


for step in range(20):
    x = torch.randn(32, 10)
    y = (x[:, 0] > 0).long()
    delta = fgsm(x, y, 0.1)
    adv = pgd(x, y, 0.1, 0.03, 3)
    lam = float(torch.distributions.Beta(1.0, 1.0).sample())
    perm = torch.randperm(32)
    mixed = lam * x + (1 - lam) * x[perm]
    out = model(mixed)
    loss = lam * F.cross_entropy(out, y) + (1 - lam) * F.cross_entropy(out, y[perm])
    loss = loss + F.cross_entropy(model(x + delta), y) + F.cross_entropy(model(adv), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
x = torch.randn(4, 10, requires_grad=True)
model.eval()
model(x).max(1)[0].sum().backward()
print(x.grad.abs().mean().item())
student = nn.Linear(10, 2)
opt = torch.optim.Adam(student.parameters(), 0.01)
for _ in range(10):
    x = torch.randn(32, 10)
    with torch.no_grad():
        soft = F.softmax(model(x) / 2, dim=1)
    loss = F.kl_div(F.log_softmax(student(x) / 2, dim=1), soft, reduction="batchmean") * 4
    opt.zero_grad()
    loss.backward()
    opt.step()
