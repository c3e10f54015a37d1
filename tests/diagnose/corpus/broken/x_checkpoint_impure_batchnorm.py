"""A checkpointed stage with batch normalisation: its running statistics are updated twice per step."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential


def stage(cin, cout):
    return nn.Sequential(nn.Conv1d(cin, cout, 3, padding=1), nn.BatchNorm1d(cout, momentum=0.1), nn.ReLU())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(stage(2, 6), stage(6, 6), stage(6, 6))
        self.fc = nn.Linear(6, 2)

    def forward(self, x):
        h = checkpoint_sequential(self.body, 2, x, use_reentrant=False)  # expect: checkpoint-impure
        return self.fc(h.mean(dim=2))


def train(steps):
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(steps):
        x = torch.randn(16, 2, 12)
        loss = nn.functional.cross_entropy(net(x), (x[:, 0].mean(1) > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item(), net.body[0][1].num_batches_tracked)


train(8)
