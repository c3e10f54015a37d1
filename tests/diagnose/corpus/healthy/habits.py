"""What looks like a mistake and is none: copied states, clipping by hand, shared activations, zeros at the end of a
branch, a step that comes late, dropout that is meant.
"""

import copy
import io

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        act = nn.Tanh()
        self.trunk = nn.Sequential(nn.Linear(5, 8), act, nn.Linear(8, 8), act)
        self.branch = nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)
        nn.init.zeros_(self.branch.weight)
        nn.init.zeros_(self.branch.bias)
        nn.init.zeros_(self.head.weight)

    def forward(self, x):
        h = F.dropout(self.trunk(x), 0.1, training=self.training)
        return self.head(h + self.branch(h))


torch.manual_seed(0)
net, average = Net(), Net()
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
parameters = list(net.parameters())
best = copy.deepcopy(net.state_dict())
for step in range(24):
    x = torch.randn(16, 5)
    loss = F.cross_entropy(net(x), x[:, :3].argmax(1)) / 2
    loss.backward()
    if step % 2:
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        average.load_state_dict(net.state_dict())
        torch.save({"model": net.state_dict()}, io.BytesIO())
net.load_state_dict(best)
net.eval()
with torch.no_grad():
    noisy = torch.stack([F.dropout(net(x), 0.1, training=True) for _ in range(4)]).std(0)
