"""Matrix factorisation with leaf tensors: the user factors are read through .data."""
import torch

torch.manual_seed(0)
users, items, rank = 30, 20, 4
truth = torch.randn(users, rank) @ torch.randn(rank, items)
mask = torch.rand(users, items) < 0.6

U = (0.1 * torch.randn(users, rank)).requires_grad_()
V = (0.1 * torch.randn(items, rank)).requires_grad_()
bias = torch.zeros(items, requires_grad=True)
opt = torch.optim.Adam([U, V, bias], lr=0.05)

for epoch in range(25):
    predicted = U.data @ V.t() + bias  # expect: cut-data U
    error = (predicted - truth)[mask]
    loss = error.pow(2).mean() + 1e-3 * V.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
