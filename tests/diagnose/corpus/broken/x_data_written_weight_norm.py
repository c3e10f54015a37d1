"""Rows of the weight are normalised through .data in forward(), after the product that will need the old ones."""
import torch
from torch import nn


class CosineHead(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, dim))

    def forward(self, x):
        logits = x @ self.weight.t()
        scale = self.weight.data.norm(dim=1, keepdim=True)
        self.weight.data.div_(scale)  # expect: data-written
        return 5 * logits / scale.t()


torch.manual_seed(0)
body = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
head = CosineHead(12, 3)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
for i in range(15):
    x = torch.randn(30, 6)
    loss = nn.functional.cross_entropy(head(body(x)), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
