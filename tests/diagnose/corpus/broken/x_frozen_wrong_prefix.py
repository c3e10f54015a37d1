"""Only the head shall train, but the prefix has a typing error: nothing requires a gradient."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(8, 16)
        self.classifier = nn.Linear(16, 3)

    def forward(self, x):
        return self.classifier(torch.relu(self.backbone(x)))


def trainable(model, prefix):
    for name, p in model.named_parameters():
        p.requires_grad = name.startswith(prefix)  # expect: frozen
    return [p for p in model.parameters()]


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(trainable(model, "clasifier"), lr=1e-3)  # or: frozen
for i in range(4):
    x = torch.randn(24, 8)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
