import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = torch.ones(2, requires_grad=True)
        self.real = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.plain * self.real


scale = Scale()
scale(torch.ones(2)).sum().backward()
print([name for name, _ in scale.named_parameters()], "gradient of the plain one:", scale.plain.grad.tolist())
