import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(16, 3)
start = model.state_dict()
for step in range(4):
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    print(f"loss {loss.item():.3f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.load_state_dict(start)
print(f"back to the start: {(model(x) - x.sum(1, keepdim=True)).pow(2).mean().item():.3f}")
