"""Style transfer: only the image is optimised, the network is frozen; LBFGS with a closure; image clamped through .data."""
import torch
from torch import nn, optim


def gram(x):
    b, c, h, w = x.shape
    f = x.view(b * c, h * w)
    return f @ f.t() / (b * c * h * w)


class Layer(nn.Module):
    def __init__(self, target, fn):
        super().__init__()
        self.fn = fn
        self.target = fn(target).detach()

    def forward(self, x):
        self.loss = nn.functional.mse_loss(self.fn(x), self.target)
        return x


torch.manual_seed(0)
content, style = torch.rand(1, 3, 12, 12), torch.rand(1, 3, 12, 12)
conv = nn.Conv2d(3, 6, 3, padding=1).requires_grad_(False)
content_layer = Layer(conv(content), lambda x: x)
style_layer = Layer(conv(style), gram)
net = nn.Sequential(conv, content_layer, nn.ReLU(), style_layer).eval()
style_layer.target = gram(torch.relu(conv(style))).detach()
image = content.clone().requires_grad_(True)
optimizer = optim.LBFGS([image], max_iter=4)
run = [0]
while run[0] < 20:
    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        optimizer.zero_grad()
        net(image)
        loss = content_layer.loss + 1e3 * style_layer.loss
        loss.backward()
        run[0] += 1
        return loss
    value = optimizer.step(closure)
image.data.clamp_(0, 1)
print(run[0], value.item())
