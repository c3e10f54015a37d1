"""PPO: zero_grad stands before the loop over the epochs, step inside."""
import torch
from torch import nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi, self.v = nn.Linear(4, 2), nn.Linear(4, 1)

    def evaluate(self, s, a):
        d = Categorical(logits=self.pi(s))
        return d.log_prob(a), self.v(s).squeeze(-1)


def update(net, opt, s, a, logp_old, ret, epochs=4):
    opt.zero_grad()
    for _ in range(epochs):
        logp, v = net.evaluate(s, a)
        ratio = (logp - logp_old).exp()
        adv = (ret - v).detach()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + 0.5 * (ret - v).pow(2).mean()
        loss.backward()
        opt.step()  # expect: stale-gradient
    return loss.item()


torch.manual_seed(0)
net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(6):
    s = torch.randn(48, 4)
    with torch.no_grad():
        dist = Categorical(logits=net.pi(s))
        a = dist.sample()
        logp = dist.log_prob(a)
    print(it, update(net, opt, s, a, logp, (a == (s[:, 0] > 0).long()).float()))
