import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x[:, :1].sign()
model = nn.Linear(3, 1)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
for step in range(4):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.2f}")
