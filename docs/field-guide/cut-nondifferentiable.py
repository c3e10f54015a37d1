import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
offset = nn.Parameter(torch.zeros(1))
optimizer = torch.optim.SGD([*model.parameters(), offset], lr=0.1)
labels = torch.tensor([0, 1, 2])
for step in range(3):
    predicted = model(torch.randn(3, 4)).argmax(1)
    loss = (predicted - labels + offset).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
