"""The spectrum of a trained network: where the eigenvalues of its Hessian lie, as a picture.

A small network learns scikit-learn's digits. Its Hessian is never formed: the largest eigenvalues come from ARPACK, the
density of all of them from stochastic Lanczos quadrature. Most lie at zero, a few stand out, about as many as there are
classes (Sagun, Bottou and LeCun, 2016).

    python examples/spectrum.py
    python examples/spectrum.py --hidden 64 --steps 600 --out spectrum.svg
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

import wengert as torch
from wengert import nn
from wengert.curvature import GGN, Hessian, eigenpairs, spectral_density, trace


def train(hidden, steps):
    """A network of two layers, and the data that it has learned."""
    digits = load_digits()
    x, y = torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target)
    model = nn.Sequential(nn.Linear(64, hidden), nn.Tanh(), nn.Linear(hidden, 10))
    optimizer, loss_fn = torch.optim.Adam(model.parameters(), lr=1e-2), nn.CrossEntropyLoss()
    for step in range(1, steps + 1):
        rows = torch.randint(0, len(x), (128,))
        loss = loss_fn(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0 or step == steps:
            print(f"step {step} loss {loss.item():.4f}")
    return model, loss_fn, list(zip(x.split(512), y.split(512)))


def picture(found, eigenvalues, path, width=720, height=300):
    """The density on a logarithmic scale, and ticks at the largest eigenvalues."""
    left, low = found.grid[0], 1e-5
    scale = (width - 40) / (max(found.grid[-1], eigenvalues[0]) - left)
    across = 20 + (found.grid - left) * scale
    heights = np.log10(np.maximum(found.density, low) / low)
    down = height - 30 - heights / heights.max() * (height - 50)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down))
    ticks = "".join(f'<path d="M{20 + (v - left) * scale:.1f} {height - 30}v8" stroke="#c33"/>' for v in eigenvalues)
    labels = "".join(f'<text x="{20 + (v - left) * scale:.1f}" y="{height - 6}" font-size="12">{v:.2g}</text>'
        for v in (found.grid[0], eigenvalues[0]))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
            f'<rect width="100%" height="100%" fill="#fff"/><polyline points="{line}" fill="none" stroke="#248"/>'
            f'{ticks}{labels}</svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--probes", type=int, default=4)
    parser.add_argument("--out", default="spectrum.svg")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    model, loss_fn, data = train(args.hidden, args.steps)
    hessian = Hessian(model, loss_fn, data)
    print(f"{hessian.shape[0]} parameters")
    largest = eigenpairs(hessian, 12).values
    print("largest eigenvalues", *(f"{v:.3g}" for v in largest))
    for name, matrix in (("Hessian", hessian), ("GGN", GGN(model, loss_fn, data))):
        estimate = trace(matrix, 30, method="hutch++")
        print(f"trace of the {name} {estimate.value:.3f} ± {estimate.stderr:.3f}")
    found = spectral_density(hessian, 40, args.probes)
    print(f"{found.weights[np.abs(found.nodes) < 0.02 * largest[0]].sum():.1%} of the eigenvalues are "
        "below 2% of the largest")
    picture(found, largest, args.out)
    print(args.out)


if __name__ == "__main__":
    main()
