"""The result of tanh is changed through the NumPy array that shares its memory."""

import numpy as np
import torch

rng = np.random.default_rng(0)
w = torch.tensor(rng.normal(size=(3, 5)), requires_grad=True)
optimizer = torch.optim.Adam([w], lr=0.1)
for _ in range(5):
    x = torch.from_numpy(rng.normal(size=(7, 3)))
    h = torch.tanh(x @ w)
    values = h.detach().numpy()
    values[values < 0] = 0.0  # expect: data-written
    loss = (h.sum(1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
