import torch
from torch import nn

torch.manual_seed(0)
embed, head = nn.Embedding(10, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*embed.parameters(), *head.parameters()], lr=0.1)
for step in range(3):
    with torch.no_grad():
        vectors = embed(torch.tensor([1, 2, 3]))
    loss = (head(vectors) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
