import torch
from torch import nn

torch.manual_seed(0)


class AdaptiveLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, losses):
        total = 0
        for lv, l in zip(self.log_vars.exp().detach().cpu().numpy(), losses):  # expect: cut-numpy log_vars
            total = total + l / lv
        return total


net, weigher = nn.Linear(5, 2), AdaptiveLoss()
opt = torch.optim.Adam([*net.parameters(), *weigher.parameters()], 1e-2)
for _ in range(20):
    x = torch.randn(16, 5)
    out = net(x)
    loss = weigher([(out[:, 0] - x[:, 0]).pow(2).mean(), (out[:, 1] - x.sum(1)).abs().mean()])
    opt.zero_grad()
    loss.backward()
    opt.step()
