"""Q-learning with a target network that is synchronised now and then."""

import copy

import torch
from torch import nn

torch.manual_seed(0)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.target = copy.deepcopy(self.online)

    def loss(self, s, a, r, s2):
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        best = self.target(s2).max(1).values.detach()
        return nn.functional.smooth_l1_loss(q, r + 0.9 * best)


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
for step in range(12):
    s, s2 = torch.randn(8, 4), torch.randn(8, 4)
    loss = agent.loss(s, torch.randint(2, (8,)), torch.randn(8), s2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        agent.target.load_state_dict(agent.online.state_dict())
