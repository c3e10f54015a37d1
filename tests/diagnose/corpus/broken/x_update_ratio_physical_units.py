"""An inverse problem in SI units: stiffness and damping of an oscillator are fitted with Adam's default rate."""
import torch

torch.manual_seed(0)
stiffness = torch.tensor(1.5e5, requires_grad=True)
damping = torch.tensor(3.0e3, requires_grad=True)
mass = 100.0
omega = torch.linspace(5, 80, 60)


def response(k, c):
    return 1e5 / torch.sqrt((k - mass * omega ** 2) ** 2 + (c * omega) ** 2)


measured = response(torch.tensor(2.1e5), torch.tensor(2.0e3)) + 0.01 * torch.randn(60)
optimizer = torch.optim.Adam([stiffness, damping])  # expect: update-ratio
for it in range(40):
    optimizer.zero_grad()
    loss = (response(stiffness, damping) - measured).pow(2).mean()
    loss.backward()
    optimizer.step()  # or: update-ratio
print(stiffness.item(), damping.item(), loss.item())
