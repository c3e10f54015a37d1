"""REINFORCE on a bandit with contexts: the losses of an episode are collected in a list and made one tensor."""
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 32)
        self.affine2 = nn.Linear(32, 3)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return torch.softmax(self.affine2(torch.relu(self.affine1(x))), dim=-1)


policy = None
rng = np.random.default_rng(0)


def select_action(state):
    probs = policy(torch.from_numpy(state).float())
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(optimizer, gamma=0.9):
    R, returns = 0, []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    policy_loss = []
    for log_prob, ret in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * ret)
    optimizer.zero_grad()
    policy_loss = torch.tensor(policy_loss, requires_grad=True).sum()  # expect: cut-new-tensor affine1.weight affine1.bias affine2.weight affine2.bias
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]


def main():
    global policy
    torch.manual_seed(0)
    policy = Policy()
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    for episode in range(8):
        total = 0
        for t in range(10):
            state = rng.normal(size=4)
            action = select_action(state)
            reward = float(action == state[:3].argmax())
            policy.rewards.append(reward)
            total += reward
        finish_episode(optimizer)
        print(f"Episode {episode}\treward {total}")


main()
