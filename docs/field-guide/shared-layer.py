import torch
from torch import nn

torch.manual_seed(0)
blocks = [nn.Linear(8, 8)] * 4
model = nn.Sequential(*blocks)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(16, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("parameters:", sum(p.numel() for p in model.parameters()), "of", 4 * (8 * 8 + 8))
