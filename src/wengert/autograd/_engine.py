"""The engine as an object, ``Variable._execution_engine``, and questions about the backward that is running.

These are the names that PyTorch's own Python code, its tests and some libraries use; the questions are in ``torch._C``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph import engine
from ..graph.node import Node
from ..tensor.backward import backward
from ..transforms.mapped_backward import gradients
from .grad_mode import is_multithreading_enabled

if TYPE_CHECKING:
    from collections.abc import Callable


class ImperativeEngine:
    """Runs backwards, and takes what is to be called at the end of the one that is running."""

    @staticmethod
    def queue_callback(callback: Callable[[], Any]) -> None:
        """Call ``callback()`` when the present backward is over: every gradient has arrived by then.

        Raises ``RuntimeError`` outside of a backward.

        >>> x = torch.ones(2, requires_grad=True)
        >>> def hook(grad):
        ...     torch.autograd.Variable._execution_engine.queue_callback(lambda: print("over:", x.grad))
        >>> handle = x.register_hook(hook)
        >>> (3 * x).sum().backward()
        over: tensor([3., 3.])
        """
        engine.queue_callback(callback)

    @staticmethod
    def run_backward(tensors: Any, grad_tensors: Any, keep_graph: bool, create_graph: bool, inputs: Any = (),
            allow_unreachable: bool = False, accumulate_grad: bool = False) -> Any:
        """``backward`` (with ``accumulate_grad``), or ``grad``: the form with every argument spelled out."""
        if accumulate_grad or not inputs:
            backward(tensors, grad_tensors, keep_graph, create_graph, inputs=inputs or None)
            return None
        return gradients(tensors, inputs, grad_tensors, keep_graph, create_graph, allow_unused=allow_unreachable)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Whether the backward that is running goes to all leaves; some kinds of checkpoint need that."""
        walk = engine.current_graph_task()
        return walk is None or walk.captures is None


def _current_graph_task_id() -> int:
    """A number for the backward that is running in this thread; -1 if none is."""
    walk = engine.current_graph_task()
    return -1 if walk is None else walk.number


def _current_autograd_node() -> Node | None:
    """The node whose gradient is being computed in this thread, or that a hook is called for."""
    return engine.current_node()


def _current_graph_task_execution_order() -> list[Node]:
    """The nodes that the running backward goes to, in order."""
    walk = engine.current_graph_task()
    if walk is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if is_multithreading_enabled():
        raise RuntimeError("_current_graph_task_execution_order expects the current backward to be executed with "
            "multithreading disabled, e.g. by running:\n\nwith torch.autograd.set_multithreading_enabled(False):\n"
            "    torch.autograd.grad(...)\n")
    nodes = engine.reachable_nodes(edge for edge, _ in walk.roots)
    return sorted(filter(walk.reaches, nodes), key=lambda node: node.seq)


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the running backward goes to ``node``."""
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    walk = engine.current_graph_task()
    if walk is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    return executes(walk, node)


def executes(walk: Any, node: Node) -> bool:
    """Whether some gradient leads the walk to ``node``: as in PyTorch, the only node that a backward starts from does
    not count.

    ``RuntimeError`` for a leaf whose gradient is captured: it is not accumulated.
    """
    found = not (len(walk.roots) == 1 and walk.roots[0][0][0] is node) and walk.reaches(node)
    if found and not node.edges and node in (walk.captures or ()):
        raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running "
            "autograd.grad(). This is currently not supported.")
    return found
