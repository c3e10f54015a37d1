"""optimizer.zero_grad without parentheses."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.rand(96, 1) * 4 - 2
loader = DataLoader(TensorDataset(x, x.sin()), batch_size=16, shuffle=True)


class Sine(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(1, 20), nn.Linear(20, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


def train(model, epochs=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        for xb, yb in loader:
            optimizer.zero_grad
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            optimizer.step()  # expect: stale-gradient fc1.weight fc1.bias fc2.weight fc2.bias
        print(epoch, loss.item())


train(Sine())
