import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
history = []
for step in range(8):
    loss = (model(torch.ones(2, 4)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss)
print(f"mean loss {sum(history).item() / len(history):.3f}")
