"""Hand-written momentum SGD in a class, gradients zeroed on the wrong attribute."""
import torch


class Net:
    def __init__(self, sizes):
        self.weights = [torch.randn(a, b).div_(a ** 0.5).requires_grad_() for a, b in zip(sizes, sizes[1:])]
        self.biases = [torch.zeros(b, requires_grad=True) for b in sizes[1:]]

    def __call__(self, x):
        for i, (w, b) in enumerate(zip(self.weights, self.biases)):
            x = x @ w + b
            if i + 1 < len(self.weights):
                x = x.clamp(min=0)
        return x

    def parameters(self):
        return self.weights + self.biases


class Momentum:
    def __init__(self, params, lr=0.01, mu=0.9):
        self.params, self.lr, self.mu = params, lr, mu
        self.v = [torch.zeros_like(p) for p in params]

    @torch.no_grad()
    def step(self):
        for p, v in zip(self.params, self.v):
            v.mul_(self.mu).add_(p.grad)
            p.sub_(self.lr * v)  # expect: stale-gradient

    def zero_grad(self):
        for v in self.v:
            v.grad = None


torch.manual_seed(0)
net = Net([3, 16, 1])
opt = Momentum(net.parameters())
for i in range(50):
    x = torch.randn(16, 3)
    loss = (net(x) - x.prod(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
