import torch
from torch import nn

torch.manual_seed(0)

def build(hidden=12, lr=1e-2):
    cell, head = nn.LSTMCell(3, hidden), nn.Linear(hidden, 2)
    params = list(cell.parameters()) + list(head.parameters())
    opt = torch.optim.RMSprop(params, lr=lr)
    state = None

    def run(xs):
        nonlocal state
        h, c = state if state is not None else (torch.zeros(4, hidden), torch.zeros(4, hidden))
        outs = []
        for x in xs:
            h, c = cell(x, (h, c))
            outs.append(torch.tensor(head(h).tolist(), requires_grad=True))  # expect: cut-item
        state = h.detach(), c.detach()
        return torch.stack(outs)

    def train(xs, ys):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(run(xs).flatten(0, 1), ys.flatten())
        loss.backward()
        opt.step()
        return loss.item()

    return train

train = build()
for step in range(15):
    xs = torch.randn(6, 4, 3)
    train(xs, (xs[..., 0] > 0).long())
