"""Policy gradient with clipped rectified probabilities: log(0) once an action's share has become zero."""
import torch
from torch import nn, optim


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(3, 4)

    def forward(self, s):
        share = torch.relu(self.score(s)) + 0.0
        return share / share.sum(-1, keepdim=True).clamp(min=1e-6)


def entropy(p):
    return -(p * torch.log(p)).sum(-1)  # expect: nonfinite-forward


torch.manual_seed(2)
policy = Policy()
opt = optim.Adam(policy.parameters(), lr=0.01)
for it in range(10):
    s = torch.randn(20, 3)
    p = policy(s)
    reward = (p * s.sum(1, keepdim=True)).sum(1)
    loss = -(reward + 0.01 * entropy(p)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())
