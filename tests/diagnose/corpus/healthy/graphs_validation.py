"""A validation without gradients keeps every output; a list of test outputs too."""

import torch
from torch import nn


@torch.no_grad()
def validate(model, batches):
    model.eval()
    outputs = [model(x) for x, _ in batches]
    targets = [y for _, y in batches]
    model.train()
    return nn.functional.mse_loss(torch.cat(outputs), torch.cat(targets)).item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
batches = [(x, x.sum(1, keepdim=True)) for x in torch.randn(20, 8, 4)]
for _ in range(3):
    for x, y in batches[:10]:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    print(validate(model, batches[10:]))
kept = []
with torch.inference_mode():
    model.eval()
    for x, _ in batches:
        kept.append(model(x))
print(torch.cat(kept).mean().item())
