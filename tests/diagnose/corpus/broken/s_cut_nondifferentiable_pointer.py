import torch
from torch import nn

torch.manual_seed(0)


class Pointer(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.GRU(2, 16, batch_first=True)
        self.att = nn.Linear(16, 1)
        self.out = nn.Linear(16, 2)

    def forward(self, pts):
        h, _ = self.enc(pts)
        scores = self.att(h).squeeze(-1)
        best = scores.max(dim=1)[1].tolist()  # expect: cut-nondifferentiable att.weight att.bias
        return self.out(torch.stack([h[i, j] for i, j in enumerate(best)]))


net = Pointer()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for i in range(20):
    pts = torch.rand(8, 6, 2)
    loss = (net(pts) - pts.mean(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
