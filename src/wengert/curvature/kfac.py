"""K-FAC: for each layer the Fisher matrix as a Kronecker product, of its inputs' and its outputs' gradients' moments.

Martens and Grosse, "Optimizing Neural Networks with Kronecker-factored Approximate Curvature", 2015; for convolutions
Grosse and Martens, 2016. Where a layer's weight is used at several places (of an image, of a sequence), each place
counts as an example: the *expand* setting of Eschenhagen et al., 2023.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.graph import get_gradient_edge
from ..functions.creation import from_numpy, ones_like
from ..graph import no_grad
from ..nn import functional as F
from ..nn.modules.conv import Conv1d, Conv2d, Conv3d
from ..nn.modules.linear import Linear
from ..nn.modules.module import Module
from ..tensor.backward import grad
from .arrays import array_of
from .linear import SymmetricOperator
from .operators import check_kind
from .problem import Problem, length
from .scipy_names import eigh

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..tensor import Tensor
    from .losses import Terms

LAYERS = (Linear, Conv1d, Conv2d, Conv3d)
APART = 16  # terms of an example that are carried back one by one
PATCHES = 1 << 22  # numbers of a convolution's patches that are in memory at a time


class KFAC(SymmetricOperator):
    """The block-diagonal approximation of ``Fisher`` with blocks ``G ⊗ A``, computed once, when it is made.

    ``A`` is the mean of ``a aᵀ`` over the places where the layer is used, with a 1 after its input ``a`` if it has a
    bias; ``G`` is ``c Σ g gᵀ`` over the gradients of its outputs there, by each term alone. (Of an example with more
    than 16 terms they come together with random signs, which gives the same sum in the mean, and exactly where terms
    have their places to themselves.) Layers: ``Linear`` and convolutions; of several groups each has a block of its
    own, and the factors are stacked. Layers that share weight and bias are one layer, used several times. For one
    example and layers that are used once it is exactly the diagonal blocks.

    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> K = torch.curvature.KFAC(layer, torch.nn.MSELoss(reduction="sum"), [(torch.eye(2), torch.zeros(2, 1))])
    >>> A, G = K.factors[layer]
    >>> A
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    >>> G
    tensor([[4.0000]])
    """

    def __init__(self, model: Any, loss: Any, data: Any, params: Any = None, *, reduction: str | None = None,
            kind: str = "exact", samples: int = 1, seed: int = 0) -> None:
        problem = Problem(model, loss, data, params, reduction)
        super().__init__(problem)
        check_kind(kind, samples, problem)
        self.kind, self.samples, self.seed = kind, samples, seed
        self._layers = _layers(model, problem.params)
        self._measure()

    @property
    def factors(self) -> Factors:
        """For each module ``(A, G)``; a module may also be asked for by its name."""
        found: dict[Module, list[_Layer]] = {}
        for layer in self._layers:
            for module in layer.modules:
                found.setdefault(module, []).append(layer)
        return Factors({module: _both(layers) for module, layers in found.items()},
            {name: module for layer in self._layers for name, module in zip(layer.names, layer.modules)})

    def inverse(self, damping: float) -> KFACInverse:
        """The operator ``(K + damping·I)⁻¹``, exact.

        >>> layer = torch.nn.Linear(2, 1, bias=False)
        >>> K = torch.curvature.KFAC(layer, torch.nn.MSELoss(reduction="sum"), [(torch.eye(2), torch.zeros(2, 1))])
        >>> K.inverse(2.0) @ [1.0, 2.0]
        array([0.25, 0.5 ], dtype=float32)
        """
        return KFACInverse(self, damping)

    def _products(self, rows: np.ndarray) -> np.ndarray:
        return self._blockwise(rows, lambda layer, block: layer.G @ (block @ layer.A))

    def _blockwise(self, rows: np.ndarray, product: Any) -> np.ndarray:
        """``product(layer, block)`` for each layer, with weights and bias side by side."""
        found = np.zeros_like(rows)
        for layer in self._layers:
            parts = [(layer.share(*self._vectors.places[i]), width) for i, width in layer.parts]
            block = np.concatenate([rows[:, a:b].reshape(len(rows), -1, width) for (a, b), width in parts], -1)
            block, start = product(layer, block), 0
            for (a, b), width in parts:
                found[:, a:b] = block[:, :, start:start + width].reshape(len(rows), -1)
                start += width
        return found

    def _measure(self) -> None:
        random, count, mean = np.random.default_rng(self.seed), 0.0, self._problem.loss.mean
        watch = _Watch(self._layers)
        with watch:
            for terms, x in self._problem.batches():
                count += terms.count() if mean else 0.0
                each, left = divmod(terms.flat.shape[0], length(x))
                gradients = self._gradients(terms, random)
                watch.add_gradients(terms, gradients if (each, left) == (1, 0) else
                    (part for g in gradients for part in _apart(g, terms.flat.shape[0] if left else each, random)))
        for layer in self._layers:
            layer.finish(count if mean else 1.0)

    def _gradients(self, terms: Terms, random: np.random.Generator) -> Iterator[Tensor]:
        """The gradients of the output to carry back."""
        if self.kind == "exact":
            yield from terms.roots()
        elif self.kind == "empirical":
            yield terms.gradient()
        else:
            yield from terms.drawn(self.samples, random) / self.samples**0.5


def _apart(gradient: Tensor, each: int, random: np.random.Generator) -> Iterator[Tensor]:
    """The gradient of one term of each example after the other, as products of different terms have no part in the
    Fisher matrix; where there are many, all with random signs, so that those products have the mean zero.
    """
    rows = gradient.shape[0]
    if each > APART:
        yield gradient * from_numpy(random.choice((-1.0, 1.0), (rows, 1))).to(gradient)
        return
    number = from_numpy(np.arange(rows)[:, None] % each).to(gradient.device)
    for i in range(each):
        yield gradient * (number == i)


class KFACInverse(SymmetricOperator):
    """``(K + damping·I)⁻¹`` of a :class:`KFAC`, by the eigenvalues of its factors."""

    def __init__(self, kfac: KFAC, damping: float) -> None:
        if not damping >= 0:
            raise ValueError(f"damping is {damping}, and must not be negative")
        super().__init__(kfac._problem)
        self._kfac, self.damping = kfac, damping

    def _products(self, rows: np.ndarray) -> np.ndarray:
        return self._kfac._blockwise(rows, self._solved)

    def _solved(self, layer: _Layer, block: np.ndarray) -> np.ndarray:
        (a, QA), (g, QG) = layer.eigen()
        inner = (QG.T @ (block @ QA)) / (g[:, None] * a + block.dtype.type(self.damping))
        return QG @ (inner @ QA.T)


class Factors(dict):
    """Factors by module, which may also be named."""

    def __init__(self, factors: dict[Module, tuple[Tensor, Tensor]], modules: dict[str, Module]) -> None:
        super().__init__(factors)
        self._modules = modules

    def __missing__(self, name: Any) -> tuple[Tensor, Tensor]:
        return self[self._modules[name]]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._modules


def _both(layers: list[_Layer]) -> tuple[Tensor, Tensor]:
    """The factors of a module: of each of its groups, if there are several."""
    if len(layers) == 1:
        return from_numpy(layers[0].A), from_numpy(layers[0].G)
    return from_numpy(np.stack([layer.A for layer in layers])), from_numpy(np.stack([layer.G for layer in layers]))


class _Layer:
    """A layer, or one group of a convolution: which of the parameters are its weight and bias, and its factors as they
    grow. Modules that share the weight are one layer.
    """

    def __init__(self, name: str, module: Any, weight: int | None, bias: int | None, group: int = 0) -> None:
        self.names, self.modules, self.weight, self.bias, self.group = [name], [module], weight, bias, group
        self.groups = getattr(module, "groups", 1)
        self.outputs = module.weight.shape[0] // self.groups
        self.inputs = module.weight.numel() // module.weight.shape[0]
        self.parts = [(i, width) for i, width in ((weight, self.inputs), (bias, 1)) if i is not None]
        width = sum(width for _, width in self.parts)
        dtype = np.result_type(array_of(module.weight.detach().reshape(-1)[:1]).dtype, np.float32)
        self.A, self.G = np.zeros((width, width), dtype), np.zeros((self.outputs, self.outputs), dtype)
        self.places = 0
        self._eigen: Any = None

    def share(self, start: int, stop: int) -> tuple[int, int]:
        """The group's part of the places of a parameter."""
        each = (stop - start) // self.groups
        return start + self.group * each, start + (self.group + 1) * each

    def add_input(self, module: Any, x: Tensor) -> None:
        """Add the moments of what goes in: patches of a convolution."""
        for a in self._rows(module, x):
            self.places += a.shape[0]
            if self.weight is not None:
                self.A[:self.inputs, :self.inputs] += array_of(a.T @ a)
            if self.bias is not None and self.weight is not None:
                total = array_of(a.sum(0))
                self.A[-1, :-1] += total
                self.A[:-1, -1] += total
        if self.bias is not None:
            self.A[-1, -1] = self.places

    def _rows(self, module: Any, x: Tensor) -> Iterator[Tensor]:
        if isinstance(module, Linear):
            yield x.reshape(-1, self.inputs)
            return
        dims = len(module.kernel_size)
        if x.dim() == dims + 1:
            x = x[None]
        x = x[:, slice(*self.share(0, x.shape[1]))]
        x = F.pad(x, module._reversed_padding_repeated_twice,
            mode="constant" if module.padding_mode == "zeros" else module.padding_mode)
        step = max(1, PATCHES // max(1, x[0].numel() * (self.inputs // x.shape[1])))
        for start in range(0, x.shape[0], step):
            yield self._patches(module, x[start:start + step], dims)

    def _patches(self, module: Any, x: Tensor, dims: int) -> Tensor:
        for i, (size, stride, dilation) in enumerate(zip(module.kernel_size, module.stride, module.dilation)):
            x = x.unfold(2 + i, dilation * (size - 1) + 1, stride)[..., ::dilation]
        return x.permute(0, *range(2, 2 + dims), 1, *range(2 + dims, 2 + 2 * dims)).reshape(-1, self.inputs)

    def add_gradient(self, g: Tensor) -> None:
        if not isinstance(self.modules[0], Linear):
            g = g.movedim(-1 - len(self.modules[0].kernel_size), -1)
        g = g.reshape(-1, self.outputs * self.groups)[:, slice(*self.share(0, self.outputs * self.groups))]
        self.G += array_of(g.T @ g)

    def finish(self, count: float) -> None:
        self.A /= max(self.places, 1)
        self.G /= count

    def eigen(self) -> Any:
        """Eigenvalues and vectors of both factors, which have none below zero but for rounding."""
        if self._eigen is None:
            found = [eigh(factor, driver="evd") for factor in (self.A, self.G)]  # half the time of NumPy's
            self._eigen = [(np.maximum(values, 0), vectors) for values, vectors in found]
        return self._eigen


class _Watch:
    """Sees the calls of layers: takes the moments of inputs, and keeps where gradients of outputs will come by."""

    def __init__(self, layers: list[_Layer]) -> None:
        self.layers = layers
        self.calls: list[tuple[_Layer, Any]] = []

    def __enter__(self) -> None:
        def noting(layer: _Layer) -> Any:
            def hook(module: Module, args: Any, kwargs: Any, output: Any) -> None:
                with no_grad():
                    layer.add_input(module, (args[0] if args else kwargs["input"]).detach())
                self.calls.append((layer, get_gradient_edge(output)))

            return hook

        self.hooks = [module.register_forward_hook(noting(layer), with_kwargs=True) for layer in self.layers
            for module in layer.modules]

    def __exit__(self, *_: Any) -> None:
        for hook in self.hooks:
            hook.remove()

    def add_gradients(self, terms: Terms, gradients: Iterable[Tensor]) -> None:
        """Carry gradients of the output back to the layers that were called since."""
        calls, self.calls = self.calls, []
        self._check(terms, calls)
        edges = [edge for _, edge in calls]
        if not edges:
            return
        for gradient in gradients:
            found = grad(terms.rows, edges, gradient, retain_graph=True, allow_unused=True)
            for (layer, _), g in zip(calls, found):
                if g is not None:
                    layer.add_gradient(g)

    def _check(self, terms: Terms, calls: list[tuple[_Layer, Any]]) -> None:
        """A layer that another calls only through its weight, as attention does, is not seen."""
        seen = {id(layer) for layer, _ in calls}
        unseen = [layer for layer in self.layers if id(layer) not in seen]
        if not unseen:
            return
        weights = [layer.modules[0].weight for layer in unseen if layer.modules[0].weight.requires_grad]
        ones = ones_like(terms.flat)
        found = grad(terms.rows, weights, ones, retain_graph=True, allow_unused=True) if weights else ()
        if any(g is not None for g in found):
            raise ValueError("K-FAC needs the calls of layers, and the weights of these are used without one: "
                + ", ".join(repr(layer.names[0]) for layer in unseen) + "; leave them out of params")


def _layers(model: Any, params: list[Tensor]) -> list[_Layer]:
    """The layers that have the parameters."""
    if not isinstance(model, Module):
        raise ValueError(f"K-FAC needs a module, whose layers it knows, not a {type(model).__name__}")
    place = {id(p): i for i, p in enumerate(params)}
    layers: list[_Layer] = []
    homes: dict[int, set[Any]] = {i: set() for i in range(len(params))}
    for name, module in model.named_modules():
        own = {key: place[id(p)] for key, p in module._parameters.items() if p is not None and id(p) in place}
        groups = getattr(module, "groups", 1)
        kind = next((k for k in LAYERS if isinstance(module, k)), type(module))
        for i in own.values():
            homes[i].add((kind, groups, own.get("weight"), own.get("bias"), getattr(module, "bias", None) is None))
        if own and kind in LAYERS:
            alike = [layer for layer in layers if (layer.weight, layer.bias) == (own.get("weight"), own.get("bias"))]
            for layer in alike:
                layer.names.append(name)
                layer.modules.append(module)
            if not alike:
                layers += [_Layer(name, module, own.get("weight"), own.get("bias"), group) for group in range(groups)]
    shared = {i for i, of in homes.items() if len(of) > 1}
    known = {i for layer in layers for i, _ in layer.parts}
    names = {id(p): name for name, p in model.named_parameters()}
    for problem, wrong in (("are not of a Linear or a convolution", set(place.values()) - known),
            ("belong to layers of different kinds or with other biases", shared)):
        if wrong:
            listed = ", ".join(names.get(id(params[i]), f"number {i}") for i in sorted(wrong))
            raise ValueError(f"K-FAC is defined for the parameters of such layers, and these {problem}: {listed}; "
                "leave them out of params")
    return layers
