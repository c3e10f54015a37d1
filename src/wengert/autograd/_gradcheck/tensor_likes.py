"""Checks of functions of tensor-likes: objects that override operators by ``__torch_function__`` and are no tensors.

Of an argument nothing is used but what such an object has if it is anything like a tensor: its type and geometry,
``data`` that can be read and written by subscripts, and ``requires_grad``. Gradients are asked of
``torch.autograd.grad``, which it overrides too.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ...dispatch.torch_function import is_tensor_like
from ...tensor import Tensor
from .._entry_points import grad
from .error import GradcheckError

if TYPE_CHECKING:
    from collections.abc import Callable


def alike(x: Any) -> bool:
    """Whether ``x`` is like a tensor that requires a gradient, and is none."""
    return not isinstance(x, Tensor) and is_tensor_like(x) and bool(x.requires_grad)


def check(func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, fast: bool) -> None:
    """Compare the gradients of ``func`` with central differences, element by element.

    Raises:
        GradcheckError: they differ.
        RuntimeError: a tensor-like is of a kind that cannot be checked.
    """
    wanted = [(i, x) for i, x in enumerate(inputs) if alike(x)]
    for i, x in wanted:
        _accept(i, x, fast)
    outputs = func(*inputs)
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    for o, y in enumerate(outputs):
        if not is_tensor_like(y):
            continue
        for at in _places(y):
            seed = y.new_zeros(y.size())
            seed[at] = 1.0
            found = grad(y, [x for _, x in wanted], seed, retain_graph=True, allow_unused=True)
            for (i, x), g in zip(wanted, found):
                _compare(func, inputs, (o, at), (i, x), g, eps, atol, rtol)


def _accept(i: int, x: Any, fast: bool) -> None:
    """Refuse what central differences cannot be taken of."""
    if x.is_sparse or "strided" not in str(x.layout):
        raise RuntimeError(f"gradcheck of tensor-likes needs strided ones; input {i} is not")
    if (fast and x.is_complex()) or not x.is_floating_point() or "64" not in str(x.dtype):
        raise RuntimeError(f"gradcheck of tensor-likes needs float64; input {i} is of another type")
    if fast and x.device.type == "meta":
        raise RuntimeError(f"gradcheck needs numbers; input {i} has none")
    if x.numel() > 1 and any(s == 0 and n > 1 for s, n in zip(x.stride(), x.size())):
        raise RuntimeError(f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
            "non-overlapping.")
    x.stride()


def _places(x: Any) -> Any:
    return itertools.product(*(range(n) for n in tuple(x.size())))


def _compare(func: Callable[..., Any], inputs: tuple[Any, ...], output: Any, input: Any, g: Any, eps: float,
        atol: float, rtol: float) -> None:
    (o, at), (i, x) = output, input
    x.new_zeros(x.size())  # what stands for a gradient that is undefined: it must be possible
    data = x.data
    for place in _places(x):
        middle = data[place].item()

        def value(shift: float, middle: float = middle, place: Any = place) -> float:
            data[place] = middle + shift
            answer = func(*inputs)
            return float((answer[o] if isinstance(answer, (tuple, list)) else answer)[at].item())

        numerical = (value(eps) - value(-eps)) / (2 * eps)
        data[place] = middle
        analytical = 0.0 if g is None else float(g[place].item())
        if not abs(analytical - numerical) <= atol + rtol * abs(numerical):
            raise GradcheckError(f"Jacobian mismatch for output {o} with respect to input "
                f"{i},\nnumerical:{numerical}\nanalytical:{analytical}\n(at {place} of the input, {at} of the output)")


def second(func: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The gradients of ``func`` as a function, and what to call it with: the inputs, and a vector for each output."""
    outputs = func(*inputs)
    vectors = []
    for y in outputs if isinstance(outputs, (tuple, list)) else (outputs,):
        v = y.new_zeros(y.size())
        for k, at in enumerate(_places(y)):
            v[at] = 0.5 + 0.25 * k
        v.requires_grad_()
        vectors.append(v)

    def gradients(*args: Any) -> Any:
        given = args[: len(inputs)]
        live = [x for x in given if alike(x)]
        for x in live:
            x.requires_grad_()
        found = func(*given)
        answer = grad(found if isinstance(found, (tuple, list)) else [found], live, list(args[len(inputs) :]),
            create_graph=True, allow_unused=True)
        return tuple(g for g in answer if g is not None)

    return gradients, (*inputs, *vectors)
