"""From-scratch training: gradients are cleared by a helper only in the first epoch, by mistake."""
import torch


def net(p, x):
    return torch.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


torch.manual_seed(0)
p = {"w1": torch.randn(3, 12) * 0.5, "b1": torch.zeros(12), "w2": torch.randn(12, 1) * 0.3, "b2": torch.zeros(1)}
for v in p.values():
    v.requires_grad_(True)


def clear(params):
    for v in params.values():
        v.grad = None


X = torch.randn(160, 3)
Y = X.sum(1, keepdim=True).sin()
for epoch in range(10):
    for x, y in zip(X.split(16), Y.split(16)):
        if epoch == 0:
            clear(p)
        loss = (net(p, x) - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for v in p.values():
                v -= 0.005 * v.grad  # expect: stale-gradient w1 b1 w2 b2
print(loss.item())
