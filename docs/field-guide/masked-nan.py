import torch

weight = torch.tensor([1.0, 1.0, 1.0], requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(2):
    x = weight * torch.tensor([0.0, 1.0, 2.0])
    logarithms = torch.where(x > 0, x.log(), 0.0)
    loss = (logarithms - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    print(f"loss {loss.item():.3f}, gradient {weight.grad.tolist()}")
    optimizer.step()
