"""Two tensors trade places."""

from __future__ import annotations

import weakref
from typing import Any

from ..tensor.autograd_meta import AccumulateGrad
from ._become import become


def swap_tensors(t1: Any, t2: Any) -> None:
    """Give each tensor all that the other is: memory, gradient, history, attributes and class. References stay valid.

    Raises ``RuntimeError`` for tensors that something refers to weakly.

    >>> a, b = torch.zeros(2), torch.ones(3)
    >>> torch.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefcount(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    kind1, kind2 = type(t1), type(t2)
    if kind1 is not kind2:
        become(t1, kind2)
        become(t2, kind1)
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in ("_wg_data", "_wg_edge", "_wg_meta", "_wg_vc"):
        one, other = getattr(t1, slot), getattr(t2, slot)
        setattr(t1, slot, other)
        setattr(t2, slot, one)
    for t in (t1, t2):  # graphs from before lead to a tensor that is another now
        meta = t._wg_meta
        node = meta.accumulator() if meta is not None and meta.accumulator is not None else None
        if node is not None:
            become(node, _Poisoned)
            meta.accumulator = None


class _Poisoned(AccumulateGrad):
    __slots__ = ()

    def raw(self, g: Any) -> Any:
        raise RuntimeError(
            "Trying to execute AccumulateGrad node that was poisoned by swap_tensors: the graph was made before its "
            "leaf was swapped for another tensor. Compute it again after the swap."
        )

    recorded = raw  # type: ignore[assignment]


_Poisoned.__name__ = "AccumulateGrad"
