"""Double DQN with a target network, polyak averaging, replay, epsilon-greedy acting."""
import copy
import random
from collections import deque

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.adv, self.val = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, s):
        h = self.f(s)
        a = self.adv(h)
        return self.val(h) + a - a.mean(-1, keepdim=True)


random.seed(0)
torch.manual_seed(0)
online = Net()
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(online.parameters(), lr=1e-3)
memory = deque(maxlen=500)
s = torch.randn(4)
for t in range(90):
    if random.random() < 0.2:
        a = random.randrange(3)
    else:
        with torch.no_grad():
            a = online(s).argmax().item()
    s2 = torch.randn(4)
    memory.append((s, a, s[a].item(), s2))
    s = s2
    if len(memory) < 32:
        continue
    S, A, R, S2 = zip(*random.sample(memory, 32))
    S, A, R, S2 = torch.stack(S), torch.tensor(A), torch.tensor(R), torch.stack(S2)
    best = online(S2).argmax(1, keepdim=True)
    goal = R + 0.9 * target(S2).gather(1, best).squeeze(1)
    loss = nn.functional.smooth_l1_loss(online(S).gather(1, A[:, None]).squeeze(1), goal.detach())
    opt.zero_grad()
    loss.backward()
    for p in online.parameters():
        p.grad.clamp_(-1, 1)
    opt.step()
    with torch.no_grad():
        for pt, p in zip(target.parameters(), online.parameters()):
            pt.lerp_(p, 0.05)
print(loss.item())
