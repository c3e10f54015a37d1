import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x.argmax(1)
model = nn.Sequential(nn.Linear(3, 3), nn.Softmax(dim=1))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
for step in range(200):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
best = -torch.log_softmax(torch.tensor([1.0, 0.0, 0.0]), 0)[0]
print(f"loss {loss.item():.2f}; no softmax gives less than {best.item():.2f}")
