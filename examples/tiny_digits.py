"""Recognise handwritten digits with the learning edition: one file of 600 lines and NumPy.

The data are scikit-learn's 1,797 digits of 8x8 pixels, which come with the package: nothing is downloaded. Four fifths
train, one fifth tests.

    python examples/tiny_digits.py
    python examples/tiny_digits.py --hidden 128 --epochs 30 --seed 7
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits

from wengert.tiny import SGD, CrossEntropyLoss, Linear, ReLU, Sequential, Tensor, no_grad


def load_data():
    """Pictures of shape (1797, 64) between 0 and 1, and their labels, in a random order."""
    digits = load_digits()
    order = np.random.permutation(len(digits.target))
    return digits.data[order] / 16, digits.target[order]


def accuracy(model, images, labels):
    """The fraction of pictures that the model names rightly."""
    with no_grad():
        return (model(Tensor(images)).data.argmax(axis=1) == labels).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    np.random.seed(args.seed)
    images, labels = load_data()
    train = len(labels) * 4 // 5
    model = Sequential(Linear(64, args.hidden), ReLU(), Linear(args.hidden, 10))
    criterion = CrossEntropyLoss()
    optimizer = SGD(model.parameters(), lr=args.lr, momentum=0.9)
    parameters = sum(p.size for p in model.parameters())
    print(f"{parameters} parameters, {train} training and {len(labels) - train} test pictures")

    start = time.perf_counter()
    for epoch in range(args.epochs):
        order, total = np.random.permutation(train), 0.0
        for i in range(0, train, args.batch_size):
            chosen = order[i : i + args.batch_size]
            loss = criterion(model(Tensor(images[chosen])), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(chosen)
        print(f"epoch {epoch + 1:2d}/{args.epochs} loss {total / train:.4f} "
            f"test accuracy {accuracy(model, images[train:], labels[train:]):.2%}")
    print(f"trained for {time.perf_counter() - start:.1f} s, "
        f"test accuracy {accuracy(model, images[train:], labels[train:]):.2%}")


if __name__ == "__main__":
    main()
