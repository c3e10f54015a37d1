"""Two losses with disjoint graphs, a backward each, one step; total kept as a number; best loss kept detached."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
best = None
for it in range(20):
    labelled, unlabelled = torch.randn(16, 6), torch.randn(32, 6)
    opt.zero_grad()
    sup = nn.functional.cross_entropy(net(labelled), labelled[:, :3].argmax(1))
    sup.backward()
    with torch.no_grad():
        pseudo = torch.softmax(net(unlabelled), 1)
        keep = pseudo.max(1).values > 0.4
    unsup = 0.3 * (nn.functional.cross_entropy(net(unlabelled + 0.1 * torch.randn_like(unlabelled)), pseudo.argmax(1), reduction="none") * keep).mean()
    unsup.backward()
    opt.step()
    if best is None or sup < best:
        best = sup.detach()
print(best.item())
