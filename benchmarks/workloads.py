"""The workloads: ordinary PyTorch code that takes the library as an argument.

A workload is made by ``make(torch)``, which returns ``step``: one call is one measured unit, and returns a number (the
loss, where there is one) by which the libraries are compared. Data and weights come from the library's own seeded
generators, which agree, so the numbers do too.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[], float | None]


class Workload(NamedTuple):
    """What is measured, and the ratio wengert/PyTorch that it must not exceed."""

    name: str
    title: str
    limit: float
    make: Callable[[Any], Step]
    per: int = 1  # operations in a step: times are quoted for one of them
    measures: str = "step"  # "step": time the call; "returned": the call returns its own seconds


# ---- cost of one operation ----


def multiply(torch: Any) -> Step:
    a, b = (torch.randn(8, 8, requires_grad=True) for _ in range(2))

    def step() -> None:
        for _ in range(1000):
            a * b

    return step


def backward_seconds(torch: Any, nodes: int) -> float:
    x, factor = torch.randn(8, 8, requires_grad=True), torch.full((8, 8), 1.0001)
    y, ones = x, torch.ones(8, 8)
    for _ in range(nodes):
        y = y * factor
    start = time.perf_counter()
    y.backward(ones)
    return time.perf_counter() - start


def chain_node(torch: Any) -> Step:
    """Seconds per node, from the difference of a long chain and a short one."""
    return lambda: (backward_seconds(torch, 1001) - backward_seconds(torch, 1)) / 1000


def backward_fixed(torch: Any) -> Step:
    return lambda: min(backward_seconds(torch, 1) for _ in range(20))


def long_chain(torch: Any) -> Step:
    x, factor = torch.randn(8, requires_grad=True), torch.full((8,), 1.00001)

    def step() -> float:
        x.grad = None
        y = x
        for _ in range(100_000):
            y = y * factor
        y.sum().backward()
        return float(x.grad.sum())

    return step


# ---- training steps ----


def train(model: Any, optimizer: Any, loss_of: Callable[[], Any]) -> Step:
    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def mlp_model(torch: Any, sizes: tuple[int, ...]) -> Any:
    nn = torch.nn
    layers: list[Any] = []
    for i, o in itertools.pairwise(sizes):
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def mlp(sizes: tuple[int, ...], batch: int, optimizer: str, **options: float) -> Callable[[Any], Step]:
    def make(torch: Any) -> Step:
        functional = torch.nn.functional
        model = mlp_model(torch, sizes)
        x = torch.randn(batch, sizes[0])
        if sizes[-1] == 1:
            y = torch.randn(batch, 1)
            loss_of = lambda: functional.mse_loss(model(x), y)  # noqa: E731
        else:
            y = torch.randint(0, sizes[-1], (batch,))
            loss_of = lambda: functional.cross_entropy(model(x), y)  # noqa: E731
        return train(model, getattr(torch.optim, optimizer)(model.parameters(), **options), loss_of)

    return make


def tanh_mlp(torch: Any, sizes: tuple[int, ...]) -> Any:
    nn = torch.nn
    layers: list[Any] = []
    for i, o in itertools.pairwise(sizes):
        layers += [nn.Linear(i, o), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def gradient_penalty(torch: Any) -> Step:
    """The gradient of the penalty on the norm of a critic's gradient, as WGAN-GP trains with."""
    model, x = tanh_mlp(torch, (16, 64, 64, 1)), torch.randn(32, 16, requires_grad=True)

    def step() -> float:
        (g,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        loss = ((g.norm(2, dim=1) - 1) ** 2).mean()
        model.zero_grad()
        loss.backward()
        return float(loss.item())

    return step


def burgers(torch: Any) -> Step:
    """A network that solves Burgers' equation: second derivatives in its inputs, third ones for its parameters."""
    model = tanh_mlp(torch, (2, 20, 20, 1))
    t, x = (torch.rand(64, 1, requires_grad=True) for _ in range(2))

    def loss_of() -> Any:
        u = model(torch.cat([t, x], 1))
        one = torch.ones_like(u)
        ut, ux = torch.autograd.grad(u, (t, x), one, create_graph=True)
        (uxx,) = torch.autograd.grad(ux, x, one, create_graph=True)
        return ((ut + u * ux - 0.01 * uxx) ** 2).mean()

    return train(model, torch.optim.Adam(model.parameters()), loss_of)


def gpt_model(torch: Any, layers: int, width: int, heads: int, length: int, vocabulary: int) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, time_, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).split(width, dim=2)
            q, k, v = (t.view(batch, time_, heads, width // heads).transpose(1, 2) for t in (q, k, v))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).contiguous().view(batch, time_, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return GPT()


def gpt(layers: int, width: int, heads: int, batch: int, length: int, vocabulary: int = 65) -> Callable[[Any], Step]:
    def make(torch: Any) -> Step:
        model = gpt_model(torch, layers, width, heads, length, vocabulary)
        x, y = (torch.randint(0, vocabulary, (batch, length)) for _ in range(2))
        cross_entropy = torch.nn.functional.cross_entropy
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        return train(model, optimizer, lambda: cross_entropy(model(x).view(-1, vocabulary), y.view(-1)))

    return make


def cnn(torch: Any) -> Step:
    nn, functional = torch.nn, torch.nn.functional
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10),
    )
    x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    return train(model, optimizer, lambda: functional.cross_entropy(model(x), y))


