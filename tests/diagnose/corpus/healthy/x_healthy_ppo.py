"""PPO: old log-probabilities without gradients, several epochs over minibatches, entropy bonus, value clipping."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Categorical


@dataclass
class Config:
    clip: float = 0.2
    epochs: int = 3
    minibatch: int = 32
    updates: int = 5


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))

    def act(self, s, a=None):
        dist = Categorical(logits=self.actor(s))
        a = dist.sample() if a is None else a
        return a, dist.log_prob(a), dist.entropy(), self.critic(s).squeeze(-1)


torch.manual_seed(0)
cfg, agent = Config(), Agent()
opt = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
for update in range(cfg.updates):
    obs, actions, logps, rewards, values = [], [], [], [], []
    for t in range(64):
        s = torch.randn(4)
        with torch.no_grad():
            a, logp, _, v = agent.act(s)
        obs.append(s)
        actions.append(a)
        logps.append(logp)
        values.append(v)
        rewards.append(float(s[:3].argmax() == a))
    obs, actions, logps, values = map(torch.stack, (obs, actions, logps, values))
    returns = torch.tensor(rewards)
    adv = returns - values
    for epoch in range(cfg.epochs):
        for idx in torch.randperm(64).split(cfg.minibatch):
            _, newlogp, entropy, v = agent.act(obs[idx], actions[idx])
            ratio = (newlogp - logps[idx]).exp()
            a = (adv[idx] - adv[idx].mean()) / (adv[idx].std() + 1e-8)
            pg = torch.max(-a * ratio, -a * ratio.clamp(1 - cfg.clip, 1 + cfg.clip)).mean()
            loss = pg + 0.5 * (v - returns[idx]).pow(2).mean() - 0.01 * entropy.mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            opt.step()
    print(update, returns.mean().item(), loss.item())
