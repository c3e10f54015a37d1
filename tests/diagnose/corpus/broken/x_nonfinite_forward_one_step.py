import torch
from torch import nn

torch.manual_seed(0)


def advantages(returns):
    return (returns - returns.mean()) / returns.std()  # expect: nonfinite-forward


policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(40):
    length = 1 if episode == 25 else int(torch.randint(3, 12, (1,)))
    states = torch.randn(length, 3)
    dist = torch.distributions.Categorical(logits=policy(states))
    actions = dist.sample()
    rewards = (actions.float() - 0.5) * states[:, 0]
    returns = rewards.flip(0).cumsum(0).flip(0)
    loss = -(dist.log_prob(actions) * advantages(returns)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
