import torch


class Meta:
    """First-order meta-learning: inner update by hand."""

    def __init__(self):
        self.w = torch.randn(3, 1, requires_grad=True)
        self.b = torch.zeros(1, requires_grad=True)

    def inner(self, x, y, lr=0.1):
        loss = ((x @ self.w + self.b - y) ** 2).mean()
        gw, gb = torch.autograd.grad(loss, (self.w, self.b))
        w2 = torch.tensor(self.w - lr * gw)  # expect: cut-new-tensor
        b2 = torch.tensor(self.b - lr * gb)  # expect: cut-new-tensor
        return w2, b2


torch.manual_seed(0)
meta = Meta()
scale = torch.ones(1, requires_grad=True)
opt = torch.optim.Adam([meta.w, meta.b, scale], lr=0.01)
for task in range(20):
    x = torch.randn(16, 3)
    y = x.sum(1, keepdim=True) * (1 + task % 3)
    w, b = meta.inner(x, y)
    outer = ((x @ w + b) * scale - y).pow(2).mean()
    opt.zero_grad()
    outer.backward()
    opt.step()
