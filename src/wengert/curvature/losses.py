"""What the matrices need to know of a loss: the terms that it sums over a batch, and each term's derivatives.

A *term* is one row of the model's output: the scores of the classes at one place, otherwise its last dimension. All
tensors here are ``(terms, width)``; ``mean`` says what the sum of the terms is divided by at the end.
"""

from __future__ import annotations

import copy
import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functions.creation import from_numpy, zeros_like
from ..nn import functional as F
from ..nn.modules import loss as modules
from ..nn.modules.module import Module
from ..tensor import Tensor
from ..tensor.backward import grad
from .arrays import KNOWN, array_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Terms:
    """The terms of a batch: ``rows`` belongs to the graph of the model, ``flat`` are its numbers alone.

    ``share``: what the sum counts by, where the batch is all there is.
    """

    samples = True  # there is a distribution of targets to draw from
    axis = -1  # of the output, along which a term lies

    def __init__(self, loss: Any, out: Tensor, y: Any, mean: bool) -> None:
        self.loss, self.mean, self.shape, self.y = loss, mean, tuple(out.shape), y
        self._place()
        self.rows, self.share = self._as_rows(out), 1.0

    def _place(self) -> None:
        """Check the target against the shape of the output, and bring it to rows."""

    def _as_rows(self, t: Tensor) -> Tensor:
        if len(self.shape) < 2:  # one number for each example
            return t.reshape(-1, 1)
        if len(self.shape) == 2 and self.axis:
            return t
        return t.movedim(self.axis, -1).reshape(-1, self.shape[self.axis])

    @functools.cached_property
    def flat(self) -> Tensor:
        return self.rows.detach()

    def release(self) -> tuple[Tensor, Tensor | None]:
        """What to begin a backward with: the rows and the gradient there, or the sum of the terms and its share, where
        that is not 1. The graph of the model is only its own then.
        """
        rows, self.rows, share = self.rows, self.flat, self.share
        slope = self.slope(rows, share) if rows.requires_grad else None
        if slope is not None:
            return rows, slope
        value = self.summed(rows)
        return value, None if share == 1 else Tensor._wg_wrap(np.full_like(value._wg_data, share))

    def count(self) -> float:
        """What a mean over this batch alone divides by."""
        raise NotImplementedError

    def summed(self, rows: Tensor) -> Tensor:
        """The sum of the terms, where the output has these rows."""
        raise NotImplementedError

    def slope(self, rows: Tensor, share: float = 1.0) -> Tensor | None:
        """The gradient of each term in its row, times its share, with a history, by a formula that is shorter than the
        loss and its backward; None where there is none.
        """
        return None

    def curvature(self, fisher: bool = False) -> Callable[[Tensor], Tensor]:
        """The product with the second derivative of each term; ``fisher``: with its mean over the model's targets."""
        raise NotImplementedError

    def roots(self) -> Iterator[Tensor]:
        """Tensors whose outer products, row by row, sum to the second derivative of each term."""
        raise NotImplementedError

    def drawn(self, samples: int, random: np.random.Generator) -> Tensor:
        """The gradients of each term at targets that the model's distribution gives: ``(samples, terms, width)``."""
        raise NotImplementedError

    def gradient(self) -> Tensor:
        """The gradient of each term."""
        found = self.slope(self.flat)
        if found is not None:
            return found
        rows = self.flat.detach().requires_grad_()
        return grad(self.summed(rows), rows)[0]

    def _everyday(self, *others: Tensor) -> bool:
        """Whether the rows, and ``others``, are of one type that NumPy computes with."""
        kind = self.flat.dtype
        return kind in KNOWN and type(self.flat._wg_data) is np.ndarray and all(
            t.dtype is kind and type(t._wg_data) is np.ndarray for t in others)

    def _numbers(self, draw: Callable[[tuple[int, ...]], np.ndarray], *shape: int) -> Tensor:
        """Random numbers, the last dimension first; each row has its own, however the data are cut into batches."""
        return from_numpy(np.ascontiguousarray(np.moveaxis(draw(shape), -1, 0))).to(self.flat)


