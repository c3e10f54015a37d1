"""``torch.autograd.graph``: nodes, edges, and hooks on what graphs remember."""

from __future__ import annotations

import abc
import functools
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..graph import node as graph_node
from ..graph.engine import current_graph_task
from ..graph.handles import RemovableHandle
from ..graph.modes import Modes, Scope, _Mode, transforms
from ..tensor.backward import GradientEdge, get_gradient_edge
from ..tensor.tensor import Tensor
from ..transforms import NO_HOOKS
from ._engine import ImperativeEngine, executes
from ._function_node import BackwardCFunction
from ._mutation import allow_mutation_on_saved_tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
    "region_activation_memory_budget", "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


class Node(abc.ABC):
    """Abstract class of all nodes of graphs: ``isinstance(tensor.grad_fn, Node)``."""

    @abc.abstractmethod
    def name(self) -> str:
        """The name of the operation, such as ``"MulBackward0"``."""
        raise NotImplementedError

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that gradients go to, each with the number of its output."""
        raise NotImplementedError

    @abc.abstractmethod
    def metadata(self) -> dict[str, Any]:
        """A dictionary for the user's own facts."""
        raise NotImplementedError

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node; what it returns replaces ``grad_inputs``.

        >>> a = torch.tensor([0.0, 0.0, 0.0], requires_grad=True)
        >>> b = a.clone()
        >>> handle = b.grad_fn.register_hook(lambda gI, gO: (gO[0] * 2,))
        >>> b.sum().backward(retain_graph=True)
        >>> a.grad
        tensor([2., 2., 2.])
        >>> handle.remove()
        """
        raise NotImplementedError

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node; what it returns replaces ``grad_outputs``."""
        raise NotImplementedError

    @classmethod
    def __subclasshook__(cls, subclass: type) -> Any:
        return True if cls is Node and issubclass(subclass, (graph_node.Node, BackwardCFunction)) else NotImplemented


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that ``tensor`` (or each of several) was written to by other means: graphs that saved it will refuse to be
    walked.
    """
    try:
        row = tuple((tensor,) if isinstance(tensor, Tensor) else tensor)
    except TypeError:
        raise RuntimeError(
            f"increment_version expect a Iterable[Tensor] as input, not {type(tensor).__name__}") from None
    for t in row:
        if not isinstance(t, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor, not "
                f"{type(t).__name__}")
    for t in row:
        if not t.is_inference():  # they have no version
            t._wg_vc[0] += 1


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether gradients that arrive on another CUDA stream warn. There is one stream, so that nothing can differ."""
    _boolean(enabled)


def set_override_stale_capture_stream(enabled: bool) -> None:
    """What to do about other streams while a CUDA graph is captured. There are none, so that nothing can differ."""
    _boolean(enabled)


def _boolean(enabled: Any) -> None:
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")


def region_activation_memory_budget(budget: float) -> Any:
    """A context for regions of a compiled model. Nothing is compiled, and outside of such a region it raises
    ``RuntimeError`` (``TypeError`` if ``budget`` is no number, ``ValueError`` if it is not from 0 to 1).
    """
    name = "torch.autograd.graph.region_activation_memory_budget"
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"{name}: expects a float, got {type(budget).__name__}")
    if not 0 <= budget <= 1:
        raise ValueError(f"{name}: must be in [0, 1], got {budget}")
    raise RuntimeError(f"{name} can only be used inside a torch.compile region; it has no effect in eager mode.")


class _Hooks(tuple[Any, ...]):
    """A pair of hooks, and what was in force outside of them: the modes hold the whole stack, so that a backward's end
    restores it.
    """

    outer: Any

    def __new__(cls, pair: tuple[Any, Any], outer: Any) -> _Hooks:
        self = super().__new__(cls, pair)
        self.outer = outer
        return self


