import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(model.parameters(), 0.1)
X, Y = torch.randn(80, 4), torch.randint(0, 2, (80,))


def evaluate():
    model.eval()
    torch.set_grad_enabled(False)  # expect: no-grad-training
    acc = (model(X).argmax(1) == Y).float().mean().item()
    model.train()
    return acc


for epoch in range(4):
    for i in range(0, 80, 16):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(X[i:i + 16]), Y[i:i + 16])
        loss.backward()
        opt.step()
    print(epoch, evaluate())
