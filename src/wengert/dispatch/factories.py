"""Creation and random numbers as dispatch modes, and tensors that dispatch, see them: under PyTorch's names.

``torch.ones(2, 3)`` reaches them as ``aten.ones.default([2, 3])``; what is made from data as
``aten.lift_fresh.default`` of the tensor that was made. That a result shall require a gradient is no business of
theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..functions.sizes import shape_of
from ..tensor import classes
from ..tensor.types import CPU, Size
from .torch_dispatch import ask, aten, below, dispatching

if TYPE_CHECKING:
    from ..graph.modes import Modes


def _sized(overload: str) -> Any:
    return lambda args, kwargs: (overload, (_size(args, kwargs),), kwargs)


def _size(args: Any, kwargs: Any) -> list[int]:
    return list(shape_of(args) if args else shape_of((kwargs.pop("size"),)))


def _as_given(overload: str) -> Any:
    return lambda args, kwargs: (overload, args, kwargs)


def _counted(*overloads: str) -> Any:
    """By the number of positional arguments."""
    return lambda args, kwargs: (overloads[min(len(args), len(overloads)) - 1], args, kwargs)


def _new(args: Any, kwargs: Any) -> Any:
    return "default", (args[0], _size(args[1:], kwargs)), kwargs


def _new_strided(args: Any, kwargs: Any) -> Any:
    return "default", (args[0], list(args[1]), list(args[2]), *args[3:]), kwargs


def _random_integers(args: Any, kwargs: Any) -> Any:
    low = len(args) > 2 or "low" in kwargs
    return "low" if low else "default", args, kwargs


def _normal(args: Any, kwargs: Any) -> Any:
    mean, std = (isinstance(v, classes.Tensor_) for v in (*args, 1.0)[:2])
    return f"{'Tensor' if mean else 'float'}_{'Tensor' if std else 'float'}", args, kwargs


# the function -> the operator, and what gives the overload and the arguments
_NAMED: dict[str, tuple[str, Any]] = {
    **{n: (n, _sized("default")) for n in ("ones", "zeros", "rand", "randn")},
    **{n: (n, _new) for n in ("new_zeros", "new_ones", "new_empty")},
    **{n: (n, _as_given("default")) for n in ("full", "linspace", "logspace", "randperm", "empty_strided",
        "scalar_tensor", "tril_indices", "triu_indices", "zeros_like", "ones_like", "empty_like", "full_like",
        "rand_like", "randn_like", "randint_like", "new_full", "multinomial", "poisson", "binomial", "empty_permuted",
        "uniform_", "normal_", "exponential_", "cauchy_", "log_normal_", "geometric_", "bernoulli", "resize_")},
    "empty": ("empty", _sized("memory_format")), "arange": ("arange", _counted("default", "start", "start_step")),
    "eye": ("eye", _counted("default", "m")), "randint": ("randint", _random_integers), "normal": ("normal", _normal),
    "bernoulli_": ("bernoulli_", lambda args, kwargs: (
        "Tensor" if isinstance((*args, 0.5)[1], classes.Tensor_) else "float",
        args if len(args) > 1 or kwargs else (*args, 0.5), kwargs)),
    "new_empty_strided": ("new_empty_strided", _new_strided),
    "random_": ("random_", _counted("default", "to", "from")), "item": ("_local_scalar_dense", _as_given("default")),
}
_PLACED = frozenset(("ones", "zeros", "empty", "full", "rand", "randn", "randint", "randperm", "arange", "eye",
    "linspace", "logspace", "empty_strided", "normal", "scalar_tensor", "tril_indices", "triu_indices", "new_zeros",
    "new_ones", "new_empty", "new_full", "empty_permuted", "new_empty_strided"))
_LIFTED = frozenset(("tensor", "as_tensor", "from_numpy", "new_tensor"))


def dispatched(name: str, call: Any, args: Any, kwargs: Any, m: Modes) -> Any:
    """The call ``name(*args, **kwargs)`` as modes and dispatching tensors answer it; NotImplemented if nobody is
    concerned.
    """
    if (not m.dispatch and not dispatching(args)) or kwargs.get("out") is not None:
        return NotImplemented
    kwargs = dict(kwargs)
    if name in _LIFTED:
        if not m.dispatch:
            return NotImplemented
        wanted = kwargs.pop("requires_grad", False)
        made = below(m, call, args, kwargs)
        if any(made is v for v in args):
            return made
        answer = ask(aten.lift_fresh.default, _same, False, (made,), {}, m)
        return answer._wg_require() if wanted else answer
    found = _NAMED.get(name)
    if found is None:
        return NotImplemented
    theirs, arrange = found
    wanted = kwargs.pop("requires_grad", False)
    overload, args, kwargs = arrange(args, kwargs)
    if name in _PLACED:
        kwargs = {"device": args[0].device if name.startswith("new_") else CPU, "pin_memory": False} | kwargs
        args = tuple(list(v) if type(v) is tuple or type(v) is Size else v for v in args)
    elif name.endswith("_like"):
        kwargs = {"pin_memory": False} | kwargs
    answer = ask(getattr(getattr(aten, theirs), overload), call, False, args, kwargs, m)
    if not (answer is None or name == "item" or isinstance(answer, classes.Tensor_)):
        raise RuntimeError(f"Unable to cast {answer!s} to Tensor: a __torch_dispatch__ gave a {type(answer).__name__}")
    return answer._wg_require() if wanted else answer


def _same(made: Any) -> Any:
    return made
