"""REINFORCE, as in the examples, with a small environment."""

from collections import deque
import math
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical


class Env:
    def reset(self):
        self.s, self.t = [random.uniform(-0.05, 0.05) for _ in range(4)], 0
        return list(self.s)

    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a else -10.0
        tmp = (f + 0.05 * w * w * math.sin(th)) / 1.1
        tha = (9.8 * math.sin(th) - math.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * math.cos(th) ** 2 / 1.1))
        xa = tmp - 0.05 * tha * math.cos(th) / 1.1
        self.s = [x + 0.02 * v, v + 0.02 * xa, th + 0.02 * w, w + 0.02 * tha]
        self.t += 1
        return list(self.s), 1.0, abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095 or self.t >= 100


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 128)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(128, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


random.seed(0)
torch.manual_seed(0)
policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
eps = 1.1920929e-07


def select_action(state):
    state = torch.tensor(state).float().unsqueeze(0)
    probs = policy(state)
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    policy_loss = []
    returns = deque()
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]


env = Env()
running_reward = 10
for i_episode in range(25):
    state, ep_reward = env.reset(), 0
    for t in range(1, 100):
        action = select_action(state)
        state, reward, done = env.step(action)
        policy.rewards.append(reward)
        ep_reward += reward
        if done:
            break
    running_reward = 0.05 * ep_reward + 0.95 * running_reward
    finish_episode()
    print(i_episode, ep_reward, running_reward)
