"""Two models of one class: the optimizer was given the one that is not trained."""

import torch
from torch import nn


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, s):
        return self.layers(s)


torch.manual_seed(0)
online, target = QNet(), QNet()
target.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(target.parameters(), lr=1e-3)  # expect: optimizer-holds-other
for _ in range(10):
    s, s2, r = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    a = torch.randint(0, 2, (8, 1))
    with torch.no_grad():
        goal = r + 0.9 * target(s2).max(1).values
    loss = nn.functional.smooth_l1_loss(online(s).gather(1, a).squeeze(1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    online.zero_grad()
