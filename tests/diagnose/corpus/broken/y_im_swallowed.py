"""In-place error swallowed by the training loop's 'skip bad batch' handler."""
import logging
import torch
from torch import nn

log = logging.getLogger("train")


class Head(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        h = torch.sigmoid(self.fc(x))
        g = self.out(h * h)
        h.clamp_(0.1, 0.9)  # expect: inplace-modified
        return g + h.mean(1, keepdim=True)


torch.manual_seed(0)
model = Head(6)
opt = torch.optim.Adam(model.parameters())
skipped = 0
for i in range(30):
    x = torch.randn(8, 6)
    opt.zero_grad()
    try:
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
    except RuntimeError as e:
        log.debug("skipping batch %d: %s", i, e)
        skipped += 1
        continue
    opt.step()
print("skipped", skipped)
