"""The derivative of a model's output along a vector of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..autograd.graph import get_gradient_edge
from ..functions.creation import zeros_like
from ..tensor.backward import grad

if TYPE_CHECKING:
    from ..tensor import Tensor


class Pushed:
    """``J v`` for the rows of a batch's terms, for as many vectors as wanted."""

    def __init__(self, rows: Tensor, params: list[Tensor]) -> None:
        self.params, self.used, self.row = params, [], []
        if rows.requires_grad:
            self.u = zeros_like(rows).detach().requires_grad_()
            pulled = grad(rows, params, self.u, create_graph=True, allow_unused=True)
            self.used = [i for i, p in enumerate(pulled) if p is not None and p.requires_grad]
            self.row = [get_gradient_edge(pulled[i]) for i in self.used]

    def __call__(self, vector: list[Tensor], last: bool = False) -> Tensor | None:
        """The rows' derivative along a vector, or None where it is zero for every vector."""
        if not self.used:
            return None
        found = grad(self.row, self.u, [vector[i] for i in self.used], retain_graph=not last)[0]
        if last:
            self.row = []
        return found
