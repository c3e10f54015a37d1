import torch

torch.manual_seed(0)
x = torch.randn(50, 2)
y = x @ torch.tensor([2.0, -1.0]) + 0.3
w = torch.zeros(2, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w, b], lr=0.1)  # or: optimizer-holds-other
w = torch.nn.init.normal_(torch.empty(2)).requires_grad_()  # expect: optimizer-holds-other
for epoch in range(20):
    loss = ((x @ w + b - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
