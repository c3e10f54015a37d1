"""The exponent of the learning rate is wrong: in float32 the steps vanish in rounding."""

import torch
import torch.nn as nn


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-10, weight_decay=0.01)  # expect: update-ratio
    images, labels = torch.rand(32, 1, 8, 8), torch.randint(0, 10, (32,))
    for epoch in range(6):
        optimizer.zero_grad()
        loss = criterion(net(images), labels)
        loss.backward()
        optimizer.step()  # or: update-ratio
        print(epoch, loss.item())


main()
