"""Adversarial training with PGD: several backward passes for the inputs, in evaluation mode, between the steps."""
import torch
from torch import nn


def pgd(model, x, y, eps=0.3, alpha=0.1, steps=3):
    was_training = model.training
    model.eval()
    adv = x + torch.empty_like(x).uniform_(-eps, eps)
    for _ in range(steps):
        adv.requires_grad_()
        with torch.enable_grad():
            loss = nn.functional.cross_entropy(model(adv), y)
        (grad,) = torch.autograd.grad(loss, [adv])
        adv = adv.detach() + alpha * torch.sign(grad.detach())
        adv = torch.min(torch.max(adv, x - eps), x + eps)
    model.train(was_training)
    return adv


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(12):
    model.train()
    x = torch.randn(64, 5)
    y = (x[:, 0] + x[:, 1] > 0).long()
    loss = nn.functional.cross_entropy(model(pgd(model, x, y)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(epoch, loss.item())
