"""Small models in double precision, and their matrices formed in full."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import wengert as torch

nn = torch.nn

if importlib.util.find_spec("scipy") is None:
    collect_ignore_glob = ["test_*.py"]


class Tokens(nn.Module):
    """Tokens to scores of tokens at each place, classes first; the embedding is the last layer's weight too."""

    def __init__(self, tied):
        super().__init__()
        self.embedding, self.norm, self.last = nn.Embedding(5, 4), nn.LayerNorm(4), nn.Linear(4, 5)
        if tied:
            self.last.weight = self.embedding.weight

    def forward(self, x):
        h = self.embedding(x)
        return self.last(self.norm(h + h.tanh().roll(1, 1))).transpose(1, 2)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.last = nn.LSTM(2, 3, batch_first=True), nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.lstm(x)[0][:, -1])


def normalised():
    model = nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.GELU(), nn.Flatten(), nn.Linear(18, 2))
    model(torch.randn(8, 1, 4, 4))
    return model.eval()


def attention():
    layer = nn.TransformerEncoderLayer(4, 2, 5, 0.0, activation="gelu", batch_first=True)
    return nn.Sequential(layer, nn.Linear(4, 2))


MODELS = {  # how to make the model, its input, and the rows and width of its output
    "dense": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), (3,), (), 2),
    "convolution": (lambda: nn.Sequential(nn.Conv1d(1, 2, 3, stride=2, padding=1), nn.Softplus(), nn.Flatten(),
        nn.Linear(6, 2)), (1, 5), (), 2),
    "batch_norm": (normalised, (1, 4, 4), (), 2),
    "attention": (attention, (3, 4), (3,), 2),
    "lstm": (Recurrent, (3, 2), (), 2),
}


@pytest.fixture(autouse=True)
def _double():
    torch.manual_seed(0)
    former = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(former)


def flat_function(model, params, x):
    """The output for given numbers of the parameters, and these numbers."""
    names = {id(p): name for name, p in model.named_parameters()}

    def output(numbers):
        parts = numbers.split([p.numel() for p in params])
        return torch.func.functional_call(model, {names[id(p)]: part.reshape(p.shape)
            for p, part in zip(params, parts)}, (x,))

    return output, torch.cat([p.detach().reshape(-1) for p in params])


def joined(data):
    """All data as one batch."""
    xs, ys = zip(*data)
    return torch.cat(xs), torch.cat(ys)


def full_hessian(model, loss, data, params=None):
    params = list(model.parameters()) if params is None else params
    x, y = joined(data)
    output, numbers = flat_function(model, params, x)
    return torch.autograd.functional.hessian(lambda n: loss(output(n), y), numbers).numpy()


def full_jacobian(model, data, params=None):
    """The derivatives of the output's elements, and the output."""
    params = list(model.parameters()) if params is None else params
    x, _ = joined(data)
    output, numbers = flat_function(model, params, x)
    out = output(numbers)
    return torch.autograd.functional.jacobian(output, numbers).reshape(out.numel(), -1).numpy(), out.detach()


def full_ggn(model, loss, data, params=None):
    jacobian, out = full_jacobian(model, data, params)
    y = joined(data)[1]
    inner = torch.autograd.functional.hessian(lambda o: loss(o, y), out).reshape(out.numel(), -1).numpy()
    return jacobian.T @ inner @ jacobian


def full_empirical(model, loss, data, axis=-1):
    """``c Σ ∇ℓ∇ℓᵀ``, with ``c`` from the loss: a sum counts each term once, a mean divides it."""
    jacobian, out = full_jacobian(model, data)
    y = joined(data)[1]
    kind = type(loss)
    rows = torch.arange(out.numel()).reshape(out.shape).movedim(axis, -1).reshape(-1, out.shape[axis]).numpy()
    leaf = out.clone().requires_grad_()
    slope = torch.autograd.grad(kind(reduction="sum")(leaf, y), leaf)[0].reshape(-1).numpy()
    gradients = np.stack([jacobian[row].T @ slope[row] for row in rows])
    c = 1.0
    if loss.reduction == "mean":
        c = 1 / (len(rows) if kind is nn.CrossEntropyLoss else out.numel())
    return c * gradients.T @ gradients


def targets(loss, rows, width):
    """Targets of some shape for outputs ``(*rows, width)``, or for classes ``(*rows)``."""
    if isinstance(loss, nn.CrossEntropyLoss):
        return torch.randint(0, width, rows)
    if isinstance(loss, nn.MSELoss):
        return torch.randn(*rows, width)
    return torch.randint(0, 2, (*rows, width)).double()


def cut(x, y, sizes):
    return list(zip(x.split(sizes), y.split(sizes)))
