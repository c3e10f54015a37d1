"""REINFORCE: the log-probabilities are joined by torch.tensor, and backward() finds nothing to do."""

import torch
from torch import nn
from torch.distributions import Categorical


class Reinforce:
    def __init__(self, policy):
        self.policy = policy
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
        self.log_probs, self.rewards = [], []

    def act(self, state):
        dist = Categorical(logits=self.policy(state))
        action = dist.sample()
        self.log_probs.append(dist.log_prob(action))
        return action.item()

    def learn(self):
        returns = torch.tensor(self.rewards).flip(0).cumsum(0).flip(0)
        log_probs = torch.tensor(self.log_probs)  # expect: cut-new-tensor 0.weight 0.bias 2.weight 2.bias
        loss = -(log_probs * (returns - returns.mean())).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.log_probs, self.rewards = [], []


torch.manual_seed(0)
agent = Reinforce(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)))
for episode in range(3):
    for t in range(6):
        state = torch.randn(3)
        agent.rewards.append(float(agent.act(state) == int(state[0] > 0)))
    agent.learn()
