"""WGAN with weight clipping, WGAN-GP, several critic steps."""

import torch
from torch import nn, autograd

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(True), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
optD, optG = (
    torch.optim.Adam(D.parameters(), 1e-4, betas=(0.5, 0.9)),
    torch.optim.Adam(G.parameters(), 1e-4, betas=(0.5, 0.9)),
)
one = torch.tensor(1, dtype=torch.float)
mone = one * -1


def gradient_penalty(real, fake):
    alpha = torch.rand(real.size(0), 1).expand(real.size())
    inter = autograd.Variable(alpha * real + (1 - alpha) * fake, requires_grad=True)
    out = D(inter)
    g = autograd.grad(
        outputs=out,
        inputs=inter,
        grad_outputs=torch.ones(out.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((g.norm(2, dim=1) - 1) ** 2).mean() * 10


for it in range(15):
    for p in D.parameters():
        p.requires_grad = True
    for _ in range(3):
        real = torch.randn(32, 2) * 0.1 + 1
        D.zero_grad()
        D_real = D(real).mean()
        D_real.backward(mone)
        with torch.no_grad():
            noisev = torch.randn(32, 4)
        fake = autograd.Variable(G(noisev).data)
        D_fake = D(fake).mean()
        D_fake.backward(one)
        gp = gradient_penalty(real.data, fake.data)
        gp.backward()
        optD.step()
    for p in D.parameters():
        p.requires_grad = False
    G.zero_grad()
    g = D(G(torch.randn(32, 4))).mean()
    g.backward(mone)
    optG.step()
    print(-g.item(), (D_real - D_fake).item())
for p in D.parameters():
    p.requires_grad = True
opt = torch.optim.RMSprop(D.parameters(), lr=5e-5)
for _ in range(8):
    for p in D.parameters():
        p.data.clamp_(-0.01, 0.01)
    opt.zero_grad()
    loss = -D(torch.randn(32, 2)).mean() + D(G(torch.randn(32, 4)).detach()).mean()
    loss.backward()
    opt.step()
