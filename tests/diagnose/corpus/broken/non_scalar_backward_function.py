"""torch.autograd.backward of a policy's losses, one for each time step."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
states, returns = torch.randn(10, 3), torch.linspace(1, 0, 10)
actions = Categorical(logits=policy(states)).sample()
losses = -Categorical(logits=policy(states)).log_prob(actions) * returns  # or: non-scalar-backward
optimizer.zero_grad()
torch.autograd.backward(losses)  # expect: non-scalar-backward
optimizer.step()
