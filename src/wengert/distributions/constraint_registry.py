"""From constraints to transforms: how unconstrained numbers become numbers that satisfy a constraint.

``transform_to(constraint)`` is the best for optimisation (it may have more parameters than needed),
``biject_to(constraint)`` is one to one and has a Jacobian. Both can be extended:
``transform_to.register(MyConstraint, factory)``.

>>> torch.distributions.transform_to(torch.distributions.constraints.positive)(torch.tensor(0.0))
tensor(1.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import constraints as C
from . import transforms as T
from .utils import Number

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table of transforms by the type of constraint."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Enter ``factory``, a function of the constraint, for a constraint or its class; without it, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, C.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, C.Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {kind}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _half_line(bound: str, direction: int) -> Any:
    return lambda c: T.ComposeTransform([T.ExpTransform(), T.AffineTransform(getattr(c, bound), direction)])


def _interval(c: Any) -> Any:
    low, high = c.lower_bound, c.upper_bound
    if isinstance(low, Number) and low == 0 and isinstance(high, Number) and high == 1:
        return T.SigmoidTransform()
    return T.ComposeTransform([T.SigmoidTransform(), T.AffineTransform(low, high - low)])


_BOTH = {
    C.real: lambda c: T.identity_transform,
    C.positive: _half_line("lower_bound", 1),
    C.nonnegative: _half_line("lower_bound", 1),
    C.less_than: _half_line("upper_bound", -1),
    C.interval: _interval,
    C.half_open_interval: _interval,
    C.corr_cholesky: lambda c: T.CorrCholeskyTransform(),
}
for _table in (biject_to, transform_to):
    for _constraint, _factory in _BOTH.items():
        _table.register(_constraint, _factory)
    _table.register(C.independent,
        lambda c, to=_table: T.IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims))
    _table.register(C.cat, lambda c, to=_table: T.CatTransform([to(part) for part in c.cseq], c.dim, c.lengths))
    _table.register(C.stack, lambda c, to=_table: T.StackTransform([to(part) for part in c.cseq], c.dim))
biject_to.register(C.simplex, lambda c: T.StickBreakingTransform())
transform_to.register(C.simplex, lambda c: T.SoftmaxTransform())
transform_to.register(C.lower_cholesky, lambda c: T.LowerCholeskyTransform())
transform_to.register(C.positive_definite, lambda c: T.PositiveDefiniteTransform())
transform_to.register(C.positive_semidefinite, lambda c: T.PositiveDefiniteTransform())
