"""The moving average of the loss is made of the losses themselves."""

import torch


def averaging(decay):
    average = None

    def update(value):
        nonlocal average
        if average is None:
            average = value
        else:
            average = decay * average + (1 - decay) * value  # expect: graph-leak
        return average

    return update


torch.manual_seed(0)
w = torch.randn(5, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
smooth = averaging(0.9)
for step in range(10):
    optimizer.zero_grad()
    loss = (torch.randn(20, 5) @ w - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
    shown = smooth(loss)
    if step % 5 == 0:
        print(step, shown.item())