class CrossEntropy(Terms):
    """Scores of classes: in dimension 1 as PyTorch has them, or last where only that fits the targets."""

    def _place(self) -> None:
        y, shape = self.y, self.shape
        self.axis = 1 if len(shape) > 1 else 0
        self.likely = y.is_floating_point()  # the targets are probabilities
        if not self.likely and len(shape) > 2 and tuple(y.shape) != (shape[0], *shape[2:]) \
                and tuple(y.shape) == shape[:-1]:
            self.axis = -1
        self.y = self._as_rows(y) if self.likely else y.reshape(-1)

    def _as_rows(self, t: Tensor) -> Tensor:
        return t.reshape(1, -1) if t.dim() == 1 else super()._as_rows(t)

    @functools.cached_property
    def plain(self) -> bool:
        """Whether the target is one class for each term, none is left out, and all count alike."""
        y = self.y._wg_data  # below: negative numbers are large without their sign
        return (not (self.likely or self.loss.label_smoothing) and self.loss.weight is None and self._everyday()
            and self.loss.ignore_index < 0 and type(y) is np.ndarray and y.dtype.char == "l" and y.size > 0
            and y.shape == self.flat.shape[:1] and y.view(np.uint64).max() < self.flat.shape[1])

    def slope(self, rows: Tensor, share: float = 1.0) -> Tensor | None:
        if not self.plain:
            return None
        wanted = np.zeros(tuple(rows.shape), rows._wg_data.dtype)
        wanted[np.arange(len(wanted)), self.y._wg_data] = -share
        return Tensor._wg_wrap(wanted).add(F.softmax(rows, -1), alpha=share)

    def _weights(self) -> Any:
        """The weight of each target, as a mean divides by it; 1 for all: None."""
        if self.likely or self.plain:
            return None
        weight, ignored = self.loss.weight, self.y == self.loss.ignore_index
        if weight is None:
            return (~ignored).to(self.flat.dtype) if ignored.any() else None
        return weight.to(self.flat.dtype)[self.y.masked_fill(ignored, 0)].masked_fill(ignored, 0)

    def count(self) -> float:
        weights = self._weights()
        return float(self.rows.shape[0]) if weights is None else weights.sum().item()

    def summed(self, rows: Tensor) -> Tensor:
        return F.cross_entropy(rows, self.y, self.loss.weight, ignore_index=self.loss.ignore_index, reduction="sum",
            label_smoothing=self.loss.label_smoothing)

    def _mass(self) -> Any:
        """The sum of each term's targets: its second derivative is so many times that of one class."""
        weight, smoothing, classes = self.loss.weight, self.loss.label_smoothing, self.flat.shape[1]
        if self.likely:
            targets = self.y * (1 - smoothing) + smoothing / classes
            return (targets if weight is None else targets * weight).sum(1, keepdim=True)
        mass = self._weights()
        if mass is not None and weight is not None and smoothing:
            kept = (self.y != self.loss.ignore_index).to(mass.dtype)
            mass = (1 - smoothing) * mass + kept * (smoothing / classes) * weight.sum()
        return None if mass is None else mass[:, None]

    def curvature(self, fisher: bool = False) -> Callable[[Tensor], Tensor]:
        p, mass = F.softmax(self.flat, -1), self._mass()

        def product(u: Tensor) -> Tensor:
            pu = p * u
            found = pu - p * pu.sum(-1, keepdim=True)
            return found if mass is None else found * mass

        return product

    def roots(self) -> Iterator[Tensor]:
        p, mass = F.softmax(self.flat, -1), self._mass()
        scale = p.sqrt() if mass is None else (p * mass).sqrt()
        for c in range(p.shape[1]):
            root = -p * scale[:, c:c + 1]
            root[:, c] += scale[:, c]
            yield root

    def drawn(self, samples: int, random: np.random.Generator) -> Tensor:
        p, mass = array_of(F.softmax(self.flat, -1)), self._mass()
        upto = p.cumsum(-1)
        levels = np.moveaxis(random.random((len(p), samples)), -1, 0)[..., None] * upto[:, -1:]
        found = np.broadcast_to(p, (samples, *p.shape)).copy()
        for gradient, level in zip(found, levels):
            chosen = np.minimum((upto <= level).sum(-1), p.shape[1] - 1)
            gradient[np.arange(len(p)), chosen] -= 1
        drawn = from_numpy(found).to(self.flat)
        return drawn if mass is None else drawn * mass.sqrt()


