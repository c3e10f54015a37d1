"""A model with its loss and data, seen as a function of some parameters: what is checked, and how batches stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.random.replay import Replay
from ..functions.creation import from_numpy
from ..functions.generators import default_generator
from ..graph import enable_grad, no_grad
from ..nn.modules.module import Module
from ..tensor import Tensor
from .arrays import KNOWN, array_of
from .losses import Loss

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .losses import Terms

PAIRS = "data is a re-iterable of pairs (x, y), such as a list or a DataLoader"


class Problem:
    """``params``: those of the model that require gradients, if none are named."""

    def __init__(self, model: Any, loss: Any, data: Any, params: Any, reduction: str | None) -> None:
        self.model, self.loss = model, Loss(loss, reduction)
        self.params = chosen(model, params)
        self.vectors = Vectors(self.params)
        self.data = checked(data)
        self.whole = isinstance(self.data, (list, tuple)) and len(self.data) == 1
        self.layers = list(model.modules()) if isinstance(model, Module) else []
        self.random = Replay()

    def batches(self) -> Iterator[tuple[Terms, Any]]:
        """For each batch its terms, which hold the graph of the model, and its input. Every pass is the same."""
        empty = True
        with self._steady(), enable_grad():
            for pair in self.data:
                x, y = pair_of(pair)
                empty = False
                yield self.loss.terms(called(self.model, x), y), x
        if empty:
            raise ValueError(f"the data are empty: {PAIRS}")

    def examples(self) -> Iterator[Terms]:
        """The terms of each example alone."""
        with self._steady(), enable_grad():
            for pair in self.data:
                x, y = pair_of(pair)
                n = length(x)
                for i in range(n):
                    yield self.loss.terms(called(self.model, _part(x, i, i + 1, n)), _part(y, i, i + 1, n))

    @contextmanager
    def _steady(self) -> Iterator[None]:
        """Dropout, shuffling and buffers: every pass sees the same, and nothing of it remains."""
        training = [layer for layer in self.layers if layer.training]
        buffers = [b for layer in training for b in layer._buffers.values() if b is not None]
        former = [b.detach().clone() for b in buffers]
        run = self.random.begin(default_generator)
        try:
            yield
        finally:
            run.end()
            with no_grad():
                for b, value in zip(buffers, former):
                    b.copy_(value)


def called(model: Any, x: Any) -> Any:
    """The model's output: a tuple or list holds several arguments, a dict holds keywords."""
    if isinstance(x, Mapping):
        return model(**x)
    return model(*x) if isinstance(x, (tuple, list)) else model(x)


def length(x: Any) -> int:
    """The number of examples in an input: along the first dimension of its first tensor."""
    parts = x.values() if isinstance(x, Mapping) else x if isinstance(x, (tuple, list)) else (x,)
    for part in parts:
        if isinstance(part, Tensor) and part.dim():
            return part.shape[0]
    raise ValueError("an input has no tensor that examples could be counted in")


def _part(x: Any, start: int, stop: int, n: int) -> Any:
    """Examples of a batch of ``n``; where a tensor has several rows for each, all of those."""
    if isinstance(x, Mapping):
        return {key: _part(value, start, stop, n) for key, value in x.items()}
    if isinstance(x, (tuple, list)):
        return type(x)(_part(value, start, stop, n) for value in x)
    if not isinstance(x, Tensor) or not x.dim() or x.shape[0] % n:
        return x
    each = x.shape[0] // n
    return x[start * each:stop * each]


def pair_of(pair: Any) -> tuple[Any, Any]:
    """Input and target of a batch."""
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
        raise ValueError(f"{PAIRS}; it gave a {type(pair).__name__}")
    return pair[0], pair[1]


def checked(data: Any) -> Any:
    """The data, if they can be gone through again and again."""
    kind = type(data)
    if isinstance(data, (Tensor, Mapping)) or not (hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")):
        raise ValueError(f"{PAIRS}, not a {kind.__name__}")
    if isinstance(data, Iterator):
        raise ValueError(f"{PAIRS}; a {type(data).__name__} can be gone through only once")
    if hasattr(type(data), "__len__"):
        if not len(data):
            raise ValueError(f"the data are empty: {PAIRS}")
        if isinstance(data, (list, tuple)):
            for pair in data:
                pair_of(pair)
        return data
    for pair in data:
        pair_of(pair)
        return data
    raise ValueError(f"the data are empty: {PAIRS}")


def chosen(model: Any, params: Any) -> list[Tensor]:
    """The parameters to differentiate by."""
    if params is None:
        found = [p for p in model.parameters() if p.requires_grad]
        if not found:
            raise ValueError("no parameter of the model requires a gradient")
        return found
    found = [params] if isinstance(params, Tensor) else list(params)
    if not found:
        raise ValueError("params is empty")
    for i, p in enumerate(found):
        if not isinstance(p, Tensor):
            raise ValueError(f"params are tensors, and number {i} is a {type(p).__name__}")
        if not p.requires_grad:
            raise ValueError(f"parameter number {i}, of shape {tuple(p.shape)}, is frozen: it requires no gradient")
        if p.is_complex():
            raise ValueError(f"parameter number {i} is complex")
    if len({id(p) for p in found}) < len(found):
        raise ValueError("a parameter stands twice in params")
    return found


class Vectors:
    """Vectors of numbers for parameters: concatenated, each row by row."""

    def __init__(self, params: list[Tensor]) -> None:
        self.params, first = params, params[0]._wg_data.dtype
        ends = list(accumulate(p._wg_data.size for p in params))
        self.places = list(zip([0, *ends[:-1]], ends))
        self.size, self.shapes = ends[-1], [tuple(p._wg_data.shape) for p in params]
        self.alike = params[0].dtype in KNOWN and all(
            type(p._wg_data) is np.ndarray and p._wg_data.dtype is first for p in params)
        self.dtype = first if self.alike else np.result_type(
            *(array_of(p.detach().reshape(-1)[:1]).dtype for p in params))

    def split(self, vector: np.ndarray) -> list[Tensor]:
        """A vector as tensors like the parameters."""
        if self.alike:
            return [Tensor._wg_wrap(vector[a:b].reshape(shape)) for (a, b), shape in zip(self.places, self.shapes)]
        return [from_numpy(vector[a:b].reshape(p.shape)).to(p) for (a, b), p in zip(self.places, self.params)]

    def add(self, vector: np.ndarray, tensors: Iterable[Tensor | None], factor: float = 1.0) -> None:
        """Add tensors, of which None is zero, to a vector."""
        for (a, b), t in zip(self.places, tensors):
            if t is not None:
                numbers = self._numbers(t)
                vector[a:b] += numbers if factor == 1 else numbers * factor

    def fill(self, vector: np.ndarray, tensors: Iterable[Tensor | None]) -> None:
        """Put tensors, of which None is zero, into a vector; none at all are zero, too."""
        row = list(tensors) or [None] * len(self.places)
        for (a, b), t in zip(self.places, row):
            vector[a:b] = 0 if t is None else self._numbers(t)

    def _numbers(self, t: Tensor) -> np.ndarray:
        if type(t._wg_data) is np.ndarray and self.alike:
            return t._wg_data.reshape(-1)
        if t.requires_grad:
            t = t.detach()
        return array_of(t).reshape(-1)

    def joined(self, tensors: Iterable[Tensor | None]) -> np.ndarray:
        """Tensors as a vector."""
        vector = np.empty(self.size, self.dtype)
        self.fill(vector, tensors)
        return vector
