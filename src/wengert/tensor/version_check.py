"""What a backward says of values that are gone or were changed since they were saved."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NoReturn

from ..arrays.dtypes import tensor_name
from .namespaces import HELD_ONCE, references

if TYPE_CHECKING:
    import numpy as np

    from ..graph.node import Node
    from ..ops.operator import Operator


class Packed:
    """A saved value in the keeping of saved-tensor hooks."""

    __slots__ = ("unpack", "value")

    def __init__(self, value: Any, unpack: Any) -> None:
        self.value, self.unpack = value, unpack


FREED = ("Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward.")


def freed(node: Node) -> NoReturn:
    """The memory of ``node`` is gone."""
    raise RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        f"been freed). {FREED} (The first step that finds its memory gone: {node.name()}. If a value of an earlier "
        "step, such as a hidden state or a sum of losses, goes into what is differentiated here, detach() it between "
        "the steps.)"
    )


def unrecorded(i: int, t: Any) -> RuntimeError:
    """The error that a backward cannot begin at ``t``, and what may be the reason."""
    text = f"element {i} of tensors does not require grad and does not have a grad_fn"
    if not hasattr(t, "_wg_data"):
        return RuntimeError(text)
    if t._wg_data.dtype.kind not in "fcVW":
        why = f"it is of type {t.dtype}, which has no gradients, as what argmax() and comparisons give"
    elif t.is_inference():
        why = "it was made in inference mode, which records nothing"
    else:
        why = ("nothing that it was computed from requires grad, or its history ended on the way: in detach(), .data, "
            "item(), numpy(), torch.tensor() or an operation that has no gradient, such as argmax(), or because it was "
            "computed under torch.no_grad()")
    return RuntimeError(f"{text}: {why}")


def no_scalar(shape: Any) -> RuntimeError:
    """The error of a backward without a gradient for an output of several elements."""
    return RuntimeError(
        f"grad can be implicitly created only for scalar outputs: this one has shape {list(shape)}; take its mean() or "
        "sum(), or give the gradient to begin with"
    )


def check_versions(node: Node, name: str, arrays: Any, counters: Any, versions: Any) -> None:
    """Refuse saved tensors that were written to since."""
    for array, counter, version in zip(arrays, counters, versions):
        if counter[0] != version:
            modified(node, name, array, version, counter[0])


class Detached(int):
    """The version of a tensor that ``detach_()`` took out of its graph: unlike every version that was saved before.

    ``array``: its memory; a view of it, which has the same counter, was not detached.
    """

    array: Any

    def __ne__(self, other: object) -> bool:
        return True

    __eq__, __hash__ = int.__eq__, int.__hash__


class Replaced(Detached):
    """The version of a tensor that was given other data by ``.data =``: what saved it is to take those.

    ``arrays``: the memory that it had before; ``tensor``: who has the new one. A view of the old memory keeps it.
    """

    arrays: tuple[Any, ...]
    tensor: Any

    def current(self, array: Any) -> Any:
        """What is there now for ``array``, which was saved earlier."""
        tensor = self.tensor()
        return array if tensor is None or all(a() is not array for a in self.arrays) else tensor._wg_data


def replaced(t: Any, old: np.ndarray) -> None:
    """Tell the graphs that saved ``t``, if any, that its data is no longer ``old``."""
    counter = t._wg_vc
    if type(counter) is list and references(counter) > HELD_ONCE:
        version = Replaced(counter[0])
        before = counter[0]
        earlier = before.arrays if type(before) is Replaced and before.tensor() is t else ()
        version.arrays, version.tensor = (*(a for a in earlier if a() is not None), weakref.ref(old)), weakref.ref(t)
        counter[0] = version


def detached(t: Any) -> None:
    """Tell the graphs that saved ``t``, if any, that it is about to be detached in place."""
    counter = t._wg_vc
    if type(counter) is list and references(counter) > HELD_ONCE:
        version = Detached(counter[0])
        version.array = weakref.ref(t._wg_data)
        counter[0] = version


def is_result(op: Operator, name: str) -> bool:
    """Whether what was saved under that name is an output of the operator."""
    return op.outputs is not ... and name in op.outputs


def modified(node: Node, name: str, array: Any, expected: int, found: int) -> Any:
    """Say which saved value was overwritten (or detached), and what to do. The array to go on with, if none was."""
    op = node.op  # type: ignore[attr-defined]
    array = array.value._wg_data if type(array) is Packed else array
    if type(found) is Replaced and int(found) == int(expected):
        return array if found is expected or is_result(op, name) else found.current(array)
    if type(found) is Detached and int(found) == int(expected):
        if found is not expected and not is_result(op, name) and found.array() is array:
            refuse_detached()
        return array
    kind = f"{tensor_name(array.dtype)} {list(array.shape)}"
    edge = node._edge_to(name) if hasattr(node, "_edge_to") else None
    origin = f", which is output {edge[1]} of {edge[0].operation()}," if edge is not None and edge[0].edges else ""
    cause = "an in-place operation has overwritten it since; use the out-of-place form there, or write to a clone()."
    if edge is not None and hasattr(edge[0], "variable") and not is_result(op, name):
        cause = (
            "it is a leaf that was written to since, as by an optimizer's step between the forward and this backward; "
            "do all backwards before the step, or compute the loss anew after it."
        )
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind}]{origin} is at version {int(found)}; expected version {int(expected)} instead. Hint: {node.name()} "
        f"saved {'its result' if is_result(op, name) else f'its argument {name!r}'} for its gradient, and {cause} "
        "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True)."
    )


def refuse_detached() -> NoReturn:
    """A saved tensor was detached from its graph."""
    raise RuntimeError(
        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not supported, "
        "please use out-of-place `.detach()` instead"
    )
