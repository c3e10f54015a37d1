import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
labels = torch.tensor([0, 1])
for step in range(3):
    logits = model(torch.tensor([[1.0, 2.0, 3.0, 4.0], [1e4, 0.0, 0.0, 0.0]]))
    exponentials = logits.exp()
    probabilities = exponentials / exponentials.sum(1, keepdim=True)
    loss = -probabilities.log()[range(2), labels].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
