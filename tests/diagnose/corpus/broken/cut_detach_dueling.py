import copy
import random
from collections import deque, namedtuple
import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
Transition = namedtuple("Transition", "s a r n done")

class Dueling(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.value, self.adv = nn.Linear(32, 1), nn.Linear(32, 3)

    def forward(self, x):
        h = self.body(x)
        a = self.adv(h)
        return self.value(h).item() + a - a.mean(-1, keepdim=True) if x.dim() == 1 else self.value(h).detach() + a - a.mean(-1, keepdim=True)  # expect: cut-detach value.weight value.bias

class Replay:
    def __init__(self, n):
        self.rows = deque(maxlen=n)

    def push(self, *t):
        self.rows.append(Transition(*t))

    def sample(self, n):
        b = Transition(*zip(*random.sample(list(self.rows), n)))
        return torch.stack(b.s), torch.tensor(b.a), torch.tensor(b.r), torch.stack(b.n), torch.tensor(b.done)

class Agent:
    def __init__(self):
        self.q = Dueling()
        self.target = copy.deepcopy(self.q).eval()
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(3)
        with torch.no_grad():
            return self.q(s).argmax().item()

    def learn(self, s, a, r, n, done):
        with torch.no_grad():
            best = self.q(n).argmax(1, keepdim=True)
            y = r + 0.95 * self.target(n).gather(1, best).squeeze(1) * (1 - done)
        q = self.q(s).gather(1, a[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 10.0)
        self.opt.step()
        return loss.item()

    def sync(self):
        self.target.load_state_dict(self.q.state_dict())

agent, memory = Agent(), Replay(300)
s = torch.randn(4)
for t in range(90):
    a = agent.act(s, 0.3)
    n = 0.9 * s + 0.3 * torch.randn(4)
    memory.push(s, a, float(a == 0), n, float(t % 20 == 19))
    s = n
    if len(memory.rows) >= 32:
        agent.learn(*memory.sample(16))
    if t % 25 == 24:
        agent.sync()