class Elementwise(Terms):
    """A loss that sums over elements: ``second`` are their second derivatives."""

    def _place(self) -> None:
        if tuple(self.y.shape) != self.shape:
            raise ValueError(f"the target's shape {tuple(self.y.shape)} is not that of the output, {self.shape}")
        self.y = self._as_rows(self.y)
        weight = getattr(self.loss, "weight", None)
        self.weight = None if weight is None else self._as_rows(weight.expand(self.shape))

    def count(self) -> float:
        return float(self.rows.numel())

    def second(self, fisher: bool) -> Tensor | float:
        raise NotImplementedError

    def noise(self, samples: int, random: np.random.Generator) -> Tensor:
        """Gradients at drawn targets, of elements without weights."""
        raise NotImplementedError

    def curvature(self, fisher: bool = False) -> Callable[[Tensor], Tensor]:
        second = self.second(fisher)
        return lambda u: second * u

    def roots(self) -> Iterator[Tensor]:
        second = self.second(True)
        root = (zeros_like(self.flat) + second).sqrt()
        for k in range(root.shape[1]):
            column = zeros_like(root)
            column[:, k] = root[:, k]
            yield column

    def drawn(self, samples: int, random: np.random.Generator) -> Tensor:
        found = self.noise(samples, random)
        return found if self.weight is None else found * self.weight.sqrt()

    def _weighted(self, second: Tensor) -> Tensor:
        return second if self.weight is None else second * self.weight


class Squares(Elementwise):
    """Squared differences; the distribution of targets is normal with variance ½."""

    def summed(self, rows: Tensor) -> Tensor:
        return F.mse_loss(rows, self.y, reduction="sum")

    def slope(self, rows: Tensor, share: float = 1.0) -> Tensor | None:
        return (rows - self.y) * (2 * share) if self._everyday(self.y) else None

    def second(self, fisher: bool) -> float:
        return 2.0

    def noise(self, samples: int, random: np.random.Generator) -> Tensor:
        return math.sqrt(2) * self._numbers(random.standard_normal, *self.flat.shape, samples)


