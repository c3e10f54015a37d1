import torch
from torch import nn


def cosine(a, b, eps=1e-8):
    dot = (a * b).sum(-1)
    na = torch.sqrt((a * a).sum(-1))  # expect: nonfinite-backward
    nb = torch.sqrt((b * b).sum(-1))
    return dot / (na * nb + eps)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(8, 4, bias=False)

    def forward(self, left, right):
        return cosine(self.f(left), self.f(right))


torch.manual_seed(0)
net = Siamese()
opt = torch.optim.Adagrad(net.parameters(), lr=0.01)
losses = []
for step in range(8):
    left = torch.randn(32, 8)
    left[4] = 0  # an image that is all black
    right = left + 0.3 * torch.randn(32, 8)
    sim = net(left, right)
    loss = (1 - sim).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses)
