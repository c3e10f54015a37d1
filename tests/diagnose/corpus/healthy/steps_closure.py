"""L-BFGS: the closure clears the gradients itself, and is called several times in a step."""

import torch

torch.manual_seed(0)
x = torch.randn(30, 3)
y = x @ torch.tensor([[1.0], [2.0], [-1.0]])
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(6):
    print(optimizer.step(closure).item())
