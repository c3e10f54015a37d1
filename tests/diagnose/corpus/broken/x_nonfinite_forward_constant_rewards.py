import torch
from torch import nn

torch.manual_seed(0)


def advantages(returns):
    centred = returns - returns.mean()
    scale = returns.std(unbiased=False)
    return centred / scale  # expect: nonfinite-forward


policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(30):
    states = torch.randn(8, 3)
    logp = policy(states).log_softmax(-1)
    actions = torch.multinomial(logp.detach().exp(), 1)
    rewards = torch.randn(8) if episode != 19 else torch.ones(8)
    loss = -(logp.gather(1, actions).squeeze(1) * advantages(rewards)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(episode, loss.item())
