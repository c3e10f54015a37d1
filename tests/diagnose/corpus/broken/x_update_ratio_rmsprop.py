import torch
import torch.nn as nn


def build(lr=1.0):
    net = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(32, 1))
    return net, torch.optim.RMSprop(net.parameters(), lr)  # expect: update-ratio


if __name__ == "__main__":
    torch.manual_seed(0)
    net, opt = build()
    for i in range(40):
        x = torch.randn(16, 1, 30)
        loss = nn.functional.mse_loss(net(x), x.std(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()  # or: update-ratio
        if i % 10 == 0:
            print(i, loss.item())
