"""The optimizer is given the parameters of another instance of the class."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.l1 = nn.Linear(4, hidden)
        self.l2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.l2(torch.relu(self.l1(x)))


class Learner:
    def __init__(self, data, model_cls, opt_cls, lr):
        self.data = data
        self.model = model_cls()
        self.opt = opt_cls(model_cls().parameters(), lr=lr)  # expect: optimizer-holds-other
        self.loss = nn.MSELoss()

    def fit(self, epochs):
        for epoch in range(epochs):
            for x, y in self.data:
                self.opt.zero_grad()
                loss = self.loss(self.model(x), y)
                loss.backward()
                self.opt.step()
            print(f"[{epoch}] {loss.item():.4f}")


torch.manual_seed(0)
x = torch.linspace(-1, 1, 64).unsqueeze(1) * torch.ones(1, 4)
data = DataLoader(TensorDataset(x, x.pow(2).sum(1, keepdim=True)), batch_size=16)
Learner(data, Net, torch.optim.Adam, 1e-2).fit(5)
