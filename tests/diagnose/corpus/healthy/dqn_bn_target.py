import copy
import random
from collections import deque

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
q = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
memory = deque(maxlen=100)
for t in range(90):
    q.eval()
    with torch.no_grad():
        s = torch.randn(1, 4)
        a = q(s).argmax(1).item() if random.random() > 0.3 else random.randrange(2)
    q.train()
    memory.append((s, a, float(a == 0), torch.randn(1, 4)))
    if len(memory) < 32:
        continue
    rows = random.sample(list(memory), 16)
    s, n = torch.cat([r[0] for r in rows]), torch.cat([r[3] for r in rows])
    with torch.no_grad():
        best = target(n).max(1).values
        y = torch.tensor([r[2] for r in rows]) + 0.9 * best
    loss = nn.functional.smooth_l1_loss(q(s).gather(1, torch.tensor([[r[1]] for r in rows])).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if t % 20 == 0:
        target.load_state_dict(q.state_dict())
