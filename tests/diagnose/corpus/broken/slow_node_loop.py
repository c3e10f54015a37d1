"""A recurrence over single numbers: thousands of tiny operations where one would do."""

import torch

torch.manual_seed(0)
rate = torch.full((), 0.5, requires_grad=True)
signal = torch.randn(6000)
optimizer = torch.optim.SGD([rate], lr=1e-4)


def smoothed(rate, signal):
    state = torch.zeros(())
    for value in signal.tolist():
        state = torch.lerp(state, torch.as_tensor(value), rate)  # expect: slow-node
    return state


for _ in range(3):
    optimizer.zero_grad()
    loss = (smoothed(rate, signal) - 0.1) ** 2
    loss.backward()
    optimizer.step()
