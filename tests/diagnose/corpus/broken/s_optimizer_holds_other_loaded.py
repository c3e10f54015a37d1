import io
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 16)
        self.b = nn.Linear(16, 1)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Trainer:
    def __init__(self):
        self.model = Net()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-2)  # or: optimizer-holds-other

    def save(self):
        buf = io.BytesIO()
        torch.save(self.model, buf)
        buf.seek(0)
        return buf

    def resume(self, buf):
        self.model = torch.load(buf, weights_only=False)  # expect: optimizer-holds-other

    def run(self, n):
        for _ in range(n):
            x = torch.randn(16, 4)
            loss = (self.model(x) - x[:, :1]).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()


t = Trainer()
t.run(5)
state = t.save()
t.resume(state)
t.run(15)
