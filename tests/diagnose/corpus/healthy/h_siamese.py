"""A Siamese network with triplets and one with pairs."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten())
        self.fc = nn.Sequential(nn.Linear(4 * 64 * 2, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward(self, a, b):
        return self.sigmoid(self.fc(torch.cat((self.body(a), self.body(b)), 1)))


model = Siamese()
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
for step in range(15):
    a, b = torch.rand(8, 1, 10, 10), torch.rand(8, 1, 10, 10)
    target = (torch.rand(8) > 0.5).float()
    b = torch.where(target.view(-1, 1, 1, 1) > 0, a + 0.1 * b, b)
    optimizer.zero_grad()
    outputs = model(a, b).squeeze()
    loss = nn.BCELoss()(outputs, target)
    loss.backward()
    optimizer.step()
    pred = torch.where(outputs > 0.5, 1, 0)
    print(step, loss.item(), pred.eq(target).sum().item())
embed = nn.Linear(5, 3)
opt = torch.optim.SGD(embed.parameters(), lr=0.1, momentum=0.9)
triplet = nn.TripletMarginLoss(margin=0.5)
for _ in range(10):
    x = torch.randn(3, 8, 5)
    l = triplet(*(F.normalize(embed(v), dim=1) for v in x))
    opt.zero_grad()
    l.backward()
    opt.step()
