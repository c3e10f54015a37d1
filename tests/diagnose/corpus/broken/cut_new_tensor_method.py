import torch
import torch.nn as nn
from torch.optim import Adam

torch.manual_seed(0)


class Vgg(nn.Module):
    def __init__(self, requires_grad=False):
        super().__init__()
        self.slice1 = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU())
        self.slice2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1), nn.ReLU())
        if not requires_grad:
            for param in self.parameters():
                param.requires_grad = False

    def forward(self, x):
        a = self.slice1(x)
        return a, self.slice2(a)


class TransformerNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 8, 3, padding=1)
        self.n1 = nn.InstanceNorm2d(8, affine=True)
        self.c2 = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, x):
        return self.c2(torch.relu(self.n1(self.c1(x))))


def gram_matrix(y):
    b, ch, h, w = y.size()
    f = y.view(b, ch, w * h)
    return f.bmm(f.transpose(1, 2)) / (ch * h * w)


def normalize_batch(batch):
    mean = batch.new_tensor([0.485, 0.456, 0.406]).view(-1, 1, 1)
    std = batch.new_tensor([0.229, 0.224, 0.225]).view(-1, 1, 1)
    return (batch.new_tensor(batch) - mean) / std  # expect: cut-new-tensor


transformer = TransformerNet()
optimizer = Adam(transformer.parameters(), 1e-3)
mse_loss = nn.MSELoss()
vgg = Vgg(requires_grad=False)
features_style = vgg(normalize_batch(torch.rand(1, 3, 8, 8)).repeat(2, 1, 1, 1))
gram_style = [torch.zeros(2, 4, 4), torch.zeros(2, 8, 8)]
agg = 0.0
for batch_id in range(8):
    x = torch.rand(2, 3, 8, 8)
    optimizer.zero_grad()
    y = transformer(x)
    y, x = normalize_batch(y), normalize_batch(x)
    features_y, features_x = vgg(y), vgg(x)
    content = 1e5 * mse_loss(features_y[1], features_x[1])
    style = 0.0
    for ft_y, gm_s in zip(features_y, gram_style):
        style += mse_loss(gram_matrix(ft_y), gm_s)
    total = content + 1e3 * style
    total.backward()
    optimizer.step()
    agg += total.item()
