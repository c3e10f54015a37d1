"""A variational autoencoder of handwritten digits: squeeze a picture into a few numbers and draw it again.

The data are scikit-learn's digits (8x8 pixels), so nothing is downloaded. The loss is the negative evidence lower
bound of Kingma and Welling (2013): how badly the picture is drawn again, plus how far the code strays from a
standard normal distribution. Gradients pass through the random code by the reparameterisation trick.

    python examples/vae.py
    python examples/vae.py --steps 3000 --latent 4
"""

import argparse
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, pixels=64, hidden=128, latent=8):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.Tanh(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, pixels))

    def encode(self, x):
        """Mean and log variance of the code of each picture, both (batch, latent)."""
        mean, log_variance = self.encoder(x).chunk(2, dim=-1)
        return mean, log_variance

    def sample_code(self, mean, log_variance):
        """A random code, written so that it is differentiable in mean and log variance."""
        return mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)

    def forward(self, x):
        mean, log_variance = self.encode(x)
        return self.decoder(self.sample_code(mean, log_variance)), mean, log_variance

    @torch.no_grad()
    def draw(self, count):
        """New digits from random codes: (count, 8, 8) with ink between 0 and 1."""
        return torch.sigmoid(self.decoder(torch.randn(count, self.latent))).view(count, 8, 8)


def negative_elbo(logits, x, mean, log_variance):
    """Reconstruction error and Kullback-Leibler divergence, in nats per picture."""
    error = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp()) / len(x)
    return error, divergence


def show(pictures):
    """Print pictures side by side, darker characters for more ink."""
    shades = " .:-=+*#%@"
    for row in range(pictures.shape[1]):
        print("   ".join("".join(2 * shades[min(int(10 * v), 9)] for v in p[row].tolist()) for p in pictures))


def report(step, steps, text):
    """Print a line for each step; on a terminal, one line with a bar that grows."""
    if sys.stdout.isatty():
        done = 24 * step // steps
        print(f"\r[{'#' * done}{'.' * (24 - done)}] {text}", end="\n" if step == steps else "", flush=True)
    else:
        print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--latent", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    pictures = torch.from_numpy(load_digits().data).float() / 16
    loader = DataLoader(TensorDataset(pictures), batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = VAE(latent=args.latent)
    optimizer = optim.Adam(model.parameters(), lr=args.lr)

    step = 0
    while step < args.steps:
        for (x,) in loader:
            logits, mean, log_variance = model(x)
            error, divergence = negative_elbo(logits, x, mean, log_variance)
            loss = error + divergence
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            parts = f"(drawing {error.item():.3f}, code {divergence.item():.3f})"
            report(step, args.steps, f"step {step} loss {loss.item():.6f} {parts}")
            if step == args.steps:
                break

    model.eval()
    with torch.inference_mode():
        logits, _, _ = model(pictures[:5])
    print("pictures")
    show(pictures[:5].view(-1, 8, 8))
    print("drawn again from their codes")
    show(torch.sigmoid(logits).view(-1, 8, 8))
    print("dreamt up")
    show(model.draw(5))


if __name__ == "__main__":
    main()
