"""A program of several files: the cut is in a helper."""

import torch
from losses import contrastive
from nets import Encoder, Projector

torch.manual_seed(0)
encoder, projector = Encoder(), Projector()
optimizers = [torch.optim.Adam(m.parameters(), lr=1e-3) for m in (encoder, projector)]
for _ in range(5):
    x = torch.randn(6, 4)
    loss = contrastive(projector, encoder(x), encoder(x + 0.1 * torch.randn_like(x)))
    for o in optimizers:
        o.zero_grad()
    loss.backward()
    for o in optimizers:
        o.step()
