"""The training workloads once more, as a JAX user writes them: one compiled function per step.

JAX is another kind of library (it traces a function once and compiles it), so this is a column for orientation, not a
goal. Weights and data are drawn by wengert exactly as in ``workloads.py``: the losses can be compared. A workload that
has no counterpart (a recorded operation, the fixed cost of a backward) is not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

import wengert
from benchmarks import workloads

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.workloads import Step

    Tree = Any  # a nest of dicts and lists of arrays
    Update = Callable[[Tree, Tree, Tree], tuple[Tree, Tree]]  # (parameters, gradients, state) -> (parameters, state)


def arrays(model: Any) -> list[Any]:
    """Copy a model's parameters, in order."""
    return [jnp.asarray(p.detach().numpy().copy()) for p in model.parameters()]


def sgd(lr: float) -> tuple[Callable[[Tree], Tree], Update]:
    def update(parameters: Tree, gradients: Tree, state: Tree) -> tuple[Tree, Tree]:
        return jax.tree.map(lambda p, g: p - lr * g, parameters, gradients), state

    return (lambda parameters: ()), update


def adam(lr: float = 1e-3, decay: float = 0.0, eps: float = 1e-8) -> tuple[Callable[[Tree], Tree], Update]:
    """Adam (Kingma & Ba, 2015), and AdamW (Loshchilov & Hutter, 2019) with a decay that is not 0."""

    def start(parameters: Tree) -> Tree:
        first, second = (jax.tree.map(jnp.zeros_like, parameters) for _ in range(2))
        return first, second, jnp.zeros(())

    def update(parameters: Tree, gradients: Tree, state: Tree) -> tuple[Tree, Tree]:
        first, second, count = state
        count = count + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
        size, scale = lr / (1 - 0.9**count), jnp.sqrt(1 - 0.999**count)
        new = jax.tree.map(lambda p, m, v: p * (1 - lr * decay) - size * m / (jnp.sqrt(v) / scale + eps), parameters,
            first, second)
        return new, (first, second, count)

    return start, update


def train(parameters: Tree, loss_of: Callable[[Tree], Any], optimizer: tuple[Callable[[Tree], Tree], Update]) -> Step:
    start, update = optimizer
    held = [parameters, start(parameters)]

    def whole(parameters: Tree, state: Tree) -> tuple[Any, Tree, Tree]:
        loss, gradients = jax.value_and_grad(loss_of)(parameters)
        return loss, *update(parameters, gradients, state)

    compiled = jax.jit(whole, donate_argnums=(0, 1))

    def step() -> float:
        loss, held[0], held[1] = compiled(*held)
        return float(loss)

    return step


def cross_entropy(scores: Any, target: Any) -> Any:
    picked = jnp.take_along_axis(jax.nn.log_softmax(scores), target[..., None], axis=-1)
    return -picked.mean()


def linear(x: Any, weight: Any, bias: Any) -> Any:
    return x @ weight.T + bias


def mlp_forward(parameters: list[Any], x: Any) -> Any:
    layers = list(zip(parameters[::2], parameters[1::2], strict=True))
    for weight, bias in layers[:-1]:
        x = jax.nn.relu(linear(x, weight, bias))
    return linear(x, *layers[-1])


def mlp(sizes: tuple[int, ...], batch: int, optimizer: tuple[Callable[[Tree], Tree], Update]) -> Step:
    parameters = arrays(workloads.mlp_model(wengert, sizes))
    x = jnp.asarray(wengert.randn(batch, sizes[0]).numpy())
    if sizes[-1] == 1:
        y = jnp.asarray(wengert.randn(batch, 1).numpy())
        return train(parameters, lambda p: ((mlp_forward(p, x) - y) ** 2).mean(), optimizer)
    target = jnp.asarray(wengert.randint(0, sizes[-1], (batch,)).numpy())
    return train(parameters, lambda p: cross_entropy(mlp_forward(p, x), target), optimizer)