class saved_tensors_hooks(Scope):
    """Inside, every tensor that a graph saves goes through ``pack_hook``, and comes back through ``unpack_hook``.

    Arguments of operations reach ``pack_hook`` as they are, results without their history. It may not write to what it
    is given. The innermost hooks apply.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda v: torch.tensor(v)):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    _everywhere = False  # whether also where a gradient of torch.func is being taken

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def _states(self, now: Modes) -> Modes:
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise TypeError(f"saved_tensors_hooks takes two functions, not {self.pack_hook!r} and {self.unpack_hook!r}")
        if now.saved_tensor_hooks_disabled is not None:
            raise RuntimeError(now.saved_tensor_hooks_disabled)
        if transforms.get()[1] and not self._everywhere:
            raise RuntimeError(NO_HOOKS)
        return now.with_(saved_tensor_hooks=_Hooks((self.pack_hook, self.unpack_hook), now.saved_tensor_hooks))

    def _return(self, now: Modes, back: Modes) -> Modes:
        return now.with_(saved_tensor_hooks=getattr(now.saved_tensor_hooks, "outer", None))


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors wait on the CPU for their backward: as they are if they are there already, and as copies
    with ``pin_memory``.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack_to_cpu(t: Tensor) -> tuple[Any, Tensor]:
            return t.device, t.detach().clone() if pin_memory else t.cpu()

        def unpack_from_cpu(packed: tuple[Any, Tensor]) -> Any:
            device, t = packed
            return t.to(device)

        super().__init__(pack_to_cpu, unpack_from_cpu)


class disable_saved_tensors_hooks(_Mode):
    """Inside, ``saved_tensors_hooks`` raises ``RuntimeError(error_message)``. Also a decorator."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def _states(self, now: Modes) -> Modes:
        if not isinstance(self.error_message, str):
            raise TypeError("disable_saved_tensors_hooks takes a message (a string), not "
                f"{type(self.error_message).__name__}")
        if now.saved_tensor_hooks is not None:
            raise RuntimeError(self.error_message)
        return now.with_(saved_tensor_hooks_disabled=self.error_message)

    def _return(self, now: Modes, back: Modes) -> Modes:
        return now.with_(saved_tensor_hooks_disabled=back.saved_tensor_hooks_disabled)

    def clone(self) -> disable_saved_tensors_hooks:
        return disable_saved_tensors_hooks(self.error_message)


class _MultiHandle(RemovableHandle):
    """Removes a hook from all its tensors."""

    def __init__(self, handles: tuple[Any, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Take the hook away from all tensors; a second call does nothing."""
        for h in self.handles:
            h.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.handles

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.handles = state


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., None], *, mode: str = "all") -> Any:
    """Call ``fn`` once the gradients of ``tensors`` are there: ``"all"`` of them (with a list), or ``"any"`` (with the
    first).

    Gradients that a backward does not reach arrive as None. Each backward counts for itself, also where several run at
    the same time. As in PyTorch the tensor that a backward starts from, if it is the only one, is not waited for.
    Under ``autograd.grad`` it raises ``RuntimeError`` for a leaf (with ``"all"``) whose gradient is requested.
    Returns a handle whose ``remove()`` takes the hook away.

    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook([a, b], lambda grads: print([g.item() for g in grads]))
    >>> (2 * a + 3 * b).backward()
    [2.0, 3.0]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":  # those without a gradient never come
        tensors = [t for t in tensors if t.requires_grad]
    elif not hasattr(tensors, "__len__"):
        raise TypeError(f"object of type '{type(tensors).__name__}' has no len()")
    nodes = [_get_grad_fn_or_grad_acc(t) for t in tensors]
    lock = threading.Lock()
    # for every backward that is running: the gradients so far, and how many are to come
    rows: Any = WeakKeyDictionary()

    def at(i: int) -> Any:
        def hook(g: Any) -> None:
            walk: Any = current_graph_task()
            if walk is None:
                raise AssertionError("expected this hook to be called inside a backward call")
            with lock:
                state = rows.get(walk)
                if state is None:
                    state = rows[walk] = [[None] * len(nodes),
                        sum(executes(walk, node) for node in nodes) if mode == "all" else 1, 0]
                state[0][i] = g
                state[2] += 1
                fire = state[2] == state[1]
                if fire and mode == "all":
                    del rows[walk]
            if fire:
                fn(state[0] if mode == "all" else g)

        return hook if mode == "all" else functools.wraps(fn)(hook)

    return _MultiHandle(tuple(t.register_hook(at(i)) for i, t in enumerate(tensors)))


def _get_grad_fn_or_grad_acc(t: Tensor | GradientEdge) -> Any:
    """The node that a gradient for a tensor, or an edge, arrives at."""
    if isinstance(t, GradientEdge):
        return t.node
    if not t.requires_grad:
        raise AssertionError("Expected gradient function to be set: the tensor does not require a gradient")
    return get_gradient_edge(t).node


def _engine_run_backward(t_outputs: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
    """``Variable._execution_engine.run_backward``, as PyTorch's Python code calls it."""
    return ImperativeEngine.run_backward(t_outputs, *args, **kwargs)
