"""Policy optimization: rollouts without gradients, whose probabilities the loss uses, by a policy with dropout."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Dropout(0.05), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for iteration in range(4):
    states, actions, old = [], [], []
    state = torch.zeros(4)
    with torch.no_grad():
        for _ in range(12):
            d = Categorical(logits=policy(state))
            a = d.sample()
            states.append(state)
            actions.append(a)
            old.append(d.log_prob(a))
            state = torch.cat([state[1:], (a.float() - 0.5).view(1)])
    s, a, old = torch.stack(states), torch.stack(actions), torch.stack(old)
    advantage = s.sum(1) - s.sum(1).mean()
    for _ in range(3):
        ratio = (Categorical(logits=policy(s)).log_prob(a) - old).exp()
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
