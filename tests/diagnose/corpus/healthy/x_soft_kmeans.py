import torch
from torch import nn

torch.manual_seed(0)
data = torch.cat([torch.randn(60, 2) * 0.3 + torch.tensor(c) for c in ([3.0, 0.0], [-3.0, 1.0], [0.0, -4.0])])


class SoftKMeans(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(k, 2))

    def forward(self, x, beta=50.0):
        d = (x[:, None] - self.centers).pow(2).sum(-1)
        a = torch.softmax(-beta * d, 1)
        return a @ self.centers


model = SoftKMeans(3)
opt = torch.optim.Adam(model.parameters(), lr=0.1)
for i in range(100):
    loss = (model(data) - data).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
