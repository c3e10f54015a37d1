"""Every layer lies in a dict: the optimizer finds nothing, and says so."""

import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = {  # expect: not-in-optimizer heads.a.weight heads.a.bias heads.b.weight heads.b.bias
            "a": nn.Linear(4, 1),
            "b": nn.Linear(4, 3),
        }

    def forward(self, x):
        return {name: head(x) for name, head in self.heads.items()}


model = MultiTask()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
out = model(torch.randn(5, 4))
loss = sum(v.pow(2).mean() for v in out.values())
loss.backward()
optimizer.step()
