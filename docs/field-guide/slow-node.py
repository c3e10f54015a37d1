import torch
from torch import nn

torch.manual_seed(0)
scale = nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([scale], lr=1e-6)
for step in range(3):
    x = scale * torch.randn(3000)
    total, sums = torch.zeros(()), []
    for value in x:
        total = total + value
        sums.append(total)
    loss = torch.stack(sums).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
