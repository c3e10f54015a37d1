"""Functions that PyTorch warns of, once in a process, or has removed: each says what to use instead. And rare ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..arrays.errors import warn_once
from ..ops.reduce import axes_of
from ..tensor import specialise
from ..tensor.functions import function, inplace_function
from ..tensor.tensor import Tensor
from .composites.call import by_example
from .creation import deliver
from .overloads import FUNCTIONS, METHODS, overload
from .places import described

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ops.operator import Operator

_REMOVED = "torch.{0} is deprecated in favor of {1} and will be removed in a future PyTorch release.\n"
_EQUAL = "This transform will produce equivalent results for all valid (symmetric positive definite) inputs."

TEXTS = {
    "cholesky": _REMOVED.format("cholesky", "torch.linalg.cholesky")
    + "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\n"
    f"and\nU = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\n{_EQUAL}",
    "qr": _REMOVED.format("qr", "torch.linalg.qr") + "The boolean parameter 'some' has been replaced with a string "
    "parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some "
    "else 'complete')",
    "triangular_solve": "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be "
    "removed in a future PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not "
    "return a copy of one of the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = "
    "torch.linalg.solve_triangular(A, B).",
    "lu": _REMOVED.format("lu", "torch.linalg.lu_factor / torch.linalg.lu_factor_ex") + "LU, pivots = torch.lu(A, "
    "compute_pivots)\nshould be replaced with\nLU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
    "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
    "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
    "lu_solve": "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch "
    "release.\nNote that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould "
    "be replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)",
    "cross": "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly "
    "or simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a "
    "future release.",
    "chain_matmul": "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
    "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than multiple parameters.",
    "meshgrid": "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
    "stft": "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. "
    "Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To "
    "suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.",
    "istft": "A window was not provided. A rectangular window will be applied.Please provide the same window used by "
    "stft to make the inversion lossless.To suppress this warning and use a rectangular window, explicitly set "
    "`window=torch.ones(n_fft, device=<device>)`.",
}

# Where it depends on the arguments.
APPLIES: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], bool]] = {
    "cross": lambda args, kwargs: len(args) < 3 and kwargs.get("dim") is None,
    "meshgrid": lambda args, kwargs: kwargs.get("indexing") is None,
    **dict.fromkeys(("stft", "istft"),
        lambda args, kwargs: (args[4] if len(args) > 4 else kwargs.get("window")) is None),
}
FUNCTIONS_ONLY = ("chain_matmul", "meshgrid")


def _warning(name: str, work: Any) -> Any:
    text, applies = TEXTS[name], APPLIES.get(name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if applies is None or applies(args, kwargs):
            warn_once(text)
        return work(*args, **kwargs)

    call.__wrapped__ = work  # type: ignore[attr-defined]
    return described(call, name, work.__doc__)


for _name in TEXTS:
    FUNCTIONS[_name] = _warning(_name, FUNCTIONS.get(_name) or function(_name))
    if _name not in FUNCTIONS_ONLY:
        METHODS[_name] = FUNCTIONS[_name]


def deprecated_signature(op: Operator, inplace: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call in the old order, where numbers stood before the tensors that they multiply, as one in the new order.

    ``add(x, alpha, y)``, ``addcmul(x, value, a, b)``; ``addmm(beta, x, alpha, a, b)`` or ``addmm(beta, x, a, b)``,
    where methods have ``x`` in front.
    """
    name, numbers = op.name + "_" * inplace, op.params[-op.kwonly :]
    row = list(args)
    if not isinstance(row[0], Tensor) and op.kwonly == 2:
        row[:2] = row[1::-1]
    count = len(row) - len(op.tensors)
    given, others = row[1 : 1 + count], row[1 + count :]
    right = count <= len(numbers) and isinstance(row[0], Tensor) and not any(isinstance(v, Tensor) for v in given)
    if (not right or not all(isinstance(v, Tensor) or len(op.tensors) == 2 for v in others)
            or any(kwargs[n] != 1 for n in numbers)):
        raise TypeError(f"{name}() takes {len(op.tensors)} positional arguments but {len(args)} were given")
    first, out = (["Tensor input"], ["Tensor out = None"]) if not inplace else ([], [])
    typed = [f"Tensor {p}" for p in op.tensors[1:]]
    before = [f"Number {n}" for n in numbers[:count]]
    before = [before[0], *first, *before[1:]] if op.kwonly == 2 else [*first, *before]
    after = [*first, *typed, "*", *(f"Number {n} = 1" for n in numbers), *out]
    old = ", ".join([*before, *typed, *(["*", *out] if out else [])])
    warn_once(
        f"This overload of {name} is deprecated:\n\t{name}({old})\nConsider using one of the following signatures "
        f"instead:\n\t{name}({', '.join(after)})",
    )
    call = inplace_function(op.name) if inplace else function(op.name)
    return call(row[0], *others, **{**kwargs, **dict(zip(numbers, given))})


specialise.deprecated_signature = deprecated_signature


# -- rare ones, and what is gone --------------------------------------------------------------------------------------


@overload("torch", "Tensor")
@by_example
def hash_tensor(input: Any, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Any = None) -> Tensor:
    """The exclusive or of the 64 bits of the elements, numbers taken as int64 or float64, over ``dim`` or all; uint64.

    >>> torch.hash_tensor(torch.tensor([1, 2, 4]))
    tensor(7, dtype=torch.uint64)
    """
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if input.numel() == 0 and not dims:
        raise RuntimeError("hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument.")
    for d in dims:
        if input.ndim and input.shape[d] == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    kind = "f8" if input.is_floating_point() else "i8"
    bits = np.ascontiguousarray(input.detach()._wg_data.astype(kind)).view(np.uint64).reshape(input.shape)
    xor: Any = np.bitwise_xor.reduce
    found = np.asarray(xor(bits, axis=axes_of(dims, input.ndim) if dims else None, keepdims=keepdim))
    return deliver(found, out, "hash_tensor")


@overload("Tensor")
def reinforce(self: Any, reward: Any) -> NoReturn:
    """Removed: raises ``RuntimeError``."""
    raise RuntimeError("reinforce() was removed.\nUse torch.distributions instead: sample from a distribution and "
        "differentiate -log_prob(sample) * reward.")


@overload("Tensor")
def record_stream(self: Any, stream: Any) -> None:
    """Nothing: there are no streams."""


@overload("Tensor")
def module_load(self: Any, other: Any, assign: bool = False) -> Any:
    """What a module stores for this parameter when it loads ``other``: it, detached, or self with its values."""
    return other.detach() if assign else self.copy_(other).detach()


def _delete(self: Any, index: Any) -> NoReturn:
    raise TypeError("Tensor does not support deleting items")


METHODS["__delitem__"] = _delete
METHODS["__nonzero__"] = lambda self: bool(self)
METHODS["__long__"] = lambda self: int(self)

GONE = {
    "eig": "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors "
    "mimicking complex tensors.",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.",
    "matrix_rank": "Please use the `torch.linalg.matrix_rank` function instead.",
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments "
    "reversed.",
    "symeig": "Use `torch.linalg.eigvalsh` or `torch.linalg.eigh`, which take the lower triangle by "
    "default.",
}


def removed(name: str) -> Any:
    """A function of an old name, which raises ``RuntimeError`` and says what to use instead."""

    def method(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. {GONE[name]}")

    return described(method, name, "Removed: raises ``RuntimeError``.")


METHODS |= {name: removed(name) for name in GONE if name != "matrix_rank"}
