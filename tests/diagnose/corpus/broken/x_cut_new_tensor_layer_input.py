"""Each stage of a cascade makes its input a fresh tensor, as an old tutorial did."""
import torch
from torch import nn


class Stage(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out)

    def forward(self, x):
        return torch.tanh(self.lin(x))


class Cascade(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = Stage(5, 10)
        self.stage2 = Stage(10, 1)

    def forward(self, x):
        mid = self.stage1(x)
        mid = torch.tensor(mid, requires_grad=True)  # expect: cut-new-tensor stage1.lin.weight stage1.lin.bias
        return self.stage2(mid)


def make_step(model, loss_fn, opt):
    def step(x, y):
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        opt.step()
        return loss.item()
    return step


torch.manual_seed(0)
net = Cascade()
step = make_step(net, nn.MSELoss(), torch.optim.RMSprop(net.parameters(), lr=1e-3))
for k in range(15):
    x = torch.randn(20, 5)
    print(k, step(x, torch.sin(x.sum(1, keepdim=True))))
