"""Advantage actor-critic on a corridor: reach the right end. The log-probability is detached along with the value."""
import random

import torch
from torch import nn, optim
from torch.distributions import Categorical


class Corridor:
    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.at = random.randrange(self.length - 1)
        return self.observe()

    def observe(self):
        state = torch.zeros(self.length)
        state[self.at] = 1.0
        return state

    def step(self, action):
        self.at = max(0, self.at + (1 if action == 1 else -1))
        done = self.at == self.length - 1
        return self.observe(), (1.0 if done else -0.05), done


class Agent:
    def __init__(self, n):
        self.actor = nn.Sequential(nn.Linear(n, 16), nn.Tanh(), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(n, 16), nn.Tanh(), nn.Linear(16, 1))
        self.opt = optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=5e-3)

    def update(self, states, actions, returns):
        states, actions, returns = torch.stack(states), torch.tensor(actions), torch.tensor(returns)
        values = self.critic(states).squeeze(-1)
        advantage = returns - values
        logp = Categorical(logits=self.actor(states)).log_prob(actions)
        policy_loss = -(logp.detach() * advantage.detach()).mean()  # expect: cut-detach
        loss = policy_loss + 0.5 * advantage.pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


random.seed(0)
torch.manual_seed(0)
env, agent = Corridor(), Agent(6)
for episode in range(15):
    state, done = env.reset(), False
    states, actions, rewards = [], [], []
    while not done and len(states) < 20:
        with torch.no_grad():
            action = Categorical(logits=agent.actor(state)).sample().item()
        states.append(state)
        actions.append(action)
        state, reward, done = env.step(action)
        rewards.append(reward)
    returns, running = [], 0.0
    for r in reversed(rewards):
        running = r + 0.97 * running
        returns.insert(0, running)
    print(episode, agent.update(states, actions, returns))
