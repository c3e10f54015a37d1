"""Equations, Gaussian processes, derivatives of higher order, other precisions and optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.models.kind import Kind
from benchmarks.workloads import mlp_model, train

if TYPE_CHECKING:
    from benchmarks.workloads import Step


def neural_ode(torch: Any) -> Step:
    """Runge-Kutta steps through a field (Chen et al. 2018), by backpropagation through the solver."""
    nn = torch.nn
    field = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
    start, seen = torch.randn(32, 2), torch.randn(32, 2)

    def loss_of() -> Any:
        y, h = start, 0.1
        for _ in range(10):
            k1 = field(y)
            k2 = field(y + h / 2 * k1)
            k3 = field(y + h / 2 * k2)
            k4 = field(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return ((y - seen) ** 2).mean()

    return train(field, torch.optim.Adam(field.parameters(), 1e-3), loss_of)


def physics(torch: Any) -> Step:
    """The heat equation, its residual by second derivatives (Raissi et al. 2019)."""
    model = mlp_model(torch, (2, 32, 32, 1))
    for k, layer in enumerate(model):
        if isinstance(layer, torch.nn.ReLU):
            model[k] = torch.nn.Tanh()
    points = torch.rand(128, 2)

    def loss_of() -> Any:
        x = points.clone().requires_grad_()
        u = model(x)
        first, = torch.autograd.grad(u.sum(), x, create_graph=True)
        second, = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)
        return ((first[:, 1] - 0.1 * second[:, 0]) ** 2).mean() + (u**2).mean()

    return train(model, torch.optim.Adam(model.parameters(), 1e-3), loss_of)


def gaussian_process(torch: Any) -> Step:
    """The likelihood of 200 points by a Cholesky factor."""
    x = torch.linspace(0, 1, 200)[:, None]
    y = torch.sin(6 * x) + 0.1 * torch.randn(200, 1)
    logs = torch.zeros(3, requires_grad=True)

    def loss_of() -> Any:
        length, size, noise = logs.exp()
        kernel = size * (-0.5 * (x - x.T) ** 2 / (0.1 * length) ** 2).exp() + (0.1 * noise) ** 2 * torch.eye(200)
        factor = torch.linalg.cholesky(kernel)
        solved = torch.cholesky_solve(y, factor)
        return 0.5 * (y * solved).sum() + factor.diagonal().log().sum()

    return train(None, torch.optim.Adam([logs], 0.01), loss_of)


def maml(torch: Any) -> Step:
    """Learning to learn: gradients through an inner step (Finn et al. 2017), by ``torch.func``."""
    model = mlp_model(torch, (1, 40, 40, 1))
    x, y = torch.randn(2, 16, 10, 1)

    def inner(parameters: Any, x: Any, y: Any) -> Any:
        return ((torch.func.functional_call(model, parameters, (x,)) - y) ** 2).mean()

    def outer(parameters: Any, x: Any, y: Any) -> Any:
        grads = torch.func.grad(inner)(parameters, x, y)
        return inner({k: p - 0.1 * grads[k] for k, p in parameters.items()}, x, y)

    def loss_of() -> Any:
        return torch.func.vmap(outer, (None, 0, 0))(dict(model.named_parameters()), x, y).mean()

    return train(model, torch.optim.Adam(model.parameters(), 1e-3), loss_of)


def per_sample(torch: Any) -> Step:
    """Gradients of every sample, clipped one by one (Abadi et al. 2016)."""
    model = mlp_model(torch, (32, 64, 10))
    x, y = torch.randn(64, 32), torch.arange(64) % 10
    parameters = {k: p.detach() for k, p in model.named_parameters()}

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(torch.func.functional_call(model, parameters, (x[None],)), y[None])

    def step() -> float:
        grads = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(parameters, x, y)
        norms = sum(g.flatten(1).square().sum(1) for g in grads.values()).sqrt()
        scale = (1 / norms).clamp(max=1)
        clipped = [(g * scale.reshape(-1, *[1] * (g.ndim - 1))).mean(0) for g in grads.values()]
        return float(sum(g.square().sum() for g in clipped).item())

    return step


def hessian(torch: Any) -> Step:
    """The whole Hessian of a small model."""
    w = torch.randn(40)
    x, y = torch.randn(64, 40), torch.randn(64)

    def loss(w: Any) -> Any:
        return ((torch.tanh(x @ w) - y) ** 2).mean() + 0.1 * (w**4).sum()

    return lambda: float(torch.func.hessian(loss)(w).sum().item())


def hessian_products(torch: Any) -> Step:
    """Products of the Hessian with a vector, forward over reverse."""
    model = mlp_model(torch, (32, 64, 64, 1))
    x, y = torch.randn(64, 32), torch.randn(64, 1)
    parameters = {k: p.detach() for k, p in model.named_parameters()}
    vector = {k: torch.ones_like(p) for k, p in parameters.items()}

    def loss(parameters: Any) -> Any:
        return ((torch.func.functional_call(model, parameters, (x,)) - y) ** 2).mean()

    def step() -> float:
        _, product = torch.func.jvp(torch.func.grad(loss), (parameters,), (vector,))
        return float(sum(p.sum() for p in product.values()).item())

    return step


def lbfgs(torch: Any) -> Step:
    model = mlp_model(torch, (8, 32, 1))
    x, y = torch.randn(128, 8), torch.randn(128, 1)
    never = dict(tolerance_grad=-1.0, tolerance_change=-1.0)  # a step after convergence would be shorter
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=5, **never)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        return loss

    return lambda: float(optimizer.step(closure).item())


def mixed(torch: Any) -> Step:
    """Autocast to bfloat16."""
    model = mlp_model(torch, (128, 256, 256, 10))
    x, y = torch.randn(64, 128), torch.arange(64) % 10

    def loss_of() -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = model(x)
        return torch.nn.functional.cross_entropy(z.float(), y)

    return train(model, torch.optim.AdamW(model.parameters(), 1e-3), loss_of)


def double(torch: Any) -> Step:
    """All in float64, full batch, many activations."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(16, 128), nn.Softplus(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 1)).double()
    x, y = torch.randn(256, 16, dtype=torch.float64), torch.randn(256, 1, dtype=torch.float64)
    return train(model, torch.optim.RMSprop(model.parameters(), 1e-3), lambda: ((model(x) - y) ** 2).mean())