def norm(x: Any, weight: Any, bias: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weight + bias


def attend(q: Any, k: Any, v: Any) -> Any:
    """Attention of (batch, length, heads, size), causal."""
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def gpt_forward(parameters: dict[str, Any], tokens: Any, layers: int, heads: int) -> Any:
    p = parameters
    x = p["tokens.weight"][tokens] + p["places.weight"][: tokens.shape[1]]
    batch, length, width = x.shape
    for i in range(layers):
        w = {key: (p[f"blocks.{i}.{key}.weight"], p[f"blocks.{i}.{key}.bias"])
            for key in ("norm1", "norm2", "qkv", "out", "up", "down")}
        q, k, v = (t.reshape(batch, length, heads, -1)
            for t in jnp.split(linear(norm(x, *w["norm1"]), *w["qkv"]), 3, axis=2))
        x = x + linear(attend(q, k, v).reshape(batch, length, width), *w["out"])
        x = x + linear(jax.nn.gelu(linear(norm(x, *w["norm2"]), *w["up"]), approximate=False), *w["down"])
    return norm(x, p["norm.weight"], p["norm.bias"]) @ p["head.weight"].T


def gpt(layers: int, width: int, heads: int, batch: int, length: int, vocabulary: int = 65) -> Step:
    model = workloads.gpt_model(wengert, layers, width, heads, length, vocabulary)
    parameters = {name: jnp.asarray(p.detach().numpy().copy()) for name, p in model.named_parameters()}
    x, y = (jnp.asarray(wengert.randint(0, vocabulary, (batch, length)).numpy()) for _ in range(2))
    loss_of = lambda p: cross_entropy(gpt_forward(p, x, layers, heads), y)  # noqa: E731
    return train(parameters, loss_of, adam(decay=0.01))


def infer_mlp() -> Step:
    parameters = arrays(workloads.mlp_model(wengert, workloads.BIG))
    x = jnp.asarray(wengert.randn(1, workloads.BIG[0]).numpy())
    forward = jax.jit(lambda p, x: mlp_forward(p, x).sum())
    return lambda: float(forward(parameters, x))


def infer_gpt() -> Step:
    model = workloads.gpt_model(wengert, 6, 384, 6, 256, 65)
    parameters = {name: jnp.asarray(p.detach().numpy().copy()) for name, p in model.named_parameters()}
    x = jnp.asarray(wengert.randint(0, 65, (1, 256)).numpy())
    forward = jax.jit(lambda p, x: gpt_forward(p, x, 6, 6).sum())
    return lambda: float(forward(parameters, x))


def layer_norm() -> Step:
    weight, bias = jnp.ones(2048), jnp.zeros(2048)
    x, g = (jnp.asarray(wengert.randn(512, 2048).numpy()) for _ in range(2))

    @jax.jit
    def both(x: Any, weight: Any, bias: Any) -> Any:
        return jax.vjp(norm, x, weight, bias)[1](g)

    return lambda: float(both(x, weight, bias)[0].block_until_ready()[0, 0])


def attention() -> Step:
    q, k, v, g = (jnp.asarray(wengert.randn(8, 6, 256, 64).numpy()).transpose(0, 2, 1, 3) for _ in range(4))
    both = jax.jit(lambda q, k, v: jax.vjp(attend, q, k, v)[1](g))
    return lambda: float(both(q, k, v)[0].sum())


WORKLOADS: dict[str, Callable[[], Step]] = {
    "mlp-tiny": lambda: mlp((2, 16, 16, 1), 32, sgd(0.01)),
    "mlp-small": lambda: mlp((64, 128, 64, 10), 64, adam()),
    "mlp-mnist": lambda: mlp((784, 512, 256, 128, 10), 64, adam(decay=0.01)),
    "mlp-big": lambda: mlp(workloads.BIG, 256, sgd(0.01)),
    "gpt-small": lambda: gpt(4, 128, 4, 12, 64),
    "gpt-big": lambda: gpt(6, 384, 6, 8, 256),
    "infer-mlp": infer_mlp,
    "infer-gpt": infer_gpt,
    "layer-norm": layer_norm,
    "attention": attention,
}
