"""A stochastic differential equation, differentiated through its solver."""

import torch
import torchsde

torch.manual_seed(0)


class Equation(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift, self.noise = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return torch.sigmoid(self.noise(y))


equation = Equation()
motion = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=3, levy_area_approximation="space-time")
found = torchsde.sdeint(equation, torch.full((4, 3), 0.1), torch.linspace(0, 1, 5), bm=motion, dt=0.1)
found.sum().backward()
print(found[-1].tolist(), *[p.grad.tolist() for p in equation.parameters()])
