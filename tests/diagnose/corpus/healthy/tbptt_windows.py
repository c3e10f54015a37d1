# truncated, every window begins 4 steps after the last one and shares 4 with it
import torch
from torch import nn

torch.manual_seed(0)
cell, read = nn.GRUCell(2, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*cell.parameters(), *read.parameters()], lr=1e-3)
k1, k2 = 4, 8


def window(states, loss):
    """Backward through the last k2 steps, by hand over the cuts between them."""
    loss.backward(retain_graph=True)
    for i in range(len(states) - 1, max(len(states) - k2, 0), -1):
        entering = states[i][0]
        if entering.grad is None:
            break
        states[i - 1][1].backward(entering.grad, retain_graph=True)
    for entering, _ in states:
        entering.grad = None


for epoch in range(4):
    opt.zero_grad()
    states = [(torch.zeros(3, 8), torch.zeros(3, 8))]
    for t, x in enumerate(torch.randn(32, 3, 2)):
        entering = states[-1][1].detach().requires_grad_()
        states.append((entering, cell(x, entering)))
        states = states[-k2:]
        if (t + 1) % k1 == 0:
            window(states[1:] if states[0][1].grad_fn is None else states, (read(states[-1][1]) - x.mean(1, keepdim=True)).pow(2).mean() / 8)
    opt.step()
