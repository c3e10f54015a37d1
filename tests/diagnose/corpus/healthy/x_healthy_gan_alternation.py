"""GAN with label smoothing; D is frozen in G's step and switched on again; n_critic = 2."""
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce


def requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def main():
    torch.manual_seed(0)
    G = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
    D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(32, 1))
    og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
    od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
    fixed = torch.randn(8, 4)
    for it in range(25):
        requires_grad(D, True)
        for _ in range(2):
            real = torch.randn(32, 2) @ torch.tensor([[1.0, 0.5], [0.0, 0.4]]) + 1
            fake = G(torch.randn(32, 4)).detach()
            s_real, s_fake = D(real), D(fake)
            loss_d = bce(s_real, torch.full_like(s_real, 0.9)) + bce(s_fake, torch.zeros_like(s_fake))
            od.zero_grad()
            loss_d.backward()
            od.step()
        requires_grad(D, False)
        s = D(G(torch.randn(32, 4)))
        loss_g = bce(s, torch.ones_like(s))
        og.zero_grad()
        loss_g.backward()
        og.step()
        if it % 5 == 0:
            with torch.no_grad():
                print(it, loss_d.item(), loss_g.item(), G(fixed).mean(0).tolist())


main()
