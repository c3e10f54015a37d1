"""Features computed in inference mode go into a head that is trained: they cannot be saved for backward."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(5, 9), nn.GELU())
head = nn.Linear(9, 2)
optimizer = torch.optim.AdamW([*body.parameters(), *head.parameters()], lr=1e-3)


def features(x):
    with torch.inference_mode():  # expect: cut-no-grad 0.weight 0.bias
        return body(x)


for _ in range(3):
    loss = nn.functional.cross_entropy(head(features(torch.randn(4, 5))), torch.randint(2, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
