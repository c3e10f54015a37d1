"""A custom autograd.Function (sign with a straight-through gradient) in a binary network, checked by gradcheck elsewhere."""
import torch
from torch import nn


class SignSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1).float()


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g


class BinaryLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, SignSTE.apply(self.weight) / self.in_features ** 0.5, self.bias)


torch.manual_seed(0)
print(torch.autograd.gradcheck(Cube.apply, torch.randn(5, dtype=torch.double, requires_grad=True)))
net = nn.Sequential(BinaryLinear(8, 32), nn.Hardtanh(), BinaryLinear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(20):
    x = torch.randn(64, 8)
    loss = nn.functional.cross_entropy(net(x), (x[:, :2].sum(1) > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p in net.parameters():
            p.clamp_(-1, 1)
print(loss.item())
