"""Actor-critic, as in the examples."""

from collections import namedtuple
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class Env:
    def reset(self):
        self.x, self.t = random.uniform(-1, 1), 0
        return [self.x, 0.0]

    def step(self, a):
        self.x += 0.1 if a else -0.1
        self.t += 1
        return [self.x, self.t / 30], -abs(self.x), self.t >= 30


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(2, 32)
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)
        self.saved_actions, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


random.seed(1)
torch.manual_seed(1)
model = Policy()
optimizer = optim.Adam(model.parameters(), lr=3e-2)


def select_action(state):
    probs, state_value = model(torch.tensor(state))
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item()


def finish_episode():
    R, policy_losses, value_losses, returns = 0, [], [], []
    for r in model.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-7)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]


env = Env()
for i in range(30):
    state, total = env.reset(), 0
    for t in range(1, 31):
        state, reward, done = env.step(select_action(state))
        model.rewards.append(reward)
        total += reward
        if done:
            break
    finish_episode()
    print(i, total)
