"""``explain``: one tensor, parameter or exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from . import sessions
from .record import node_place

if TYPE_CHECKING:
    from .findings import Finding


class Explanation:
    """What is known about a tensor or an exception: ``text``, a sentence or two, and the ``findings`` about it."""

    def __init__(self, text: str, findings: list[Finding] | None = None) -> None:
        self.text, self.findings = text, findings or []

    def __str__(self) -> str:
        return "\n".join([self.text, *map(str, self.findings)]).strip()

    __repr__ = __str__


def explain(x: Any) -> Explanation:
    """Why a tensor has no gradient or history, what its gradient is made of, or why an exception was raised.

    Places are known for what was computed while a diagnosis was on (``watch``, or ``wengert run --explain``).

    >>> w = torch.ones(2, requires_grad=True)
    >>> loss = w.detach().sum()
    >>> print(wengert.explain(loss))
    The tensor has no history: no operation on a tensor that requires a gradient was recorded for it.
    """
    if isinstance(x, BaseException):
        return _of_error(x)
    if isinstance(x, Tensor):
        return _of_tensor(x)
    raise TypeError(f"explain() takes a tensor, a parameter or an exception, not {type(x).__name__}")


def _of_error(error: BaseException) -> Explanation:
    watching = sessions.current or sessions.last
    found = [] if watching is None else sessions.failed(watching, error)
    return Explanation("" if found else str(error), found)


def _of_tensor(t: Tensor) -> Explanation:
    if t.grad_fn is None and not t.requires_grad:
        return Explanation("The tensor has no history: no operation on a tensor that requires a gradient was recorded "
            "for it.")
    if t.grad_fn is not None:
        where = node_place(t.grad_fn)
        return Explanation(f"The tensor was made by {t.grad_fn.name()}{'' if where is None else f' at {where}'}.")
    return Explanation("The tensor is a leaf that requires a gradient.")
