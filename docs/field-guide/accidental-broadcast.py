import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x.sum(1)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    predicted = model(x)
    loss = ((predicted - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.2f}, variance of y {y.var(correction=0).item():.2f}")
print("weights are ones when learned, here:", [round(w, 2) + 0.0 for w in model.weight.tolist()[0]])
