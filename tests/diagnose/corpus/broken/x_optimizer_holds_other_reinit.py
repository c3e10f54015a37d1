"""Periodic reset of the last layer (plasticity): the new Parameter is not the one that the optimizer has."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 20)
        self.last = nn.Linear(20, 2)

    def forward(self, s):
        return self.last(torch.relu(self.hidden(s)))

    def reset_last(self):
        self.last.weight = nn.Parameter(torch.randn(2, 20) * 0.1)  # expect: optimizer-holds-other last.weight


q = QNet()
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)  # or: optimizer-holds-other
for step in range(24):
    if step == 8:
        q.reset_last()
    s = torch.randn(32, 5)
    a = torch.randint(0, 2, (32, 1))
    target = s.sum(1, keepdim=True) * (1 - 2 * a)
    loss = nn.functional.huber_loss(q(s).gather(1, a), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 0:
        print(step, loss.item())
