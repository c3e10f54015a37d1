import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for step in range(3):
    hidden = body(torch.ones(2, 4))
    squashed = torch.from_numpy(np.tanh(hidden.detach().numpy()))
    loss = (head(squashed) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
