"""``backward`` and ``grad`` as users call them: under old names of arguments too, of dictionaries, several at once."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar, overload

from ..dispatch.torch_function import handle_torch_function
from ..tensor import backward as core
from ..tensor.backward import GradientEdge, as_row, inputs_of
from ..tensor.tensor import Tensor
from ..transforms import mapped_backward

K = TypeVar("K")


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
        grad_variables: Any = None, inputs: Any = None) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves (or only of ``inputs``) that they depend on.

    ``grad_tensors``: the gradient of each of ``tensors``, of its shape (the vector of the vector-Jacobian product);
    None for one-element tensors means 1. ``inputs``: a tensor or several, also as the values of a dictionary.
    ``retain_graph``: keep what the graph remembers, for another backward
    (default: as ``create_graph``). ``create_graph``: record the backward itself, for higher derivatives.

    Raises ``RuntimeError`` if a tensor does not require a gradient, if a gradient is missing for a tensor of several
    elements, or if the graph was freed.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.backward(x ** 2)
    >>> x.grad
    tensor(6.)
    """
    if grad_variables is not None:
        grad_tensors = _renamed(grad_tensors, grad_variables)
    core.backward(tensors, grad_tensors, retain_graph, create_graph, inputs)


@overload
def grad(outputs: Any, inputs: dict[K, Any], grad_outputs: Any = None, retain_graph: bool | None = None,
        create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
        is_grads_batched: bool = False, materialize_grads: bool = False) -> dict[K, Tensor]: ...
@overload
def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
        create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
        is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor, ...]: ...
def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
        create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
        is_grads_batched: bool = False, materialize_grads: bool = False) -> Any:
    """The gradients of (the sum of) ``outputs`` with respect to ``inputs``, as a tuple; nothing is accumulated.

    A dictionary of ``inputs`` gives a dictionary of gradients under the same keys.

    ``allow_unused``: give None for an input that the outputs do not depend on, instead of raising.
    ``materialize_grads``: give zeros there. ``is_grads_batched``: the first dimension of ``grad_outputs`` counts
    several vectors, and each result gets that dimension too.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> (g,) = torch.autograd.grad(x ** 3, x, create_graph=True)
    >>> torch.autograd.grad(g, x)
    (tensor(12.),)
    """
    if type(inputs) is dict:
        row = grad(outputs, tuple(inputs.values()), grad_outputs, retain_graph, create_graph, only_inputs,
            allow_unused, is_grads_batched, materialize_grads)
        return dict(zip(inputs, row))
    allow_unused = _allowed(allow_unused, materialize_grads)
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.", FutureWarning, stacklevel=3)
    rows, wanted = as_row(outputs), inputs_of(inputs, "grad")
    for t in (*rows, *wanted):
        if not isinstance(t, (Tensor, GradientEdge)) and hasattr(type(t), "__torch_function__"):
            return handle_torch_function(grad, (*rows, *wanted), rows, wanted, grad_outputs=grad_outputs,
                retain_graph=retain_graph, create_graph=create_graph, only_inputs=only_inputs,
                allow_unused=allow_unused, is_grads_batched=is_grads_batched, materialize_grads=materialize_grads)
    return mapped_backward.gradients(rows, wanted, grad_outputs, retain_graph, create_graph, allow_unused,
        materialize_grads, is_grads_batched)


def _renamed(grad_tensors: Any, grad_variables: Any) -> Any:
    """The argument of ``backward`` under its old name."""
    warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=4)
    if grad_tensors is not None:
        raise RuntimeError(
            "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
            "`grad_tensors`."
        )
    return grad_variables


def _allowed(allow_unused: bool | None, materialize_grads: bool) -> bool:
    """Whether inputs may be unused."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False.")
    return materialize_grads if allow_unused is None else allow_unused


def backward_as_asked(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None,
        create_graph: bool = False, grad_variables: Any = None, inputs: Any = None) -> Any:
    """The normalised arguments that overrides of ``backward`` get: tuples of tensors, everything else by name."""
    if grad_variables is not None:
        grad_tensors = _renamed(grad_tensors, grad_variables)
    wanted = None if inputs is None else tuple(inputs_of(inputs, "backward"))
    if wanted == ():
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    named = {"grad_tensors": grad_tensors, "retain_graph": retain_graph, "create_graph": create_graph, "inputs": wanted}
    return (as_row(tensors),), named, lambda answer: answer


def grad_as_asked(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
        create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
        is_grads_batched: bool = False, materialize_grads: bool = False) -> Any:
    """The normalised arguments that overrides of ``grad`` get; their answer for a dictionary of inputs becomes one."""
    named = {
        "grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph,
        "only_inputs": only_inputs, "allow_unused": _allowed(allow_unused, materialize_grads),
        "is_grads_batched": is_grads_batched, "materialize_grads": materialize_grads,
    }
    given = as_row(outputs), tuple(inputs_of(inputs, "grad"))
    if not given[1]:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    return given, named, lambda answer: dict(zip(inputs, answer)) if type(inputs) is dict else answer
