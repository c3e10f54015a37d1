"""Fast neural style: a transformer network, with the features of a frozen one."""

import torch
import torch.nn as nn

torch.manual_seed(0)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.slice1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.slice2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        for p in self.parameters():
            p.requires_grad = False

    def forward(self, x):
        a = self.slice1(x)
        return a, self.slice2(a)


class ResidualBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1, self.in1 = nn.Conv2d(c, c, 3, padding=1), nn.InstanceNorm2d(c, affine=True)
        self.conv2, self.in2 = nn.Conv2d(c, c, 3, padding=1), nn.InstanceNorm2d(c, affine=True)
        self.relu = nn.ReLU()

    def forward(self, x):
        out = self.relu(self.in1(self.conv1(x)))
        return self.in2(self.conv2(out)) + x


net = nn.Sequential(
    nn.ReflectionPad2d(1),
    nn.Conv2d(3, 8, 3),
    nn.InstanceNorm2d(8, affine=True),
    nn.ReLU(),
    ResidualBlock(8),
    nn.Upsample(scale_factor=1),
    nn.Conv2d(8, 3, 3, padding=1),
)
vgg, mse = Features(), nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), 1e-3)


def gram(y):
    b, ch, h, w = y.size()
    f = y.view(b, ch, w * h)
    return f.bmm(f.transpose(1, 2)) / (ch * h * w)


style = torch.rand(1, 3, 16, 16).repeat(4, 1, 1, 1)
gram_style = [gram(y) for y in vgg(style)]
agg = 0.0
for it in range(12):
    optimizer.zero_grad()
    x = torch.rand(4, 3, 16, 16)
    y = net(x)
    fy, fx = vgg(y), vgg(x)
    content = 1e5 * mse(fy[1], fx[1])
    s = 0.0
    for a, g in zip(fy, gram_style):
        s += mse(gram(a), g[:4])
    s *= 1e10 / 1e5
    total = content + s
    total.backward()
    optimizer.step()
    agg += content.item()
print(agg)
