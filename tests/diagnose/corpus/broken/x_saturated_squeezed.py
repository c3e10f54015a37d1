import torch
from torch import nn

torch.manual_seed(0)
income = torch.rand(300, 4) * 90000 + 10000
default = (income[:, 0] < 40000).float()


class Credit(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)

    def forward(self, x):
        return torch.sigmoid(self.linear(x).squeeze(-1))  # expect: saturated linear.weight linear.bias


model = Credit()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
bce = nn.BCELoss()
for epoch in range(20):
    for i in range(0, 300, 50):
        loss = bce(model(income[i:i + 50]), default[i:i + 50])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
