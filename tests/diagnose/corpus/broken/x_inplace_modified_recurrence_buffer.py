"""A recurrence that writes its states into one tensor, whose rows the next step's matmul has saved."""
import torch
import torch.nn as nn


class Rollout(nn.Module):
    """x[t+1] = tanh(A x[t] + B u[t])"""

    def __init__(self, n, m):
        super().__init__()
        self.A = nn.Parameter(0.5 * torch.eye(n))
        self.B = nn.Parameter(0.1 * torch.randn(n, m))

    def forward(self, x0, u):
        T = u.shape[0]
        states = torch.zeros(T + 1, x0.shape[0])
        states[0] = x0
        for t in range(T):
            states[t + 1] = torch.tanh(self.A @ states[t] + self.B @ u[t])  # expect: inplace-modified
        return states[1:]


def main():
    torch.manual_seed(0)
    truth = Rollout(3, 2)
    model = Rollout(3, 2)
    u = torch.randn(10, 2)
    with torch.no_grad():
        target = truth(torch.ones(3), u)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=5)

    def closure():
        optimizer.zero_grad()
        loss = (model(torch.ones(3), u) - target).pow(2).mean()
        loss.backward()
        return loss

    for i in range(3):
        print(i, optimizer.step(closure).item())


main()
