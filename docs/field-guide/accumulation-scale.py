import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(3):
    optimizer.zero_grad()
    for micro_batch in torch.randn(4, 8, 4):
        loss = nn.functional.mse_loss(model(micro_batch), torch.ones(8, 1))
        loss.backward()
    optimizer.step()
    print(f"norm of the gradient {model.weight.grad.norm().item():.2f}")
