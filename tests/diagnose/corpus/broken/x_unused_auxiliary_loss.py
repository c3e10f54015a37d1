"""Deep supervision: the auxiliary head's loss is computed and left out of the sum."""
import torch
from torch import nn
from torch.nn import functional as F


class Supervised(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Linear(8, 16)
        self.high = nn.Linear(16, 16)
        self.aux = nn.Linear(16, 3)  # or: unused
        self.main = nn.Linear(16, 3)

    def forward(self, x):
        low = F.relu(self.low(x))
        aux = self.aux(low)  # or: unused
        return self.main(F.relu(self.high(low))), aux


def losses(output, target):
    main, aux = output
    main_loss = F.cross_entropy(main, target)
    aux_loss = F.cross_entropy(aux, target)  # expect: unused aux.weight aux.bias
    return {"main": main_loss, "aux": aux_loss}


torch.manual_seed(0)
model = Supervised()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(90, 8)
y = x[:, :3].argmax(dim=1)
for epoch in range(5):
    for xb, yb in zip(x.chunk(3), y.chunk(3)):
        parts = losses(model(xb), yb)
        loss = parts["main"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, {k: round(v.item(), 3) for k, v in parts.items()})
