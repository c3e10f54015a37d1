import torch
from torch import nn

torch.manual_seed(0)
Z = 8
generator = nn.Sequential(nn.Linear(Z, 32), nn.ReLU(), nn.Linear(32, 2))
discriminator = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_opt = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
d_opt = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def real_batch(n):
    t = torch.rand(n) * 6.28
    return torch.stack([t.cos(), t.sin()], 1)


for it in range(40):
    real = real_batch(32)
    fake = generator(torch.randn(32, Z)).detach()  # expect: cut-detach 0.weight 0.bias 2.weight 2.bias
    d_loss = bce(discriminator(real), torch.ones(32, 1)) + bce(discriminator(fake), torch.zeros(32, 1))
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    g_loss = bce(discriminator(fake), torch.ones(32, 1))
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    if it % 20 == 0:
        print(it, d_loss.item(), g_loss.item())
