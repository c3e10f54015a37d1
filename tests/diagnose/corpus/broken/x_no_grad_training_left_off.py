"""Gradients are switched off for a first evaluation and never on again."""
import torch
import torch.nn as nn


def evaluate(model, x, y):
    torch.set_grad_enabled(False)  # expect: no-grad-training
    model.eval()
    accuracy = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return accuracy


torch.manual_seed(0)
x = torch.randn(60, 4)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters())
print("before:", evaluate(model, x, y))
for epoch in range(5):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
