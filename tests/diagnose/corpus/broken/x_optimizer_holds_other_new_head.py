"""Transfer learning: the head is replaced after the optimizer took the old one."""
import argparse

import torch
import torch.nn as nn


def pretrained(classes=10):
    torch.manual_seed(0)
    model = nn.Sequential()
    model.add_module("features", nn.Sequential(nn.Linear(12, 24), nn.ReLU()))
    model.add_module("fc", nn.Linear(24, classes))
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", default=0.05, type=float)
    parser.add_argument("--epochs", default=4, type=int)
    opt = parser.parse_args()
    model = pretrained()
    optimizer = torch.optim.SGD(model.parameters(), lr=opt.lr, momentum=0.9)  # or: optimizer-holds-other
    model.fc = nn.Linear(24, 3)  # expect: optimizer-holds-other fc.weight fc.bias
    x = torch.randn(60, 12)
    y = x[:, :3].argmax(1)
    for epoch in range(opt.epochs):
        for i in range(0, 60, 20):
            loss = nn.functional.cross_entropy(model(x[i:i + 20]), y[i:i + 20])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
