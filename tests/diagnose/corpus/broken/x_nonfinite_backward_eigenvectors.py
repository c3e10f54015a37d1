import torch
from torch import nn


class SpectralPool(nn.Module):
    """Pools a set of vectors by the leading eigenvector of its covariance."""

    def __init__(self, d):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        y = x * self.log_scale.exp()
        cov = y.transpose(1, 2) @ y / x.shape[1]
        values, vectors = torch.linalg.eigh(cov)  # expect: nonfinite-backward
        return vectors[..., -1] * values[..., -1:]


torch.manual_seed(0)
pool, head = SpectralPool(4), nn.Linear(4, 1)
opt = torch.optim.SGD([*pool.parameters(), *head.parameters()], lr=0.01)
for step in range(4):
    x = torch.randn(6, 8, 4)
    x[1] = 2 * torch.eye(4).repeat(2, 1)
    loss = head(pool(x)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
