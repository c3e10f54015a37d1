"""Gradients are switched off for evaluation and never on again."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def evaluate(x):
    model.eval()
    torch.set_grad_enabled(False)  # expect: no-grad-training
    error = (model(x) - 1).pow(2).mean().item()
    model.train()
    return error


def train(x):
    loss = (model(x) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for epoch in range(3):
    train(torch.randn(8, 4))
    train(torch.randn(8, 4))
    print(evaluate(torch.randn(8, 4)))
