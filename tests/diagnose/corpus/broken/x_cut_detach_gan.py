"""A small GAN on a ring of points. The generator's step was copied from the discriminator's."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def ring(n):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.02 * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self, latent=4, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent, width), nn.LeakyReLU(0.2), nn.Linear(width, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.LeakyReLU(0.2), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(1)
    gen, disc = Generator(), Discriminator()
    opt_g = torch.optim.Adam(gen.parameters(), lr=2e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(disc.parameters(), lr=2e-3, betas=(0.5, 0.999))
    ones, zeros = torch.ones(args.batch), torch.zeros(args.batch)

    for step in range(args.steps):
        # discriminator
        fake = gen(torch.randn(args.batch, 4))
        d_loss = F.binary_cross_entropy_with_logits(disc(ring(args.batch)), ones)
        d_loss = d_loss + F.binary_cross_entropy_with_logits(disc(fake.detach()), zeros)
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        # generator
        fake = gen(torch.randn(args.batch, 4))
        score = disc(fake.detach())  # expect: cut-detach net.0.weight net.0.bias net.2.weight net.2.bias
        g_loss = F.binary_cross_entropy_with_logits(score, ones)
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        if step % 10 == 0:
            print(f"{step}: d {d_loss.item():.3f} g {g_loss.item():.3f}")


if __name__ == "__main__":
    main()
