"""DQN: the Q-values of the acting network are stored in the replay memory together with their graphs."""
import random
from collections import deque

import torch
import torch.nn as nn


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, s):
        return self.layers(s)


class Agent:
    def __init__(self):
        self.online, self.target = DQN(), DQN()
        self.target.load_state_dict(self.online.state_dict())
        self.memory = deque(maxlen=1000)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=1e-3)

    def act(self, state, eps):
        q = self.online(state)
        action = random.randrange(2) if random.random() < eps else int(q.argmax())
        return action, q[action]

    def remember(self, state, action, value, reward, nxt):
        self.memory.append((state, action, value, reward, nxt))  # expect: graph-leak

    def learn(self, n=16, gamma=0.9):
        if len(self.memory) < n:
            return
        s, a, _, r, s2 = zip(*random.sample(self.memory, n))
        q = self.online(torch.stack(s)).gather(1, torch.tensor(a).unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            goal = torch.tensor(r) + gamma * self.target(torch.stack(s2)).max(1).values
        loss = nn.functional.smooth_l1_loss(q, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


random.seed(0)
torch.manual_seed(0)
agent = Agent()
state = torch.randn(4)
for t in range(80):
    action, value = agent.act(state, 0.2)
    reward = float(state[action])
    nxt = torch.randn(4)
    agent.remember(state, action, value, reward, nxt)
    agent.learn()
    state = nxt
print(len(agent.memory))
