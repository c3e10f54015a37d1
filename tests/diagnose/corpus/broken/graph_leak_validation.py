"""The validation keeps every output with its graph: gradients are not switched off."""

import torch
from torch import nn


def validate(model, batches):
    model.eval()
    outputs, targets = [], []
    for x, y in batches:
        outputs.append(model(x))  # expect: graph-leak
        targets.append(y)
    model.train()
    return nn.functional.mse_loss(torch.cat(outputs), torch.cat(targets)).item()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = [(x, x.sum(1, keepdim=True)) for x in torch.randn(20, 8, 4)]
    for _ in range(2):
        for x, y in batches[:10]:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        print(validate(model, batches[10:]))


main()
