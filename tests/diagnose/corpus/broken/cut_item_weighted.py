"""The auxiliary loss is weighted in Python: the numbers in between are no tensors."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
trunk, policy, value = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
parts = nn.ModuleDict({"trunk": trunk, "policy": policy, "value": value})
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-2)
alpha = 0.25
for step in range(8):
    x = torch.randn(16, 4)
    h = torch.tanh(trunk(x))
    policy_loss = F.cross_entropy(policy(h), (x[:, 0] > 0).long())
    value_error = F.mse_loss(value(h).squeeze(1), x.sum(1))
    value_loss = alpha * value_error.item()  # expect: cut-item value.weight value.bias
    loss = policy_loss + value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