class Logits(Elementwise):
    """The cross-entropy of independent events, given the logarithms of their odds."""

    def _place(self) -> None:
        super()._place()
        positive = self.loss.pos_weight
        self.positive = None if positive is None else self._as_rows(positive.expand(self.shape))

    def summed(self, rows: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(rows, self.y, self.weight, pos_weight=self.positive, reduction="sum")

    def slope(self, rows: Tensor, share: float = 1.0) -> Tensor | None:
        if not (self.positive is self.weight is None and self._everyday(self.y)):
            return None
        slope = rows.sigmoid() - self.y
        return slope if share == 1 else slope * share

    def _emphasis(self) -> Any:
        return 1 if self.positive is None else self.positive * self.y + 1 - self.y

    def second(self, fisher: bool) -> Tensor:
        p = self.flat.sigmoid()
        return self._weighted(p * (1 - p) * self._emphasis())

    def noise(self, samples: int, random: np.random.Generator) -> Tensor:
        p, emphasis = self.flat.sigmoid(), self._emphasis()
        y = (self._numbers(random.random, *p.shape, samples) < p).to(p.dtype)
        return (p - y) * (1 if self.positive is None else emphasis.sqrt())


class Probabilities(Elementwise):
    """The same, given their probabilities."""

    def summed(self, rows: Tensor) -> Tensor:
        return F.binary_cross_entropy(rows, self.y, self.weight, reduction="sum")

    def second(self, fisher: bool) -> Tensor:
        p, y = self.flat, self.y
        return self._weighted(1 / (p * (1 - p)) if fisher else y / p**2 + (1 - y) / (1 - p)**2)

    def noise(self, samples: int, random: np.random.Generator) -> Tensor:
        p = self.flat
        y = (self._numbers(random.random, *p.shape, samples) < p).to(p.dtype)
        return (p - y) / (p * (1 - p))


class Called(Terms):
    """Any other loss: a function of output and target. Its derivatives are autograd's."""

    samples = False

    def _place(self) -> None:
        self.ours = type(self.loss).__module__ == modules.__name__
        if self.ours:
            self.loss, self.given = copy.copy(self.loss), self.loss
            self.loss.reduction = "sum"

    def count(self) -> float:
        terms = float(self.flat.shape[0])
        if not (self.ours and self.mean):
            return terms
        out = self.flat.reshape(self.shape)
        mean = self.given(out, self.y).item()
        return self.loss(out, self.y).item() / mean if mean and math.isfinite(mean) else terms

    def summed(self, rows: Tensor) -> Tensor:
        value = self.loss(rows.reshape(self.shape), self.y)
        return value * self.flat.shape[0] if self.mean and not self.ours else value

    def curvature(self, fisher: bool = False) -> Callable[[Tensor], Tensor]:
        rows = self.flat.detach().requires_grad_()
        slope = grad(self.summed(rows), rows, create_graph=True)[0]

        def product(u: Tensor) -> Tensor:
            if not slope.requires_grad:
                return zeros_like(u)
            found = grad(slope, rows, u, retain_graph=True, allow_unused=True)[0]
            return zeros_like(u) if found is None else found

        return product

    def roots(self) -> Iterator[Tensor]:
        product, columns = self.curvature(), []
        for k in range(self.flat.shape[1]):
            unit = zeros_like(self.flat)
            unit[:, k] = 1
            columns.append(array_of(product(unit)))
        values, vectors = np.linalg.eigh(np.stack(columns, -1))
        roots = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
        for k in range(roots.shape[-1]):
            yield from_numpy(np.ascontiguousarray(roots[:, :, k])).to(self.flat)


KINDS: dict[Any, Any] = {modules.CrossEntropyLoss: CrossEntropy, modules.MSELoss: Squares,
    modules.BCEWithLogitsLoss: Logits, modules.BCELoss: Probabilities}
FUNCTIONS = {F.cross_entropy: modules.CrossEntropyLoss, F.mse_loss: modules.MSELoss,
    F.binary_cross_entropy_with_logits: modules.BCEWithLogitsLoss, F.binary_cross_entropy: modules.BCELoss}


class Loss:
    """A loss as the matrices see it; ``terms`` takes a batch apart."""

    def __init__(self, loss: Any, reduction: str | None) -> None:
        loss, reduction = _as_module(loss, reduction)
        if reduction not in ("mean", "sum"):
            raise ValueError(f"the reduction of a loss is 'mean' or 'sum', not {reduction!r}")
        self.loss, self.mean = loss, reduction == "mean"
        self.kind: Any = next((kind for module, kind in KINDS.items()
            if isinstance(loss, module) and type(loss).forward is module.forward), Called)

    def terms(self, out: Any, y: Any) -> Terms:
        if not isinstance(out, Tensor):
            raise ValueError(f"the model's output is a {type(out).__name__}, and not a tensor")
        return self.kind(self.loss, out, y, self.mean)


def _as_module(loss: Any, reduction: str | None) -> tuple[Any, str]:
    """The loss, as a module where it is a function that a module computes, and its reduction."""
    if isinstance(loss, Module) and hasattr(loss, "reduction"):
        if reduction not in (None, loss.reduction):
            raise ValueError(f"the loss has the reduction {loss.reduction!r}, and reduction={reduction!r} was given")
        return loss, loss.reduction
    if not callable(loss):
        raise ValueError(f"a loss is a module or a function of output and target, not a {type(loss).__name__}")
    function, named = loss, {}
    if isinstance(loss, functools.partial) and not loss.args:
        function, named = loss.func, dict(loss.keywords)
    reduction = reduction or named.pop("reduction", "mean")
    named.pop("reduction", None)
    if function in FUNCTIONS:
        return FUNCTIONS[function](**named), reduction
    return loss, reduction
