"""An agent remembers the values that its network gave when it acted, with their graphs."""

import torch
from torch import nn


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.memory = []

    def act(self, state):
        values = self.q(state)
        return values.argmax().item(), values

    def remember(self, *transition):
        self.memory.append(transition)  # expect: graph-leak

    def learn(self):
        states, actions, _, rewards = zip(*self.memory[-4:])
        chosen = self.q(torch.stack(states)).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(chosen, torch.tensor(rewards))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


torch.manual_seed(0)
agent = Agent()
for _ in range(15):
    state = torch.randn(4)
    action, values = agent.act(state)
    agent.remember(state, action, values, float(action == int(state[0] > 0)))
    agent.learn()
