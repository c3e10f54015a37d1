"""Recognise handwritten digits: a multilayer perceptron and a small convolutional network.

The data are scikit-learn's 1,797 digits of 8x8 pixels, which come with the package: nothing is downloaded.
Four fifths train, one fifth tests.

    python examples/digits.py                    # the convolutional network
    python examples/digits.py --model mlp --epochs 30 --seed 7
"""

import argparse
import time

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class MLP(nn.Sequential):
    """64 pixels -> 128 -> 64 -> 10 scores."""

    def __init__(self):
        super().__init__(
            nn.Flatten(),
            nn.Linear(64, 128),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )


class CNN(nn.Module):
    """Two 3x3 convolutions, each halving the picture (8x8 -> 4x4 -> 2x2), then one linear layer."""

    def __init__(self):
        super().__init__()
        # A bias before a batch norm would be subtracted again at once, so the convolutions have none.
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(32 * 2 * 2, 10)

    def forward(self, x):
        x = F.avg_pool2d(F.gelu(self.norm1(self.conv1(x))), 2)
        x = F.avg_pool2d(F.gelu(self.norm2(self.conv2(x))), 2)
        return self.head(self.dropout(x.flatten(start_dim=1)))


def load_data():
    """The pictures as float32 of shape (1797, 1, 8, 8) between 0 and 1, with their labels, in two parts."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target, dtype=torch.int64)
    return random_split(TensorDataset(images, labels), [0.8, 0.2])


@torch.no_grad()
def accuracy(model, loader):
    """The fraction of the loader's pictures that the model names rightly."""
    model.eval()
    right = sum((model(images).argmax(dim=1) == labels).sum().item() for images, labels in loader)
    model.train()
    return right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=["mlp", "cnn"], default="cnn")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--steps", type=int, help="stop after this many steps, whatever --epochs says")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set, test_set = load_data()
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=256)

    model = MLP() if args.model == "mlp" else CNN()
    steps = args.epochs * len(train_loader)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=steps)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{args.model}: {parameters} parameters, {len(train_set)} training and {len(test_set)} test pictures")

    step, start = 0, time.perf_counter()
    last = steps if args.steps is None else min(args.steps, steps)
    for epoch in range(args.epochs):
        for images, labels in train_loader:
            if step == last:
                break
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            step += 1
            print(f"step {step} loss {loss.item():.6f}")
        done = "#" * (20 * step // last)
        print(f"epoch {epoch + 1:2d}/{args.epochs} [{done:<20}] test accuracy {accuracy(model, test_loader):.2%}")
        if step == last:
            break
    print(f"trained for {time.perf_counter() - start:.1f} s, test accuracy {accuracy(model, test_loader):.2%}")


if __name__ == "__main__":
    main()
