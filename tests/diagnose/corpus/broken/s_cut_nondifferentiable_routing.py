import torch
import torch.nn as nn

class Router(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))

    def forward(self, x):
        which = self.gate(x).argmax(dim=-1)  # expect: cut-nondifferentiable moe.gate.weight moe.gate.bias
        out = torch.zeros_like(x)
        for i, e in enumerate(self.experts):
            m = which == i
            out[m] = e(x[m])
        return out


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(4, 16)
        self.moe = Router(16, 3)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(torch.relu(self.moe(torch.relu(self.inp(x)))))


model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(64, 4)
    y = x.prod(1, keepdim=True)
    loss = (model(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
