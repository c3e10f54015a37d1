"""A language model whose data has one line of another distribution; the gradient of that step is huge."""
import torch
from torch import nn


class Regress(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 12, batch_first=True)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


torch.manual_seed(0)
model = Regress()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(35):
    x = torch.sin(torch.linspace(0, 6, 12) + torch.rand(16, 1) * 6).unsqueeze(-1)
    y = x[:, -1] * 0.9
    if step == 24:
        y = y * 1e6
    loss = nn.functional.mse_loss(model(x), y)  # or: norm-spike
    opt.zero_grad()
    loss.backward()  # expect: norm-spike
    opt.step()  # or: norm-spike
    print(step, loss.item())
