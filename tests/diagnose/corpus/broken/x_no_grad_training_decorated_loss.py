"""DQN: the loss function has the decorator that was meant for select_action()."""
import random

import torch
from torch import nn


class DQNAgent:
    def __init__(self, obs=4, actions=3):
        self.q = nn.Sequential(nn.Linear(obs, 24), nn.ReLU(), nn.Linear(24, actions))
        self.target = nn.Sequential(nn.Linear(obs, 24), nn.ReLU(), nn.Linear(24, actions))
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.memory = []

    def act(self, s):
        with torch.no_grad():
            return int(self.q(s).argmax())

    @torch.no_grad()  # expect: no-grad-training
    def loss(self, batch):  # or: no-grad-training
        s, a, r, s2 = (torch.stack(c) for c in zip(*batch))
        best = self.target(s2).max(1).values
        picked = self.q(s).gather(1, a[:, None]).squeeze(1)
        return nn.functional.smooth_l1_loss(picked, r + 0.9 * best)

    def learn(self, n=16):
        loss = self.loss(random.sample(self.memory, n))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


random.seed(0)
torch.manual_seed(0)
agent = DQNAgent()
s = torch.randn(4)
for t in range(30):
    a = agent.act(s)
    s2 = torch.randn(4)
    agent.memory.append((s, torch.tensor(a), s[a], s2))
    s = s2
    if t >= 20:
        print(agent.learn())
