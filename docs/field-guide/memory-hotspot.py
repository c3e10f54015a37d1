import torch
from torch import nn

torch.manual_seed(0)
project = nn.Linear(32, 32)
optimizer = torch.optim.SGD(project.parameters(), lr=0.1)
for step in range(2):
    x = project(torch.randn(1, 512, 32))
    weights = (x @ x.transpose(1, 2)).softmax(2)
    loss = (weights @ x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
