import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(4):
    x = 10 * torch.randn(16, 3)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    before = model.weight.detach().clone()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    print(f"the weights move by {(model.weight - before).norm().item():.3f}; clipped, it would be at most 0.001")