def lstm(torch: Any) -> Step:
    nn, functional = torch.nn, torch.nn.functional

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.lstm = nn.Embedding(65, 64), nn.LSTM(64, 128, batch_first=True)
            self.head = nn.Linear(128, 65)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.lstm(self.embedding(tokens))[0])

    model = Model()
    x, y = (torch.randint(0, 65, (16, 64)) for _ in range(2))
    optimizer = torch.optim.Adam(model.parameters())
    return train(model, optimizer, lambda: functional.cross_entropy(model(x).view(-1, 65), y.view(-1)))


# ---- inference and single pieces ----


def infer(model_of: Callable[[Any], tuple[Any, Any]]) -> Callable[[Any], Step]:
    def make(torch: Any) -> Step:
        model, x = model_of(torch)
        model.eval()

        def step() -> float:
            with torch.inference_mode():
                return float(model(x).sum().item())

        return step

    return make


def adamw_step(torch: Any) -> Step:
    parameters = [torch.nn.Parameter(torch.randn(1000, 1000)) for _ in range(10)]
    for p in parameters:
        p.grad = torch.randn(1000, 1000)
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)

    def step() -> float:
        optimizer.step()
        return float(parameters[0][0, 0].item())

    return step


def layer_norm(torch: Any) -> Step:
    norm = torch.nn.LayerNorm(2048)
    x, g = torch.randn(512, 2048, requires_grad=True), torch.randn(512, 2048)

    def step() -> float:
        x.grad = norm.weight.grad = norm.bias.grad = None
        norm(x).backward(g)
        return float(x.grad[0, 0].item())

    return step


def attention(torch: Any) -> Step:
    q, k, v = (torch.randn(8, 6, 256, 64, requires_grad=True) for _ in range(3))
    g = torch.randn(8, 6, 256, 64)

    def step() -> float:
        q.grad = k.grad = v.grad = None
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).backward(g)
        return float(q.grad.sum().item())

    return step


BIG = (1024, 2048, 2048, 1024, 10)
WORKLOADS = [
    Workload("multiply", "8×8 multiply, recorded", 0.6, multiply, per=1000),
    Workload("node", "backward, per node of a 1,000-chain", 0.6, chain_node, measures="returned"),
    Workload("fixed", "backward, fixed cost", 0.4, backward_fixed, measures="returned"),
    Workload("chain", "chain of 100,000 operations, both ways", 0.6, long_chain),
    Workload("mlp-tiny", "MLP 2-16-16-1, batch 32, SGD", 0.5, mlp((2, 16, 16, 1), 32, "SGD", lr=0.01)),
    Workload("mlp-small", "MLP 64-128-64-10, batch 64, Adam", 0.6, mlp((64, 128, 64, 10), 64, "Adam")),
    Workload("mlp-mnist", "MLP 784-512-256-128-10, batch 64, AdamW", 0.85, mlp((784, 512, 256, 128, 10), 64, "AdamW")),
    Workload("mlp-big", "MLP 1024-2048-2048-1024-10, batch 256, SGD", 0.95, mlp(BIG, 256, "SGD", lr=0.01)),
    Workload("gpt-small", "GPT 4 layers, width 128, 12×64, AdamW", 0.8, gpt(4, 128, 4, 12, 64)),
    Workload("gpt-big", "GPT 6 layers, width 384, 8×256, AdamW", 0.85, gpt(6, 384, 6, 8, 256)),
    Workload("cnn", "CNN on 64×1×28×28, Adadelta", 0.9, cnn),
    Workload("lstm", "LSTM 64→128, 16×64 tokens, Adam", 0.8, lstm),
    Workload("penalty", "gradient penalty of an MLP 16-64-64-1, batch 32", 0.9, gradient_penalty),
    Workload("burgers", "Burgers' equation, MLP 2-20-20-1, batch 64, Adam", 0.9, burgers),
    Workload("infer-mlp", "big MLP, batch 1, inference", 0.9,
             infer(lambda torch: (mlp_model(torch, BIG), torch.randn(1, 1024)))),
    Workload("infer-gpt", "big GPT, 1×256, inference", 0.9,
             infer(lambda torch: (gpt_model(torch, 6, 384, 6, 256, 65), torch.randint(0, 65, (1, 256))))),
    Workload("adamw", "AdamW step, 10 million parameters", 0.8, adamw_step),
    Workload("layer-norm", "layer norm 512×2048, both ways", 0.7, layer_norm),
    Workload("attention", "attention 8×6×256×64 causal, both ways", 0.8, attention),
]
