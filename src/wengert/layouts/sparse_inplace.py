"""Sparse tensors written to or turned in place: the tensor is given other places and values, and
the history of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays import dtypes as dt
from ..arrays.array_likes import unsupported
from ..arrays.sparse import Coo
from ..graph.modes import modes
from ..tensor.autograd_meta import requires_grad
from ..tensor.functions import inplace_function
from ..tensor.inplace import check_writable
from .sparse import (
    KEEPS_ZERO,
    OPERATORS,
    SparseTensor,
    _add,
    _div,
    _is_sparse,
    _mul,
    _permute,
    _same_size,
    _t,
    _transpose,
    entries,
    like,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def becomes(s: Any, new: Any) -> Any:
    """Give ``s`` the array and the history of ``new``."""
    if modes().grad and s._wg_edge is None and requires_grad(s):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if new._wg_data.dtype != s._wg_data.dtype:
        if not dt.can_cast(new._wg_data.dtype, s._wg_data.dtype):
            found_, wanted = dt.scalar_name(new._wg_data.dtype), dt.scalar_name(s._wg_data.dtype)
            raise RuntimeError(f"result type {found_} can't be cast to the desired output type {wanted}")
        new = new.to(s.dtype)
    s._wg_data, s._wg_edge = new._wg_data, new._wg_edge
    s._wg_vc[0] += 1
    return s


def _in_place(run: Callable[..., Any], coalesced: str = "") -> Callable[..., Any]:
    """``coalesced``: the name of an operator that has to find each place once."""

    def write(s: Any, *args: Any) -> Any:
        if coalesced and not s.is_coalesced():
            raise RuntimeError(f"{coalesced} requires coalesced input")
        return becomes(s, run(s, *args))

    return write


def _add_in_place(a: Any, b: Any, alpha: Any = 1) -> Any:
    if _is_sparse(a):
        return becomes(a, _add(a, b, alpha))
    _same_size(a, b)
    m = modes()
    if m.grad and (requires_grad(a) or requires_grad(b)):
        return inplace_function("add")(a, b.to_dense(), alpha=alpha)
    check_writable(a, False, m)
    if not dt.can_cast(b._wg_data.dtype, a._wg_data.dtype):
        raise RuntimeError(f"result type {dt.scalar_name(b._wg_data.dtype)} can't be cast to the desired output type "
            f"{dt.scalar_name(a._wg_data.dtype)}")
    b._wg_data.astype(a._wg_data.dtype).add_to(a._wg_data, None if alpha == 1 else alpha)
    a._wg_vc[0] += 1
    return a


def _sub_in_place(a: Any, b: Any, alpha: Any = 1) -> Any:
    return _add_in_place(a, b, -alpha)


def _mul_in_place(a: Any, b: Any) -> Any:
    return becomes(a, _mul(a, b)) if _is_sparse(a) else inplace_function("mul")(a, b.to_dense())


def _zero_in_place(s: Any) -> Any:
    a = s._wg_data
    return becomes(s, SparseTensor._wg_wrap(Coo(a.indices[:, :0], a.values[:0], a.shape, True)))


def _copy_in_place(a: Any, b: Any, *_: Any) -> Any:
    if _is_sparse(a) and _is_sparse(b):
        return becomes(a, like(b, entries(b).clone()))
    names = [f"torch.{'sparse.' if _is_sparse(x) else ''}{dt.scalar_name(x._wg_data.dtype)}Tensor" for x in (a, b)]
    raise RuntimeError(
        f"copy_() between dense and sparse Tensors is not implemented! Found self type = {names[0]} and src type = "
        f"{names[1]}"
    )


def _turning(turn: Callable[..., Any]) -> Callable[..., Any]:
    def turn_(self: Any, *dims: Any, **named: Any) -> Any:
        if modes().grad and self._wg_edge is None and requires_grad(self):
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return becomes(self, turn(self, *dims, **named))

    return turn_


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **named: Any) -> Any:
        raise unsupported(name)

    return refuse


# The methods that are no operators here; those that need strides are refused in PyTorch's words.
for _name, _method in {
    "t_": _turning(_t), **dict.fromkeys(("transpose_", "swapaxes_", "swapdims_"), _turning(_transpose)),
    **dict.fromkeys(("squeeze_", "unsqueeze_", "as_strided_"), _refusing("as_strided_")),
    "resize_": _refusing("resize_"),
    **dict.fromkeys(("squeeze", "narrow", "diagonal", "split", "chunk", "as_strided"), _refusing("as_strided")),
    "set_": _refusing("set_.source_Tensor"), "is_set_to": _refusing("is_set_to"), "fill_": _refusing("fill_.Scalar"),
    "view_as": _refusing("view"),
}.items():
    _method.__name__ = _name
    setattr(SparseTensor, _name, _method)

OPERATORS |= {"t": _t, "transpose": _transpose, "permute": _permute}
OPERATORS |= {
    "add_": _add_in_place, "sub_": _sub_in_place, "mul_": _mul_in_place, "div_": _in_place(_div),
    "zero_": _zero_in_place, "copy_": _copy_in_place,
}
OPERATORS |= {f"{name}_": _in_place(OPERATORS[name]) for name in ("neg", "square")}
OPERATORS |= {f"{n}_": _in_place(OPERATORS[n], f"{n}_") for n in KEEPS_ZERO
    if not n.startswith("is") and n not in ("square", "signbit")}