def kernels(torch: Any) -> Step:
    """Distances of points to centres, softly assigned."""
    points, centres = torch.randn(512, 16), torch.randn(32, 16, requires_grad=True)

    def loss_of() -> Any:
        distances = torch.cdist(points, centres)
        return (distances * (-distances).softmax(1)).sum(1).mean()

    return train(None, torch.optim.Adam([centres], 0.01), loss_of)


def spectrum(torch: Any) -> Step:
    """Layers that multiply in frequencies (Li et al. 2021)."""
    weight = torch.randn(32, 32, 16, dtype=torch.complex64, requires_grad=True)
    x, y = torch.randn(16, 32, 128), torch.randn(16, 32, 128)

    def loss_of() -> Any:
        seen = torch.fft.rfft(x)[..., :16]
        mixed = torch.einsum("bik,iok->bok", seen, weight)
        return ((torch.fft.irfft(mixed, n=128) - y) ** 2).mean()

    return train(None, torch.optim.Adam([weight], 1e-3), loss_of)


MATHEMATICS: list[Kind] = [
    Kind("ode", "neural ODE, ten Runge-Kutta steps", 1.0, neural_ode),
    Kind("physics", "heat equation, second derivatives", 1.0, physics),
    Kind("gaussian-process", "Gaussian process of 200 points", 1.0, gaussian_process),
    Kind("maml", "learning to learn, 16 tasks by vmap", 1.0, maml),
    Kind("per-sample", "gradients of 64 samples by vmap", 1.0, per_sample),
    Kind("hessian", "Hessian of 40 parameters", 1.0, hessian),
    Kind("hessian-products", "Hessian times vector, forward over reverse", 1.0, hessian_products),
    Kind("lbfgs", "L-BFGS, five iterations", 1.0, lbfgs),
    Kind("mixed", "MLP in bfloat16 by autocast", 1.0, mixed),
    Kind("double", "MLP in float64, RMSprop", 1.0, double),
    Kind("distances", "soft assignment by cdist", 1.0, kernels),
    Kind("spectrum", "products in frequencies", 1.0, spectrum),
]
