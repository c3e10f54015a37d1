"""A learning rate of 1e-9 for SGD, copied from a model of other units: nothing moves."""
import argparse

import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-9)
    parser.add_argument("--steps", type=int, default=30)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)  # expect: update-ratio
    for step in range(args.steps):
        x = torch.randn(32, 5)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # or: update-ratio
        if step % 10 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
