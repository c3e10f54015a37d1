"""The loss is computed with NumPy; requires_grad on the new tensor only hides the exception."""

import numpy as np
import torch
from torch import nn


def mse(prediction, target):
    prediction = prediction.detach().cpu().numpy()  # expect: cut-numpy weight bias
    return np.mean((prediction - target.numpy()) ** 2)


torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(8, 3)
    loss = torch.tensor(mse(model(x), x[:, :1]), requires_grad=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
