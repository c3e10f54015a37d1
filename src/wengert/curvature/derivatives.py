"""Walks of one graph along many vectors: a product of a Jacobian's transpose, and of the Jacobian itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.graph import get_gradient_edge
from ..functions.creation import zeros_like
from ..graph import no_grad
from ..graph.engine import needed_for, run
from ..graph.modes import RECORD, modes
from ..tensor import classes
from ..tensor.autograd_meta import edge_of
from ..tensor.backward import grad
from ..tensor.namespaces import ARRAY_OPS

if TYPE_CHECKING:
    from ..tensor import Tensor


class Pulled:
    """The gradients of ``tensors`` in ``params``, for as many gradients to begin with as wanted. What ``grad`` asks of
    its arguments at every call is asked once.
    """

    def __init__(self, tensors: list[Tensor], params: list[Tensor]) -> None:
        self.params, self.row = params, [get_gradient_edge(t) for t in tensors]  # which is all that is needed of them
        self.kinds = [(t._wg_data.shape, t._wg_data.dtype) for t in tensors]
        self.places = [edge_of(p) if p._wg_edge is None and type(p._wg_data) is np.ndarray else None for p in params]
        self.needed: Any = None
        self.plain = None not in self.places and all(type(t._wg_data) is np.ndarray for t in tensors)
        if self.plain:
            self.needed = needed_for([e[:2] for e in self.row], self._captures())

    def _captures(self) -> Any:
        captures: Any = {}
        for node, nr in self.places:  # type: ignore[misc]
            captures.setdefault(node, {})[nr] = None
        return captures

    def __call__(self, vectors: list[Tensor], last: bool) -> list[Tensor | None]:
        """``last``: the graph is not needed afterwards."""
        if not (self.plain and modes() is RECORD and not classes.RECORDING_TENSORS and self.kinds
                == [(v._wg_data.shape, v._wg_data.dtype) if type(v._wg_data) is np.ndarray else None for v in vectors]):
            return list(grad(self.row, self.params, vectors, retain_graph=not last, allow_unused=True))
        captures = self._captures()
        with no_grad():
            run([(e[:2], v._wg_data) for e, v in zip(self.row, vectors)], ARRAY_OPS, not last, self.needed, captures)
        found = [captures[node][nr] for node, nr in self.places]  # type: ignore[misc]
        return [None if g is None else ARRAY_OPS.wrap(g) for g in found]


class Pushed:
    """``J v`` for the rows of a batch's terms, for as many vectors as wanted."""

    def __init__(self, rows: Tensor, params: list[Tensor]) -> None:
        self.params, self.used, self.pull = params, [], None  # type: Any, list[int], Any
        if rows.requires_grad:
            u = zeros_like(rows).detach().requires_grad_()
            pulled = grad(rows, params, u, create_graph=True, allow_unused=True)
            self.used = [i for i, p in enumerate(pulled) if p is not None and p.requires_grad]
            self.pull = Pulled([pulled[i] for i in self.used], [u]) if self.used else None

    def __call__(self, vector: list[Tensor], last: bool = False) -> Tensor | None:
        """The rows' derivative along a vector, or None where it is zero for every vector."""
        if self.pull is None:
            return None
        found = self.pull([vector[i] for i in self.used], last)[0]
        if last:
            self.pull = None
        return found
