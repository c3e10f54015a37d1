"""A method that was meant for evaluation only is part of the training loss."""

import torch
from torch import nn


class Metric(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.project = nn.Linear(dim, 4, bias=False)
        self.temperature = nn.Parameter(torch.ones(()))

    @torch.no_grad()  # expect: cut-no-grad project.weight
    def embed(self, x):
        return nn.functional.normalize(self.project(x), dim=-1)

    def forward(self, a, b):
        return self.embed(a) @ self.embed(b).T * self.temperature


torch.manual_seed(0)
metric = Metric(6)
optimizer = torch.optim.SGD(metric.parameters(), lr=0.1)
for _ in range(5):
    a = torch.randn(7, 6)
    similarity = metric(a, a + 0.1 * torch.randn(7, 6))
    loss = nn.functional.cross_entropy(similarity, torch.arange(7))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
