"""``torch.autograd.graph``: nodes, edges, and hooks on what graphs remember."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..graph.engine import current_walk
from ..graph.modes import change, modes, set_modes
from ..graph.node import Node
from ..tensor.backward import GradientEdge, get_gradient_edge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge", "register_multi_grad_hook", "save_on_cpu",
    "saved_tensors_hooks",
]  # fmt: skip


class saved_tensors_hooks:
    """Inside, every tensor that a graph saves goes through ``pack_hook``, and comes back through ``unpack_hook``.

    >>> import wengert as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda v: torch.tensor(v)):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        m = modes()
        if m.no_packing is not None:
            raise RuntimeError(m.no_packing)
        self.before = m.packing
        set_modes(m.with_(packing=(self.pack_hook, self.unpack_hook)))

    def __exit__(self, *exc: object) -> None:
        change(packing=self.before)


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors wait on the CPU (as copies) for their backward."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: t.clone(), lambda t: t)


class disable_saved_tensors_hooks:
    """Inside, ``saved_tensors_hooks`` raises ``RuntimeError(error_message)``."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        m = modes()
        if m.packing is not None:
            raise RuntimeError(self.error_message)
        self.before = m.no_packing
        set_modes(m.with_(no_packing=self.error_message))

    def __exit__(self, *exc: object) -> None:
        change(no_packing=self.before)

    def __call__(self, func: Any) -> Any:
        from ..graph.modes import decorate

        return decorate(lambda: disable_saved_tensors_hooks(self.error_message), func)


class _MultiHandle:
    """Removes a hook from all its tensors."""

    def __init__(self, handles: tuple[Any, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for h in self.handles:
            h.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., None], *, mode: str = "all") -> Any:
    """Call ``fn`` once the gradients of ``tensors`` are there: ``"all"`` of them (with a list), or ``"any"`` (with the first).

    Gradients that a backward does not reach arrive as None. Each backward counts for itself, also where several run at
    the same time. Returns a handle whose ``remove()`` takes the hook away.

    >>> import wengert as torch
    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook([a, b], lambda grads: print([g.item() for g in grads]))
    >>> (2 * a + 3 * b).backward()
    [2.0, 3.0]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    for t in tensors:
        if not t.requires_grad:
            raise AssertionError("Expected gradient function to be set: register_multi_grad_hook takes tensors that require a gradient")
    nodes = [get_gradient_edge(t).node for t in tensors]
    lock = threading.Lock()
    rows: Any = WeakKeyDictionary()  # for every backward that is running: the gradients so far, and how many are to come

    def at(i: int) -> Any:
        def hook(g: Any) -> None:
            walk: Any = current_walk()  # a hook runs inside a walk
            with lock:
                state = rows.get(walk)
                if state is None:
                    state = rows[walk] = [[None] * len(nodes), sum(map(walk.reaches, nodes)), 0]
                state[0][i] = g
                state[1] -= 1
                state[2] += 1
                fire = state[1] == 0 if mode == "all" else state[2] == 1
            if fire:
                fn(state[0] if mode == "all" else g)

        return hook

    return _MultiHandle(tuple(t.register_hook(at(i)) for i, t in enumerate(tensors)))
