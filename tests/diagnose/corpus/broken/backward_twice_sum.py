"""The loss is summed up over the steps, and each step walks the whole sum."""

import torch
from torch import nn


class Agent:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)
        self.loss = 0.0

    def act(self, state):
        choice = torch.distributions.Categorical(logits=self.policy(state))
        action = choice.sample()
        reward = float(action.item() == int(state.sum() > 0))
        self.loss = self.loss - choice.log_prob(action) * reward  # or: backward-twice
        return action

    def learn(self):
        self.optimizer.zero_grad()
        self.loss.backward()  # expect: backward-twice
        self.optimizer.step()


torch.manual_seed(0)
agent = Agent()
for _ in range(4):
    for _ in range(5):
        agent.act(torch.randn(4))
    agent.learn()
