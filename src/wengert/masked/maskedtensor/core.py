"""The class: data and mask behind one tensor, and its four own gradients."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ...autograd import Function
from ...dispatch.torch_dispatch import aten
from ...dispatch.torch_function import UNCONVERTED, DisableTorchFunctionSubclass, converted
from ...functions.places import PLACES
from ...tensor import Tensor
from ...tensor.types import sparse_coo, sparse_csr, strided

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

_PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github "
    "issue for features requests and see our documentation on the torch.masked module for further information about "
    "the project."
)
_RECORDED_DATA = (
    "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
    "data.detach().clone()"
)
PLEASE = ("If you would like this operator to be supported, please file an issue for a feature request at "
    "https://github.com/pytorch/maskedtensor/issues with a minimal reproducible code snippet.\n"
    "In the case that the semantics for the operator are not trivial, it would be appreciated to also include a "
    "proposal for the semantics.")
# What functions of the public surface and operators mean to a MaskedTensor, filled by ``rules``.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
OPERATORS: dict[Any, Callable[..., Any]] = {}
_TYPES = frozenset(("bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64"))


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether ``obj`` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


# -- helpers of the rules ----------------------------------------------------------------------------------------------


def _get_data(a: Any) -> Any:
    return a._masked_data if is_masked_tensor(a) else a


def _maybe_get_mask(a: Any) -> Any:
    return a._masked_mask if is_masked_tensor(a) else None


def parts(t: Any) -> tuple[Any, ...]:
    """The dense tensors that a tensor of any layout is made of, the values last."""
    if t.layout is sparse_coo:
        return t.indices(), t.values()
    if t.layout is sparse_csr:
        return t.crow_indices(), t.col_indices(), t.values()
    return (t,)


def with_values(t: Any, values: Any) -> Any:
    """A tensor with other values at the places of ``t``."""
    if t.layout is sparse_coo:
        return PLACES["torch"]["sparse_coo_tensor"](t.indices(), values, tuple(t.shape), is_coalesced=True)
    if t.layout is sparse_csr:
        return PLACES["torch"]["sparse_csr_tensor"](t.crow_indices(), t.col_indices(), values, tuple(t.shape))
    return values


def _tensors_match(a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two tensors of one layout have the same (or, unless ``exact``, close) elements."""
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout is not b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if a.dim() != b.dim():
        return False
    for x, y in zip(parts(a), parts(b)):
        if x.shape != y.shape:
            return False
        y = y.to(x.dtype)
        if not (bool((x == y).all()) if exact else PLACES["torch"]["allclose"](x, y, rtol=rtol, atol=atol)):
            return False
    return True


def _masks_match(a: Any, b: Any) -> bool:
    """Whether two arguments of an operator agree in what is there; a plain tensor or number agrees with all."""
    if not (is_masked_tensor(a) and is_masked_tensor(b)):
        return True
    return _tensors_match(a._masked_mask, b._masked_mask)


def _map_mt_args_kwargs(args: Any, kwargs: Any, map_fn: Any) -> tuple[list[Any], dict[str, Any]]:
    """``map_fn`` of the MaskedTensors among arguments, in lists too; everything else as it is."""

    def mapped(a: Any) -> Any:
        if type(a) in (list, tuple):
            return type(a)(map(mapped, a))
        return map_fn(a) if is_masked_tensor(a) else a

    return [mapped(a) for a in args], {k: mapped(v) for k, v in (kwargs or {}).items()}


def _wrap_result(result_data: Any, result_mask: Any) -> Any:
    if isinstance(result_data, (list, tuple)):
        return tuple(_wrap_result(d, m) for d, m in zip(result_data, result_mask))
    return MaskedTensor(result_data, result_mask) if isinstance(result_data, Tensor) else result_data


# -- text --------------------------------------------------------------------------------------------------------------


def _masked_tensor_str(data: Any, mask: Any, formatter: str) -> str:
    """The elements as nested rows; two dashes stand for one that is not there."""
    if data.layout is not strided:
        data, mask = data.to_dense(), mask.to_dense()
    if data.dim() != 1:
        rows = (_masked_tensor_str(d, m, formatter) for d, m in zip(data, mask))
        return "[\n" + ",\n".join("  " + row.replace("\n", "\n  ") for row in rows) + "\n]"
    there = mask.tolist()
    texts = [formatter.format(v) if isinstance(v, float) else str(v) for v in data.tolist()]
    width = max((len(s) if kept else 8 for s, kept in zip(texts, there)), default=0)
    return "[" + ", ".join(s if kept else "--".rjust(width) for s, kept in zip(texts, there)) + "]"


# -- gradients ---------------------------------------------------------------------------------------------------------


class GetData(Function):
    @staticmethod
    def forward(ctx: Any, self: Any) -> Any:  # type: ignore[override]
        ctx.mask = self._masked_mask
        return self._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:  # type: ignore[override]
        return grad_output if is_masked_tensor(grad_output) else MaskedTensor(grad_output, ctx.mask)


class Constructor(Function):
    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any, dense: bool = False) -> Any:  # type: ignore[override]
        ctx.dense = dense
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:  # type: ignore[override]
        return _get_data(grad_output) if ctx.dense else grad_output, None, None


class MaskedTensor(Tensor):
    """A tensor of which only the elements where a mask is true are there.

    Operators of one tensor keep the mask, those of two need equal masks, and reductions count what is there; an
    unsupported one raises ``TypeError``. Made by ``masked_tensor`` and ``as_masked_tensor``; ``get_data``, ``get_mask``
    and ``to_tensor`` lead out again. Of sparse data (``sparse_coo``, ``sparse_csr``) the mask has the same places.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> torch.masked.masked_tensor(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.tensor([[True, False], [True, True]]))
    MaskedTensor(
      [
        [  0.0000,       --],
        [  2.0000,   3.0000]
      ]
    )
    """

    _masked_data: Any
    _masked_mask: Any

    @staticmethod
    def __new__(cls: Any, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        for name, given in (("data", data), ("mask", mask)):
            if is_masked_tensor(given) or not isinstance(given, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        _check(*_fitted(data, mask))
        warnings.warn(_PROTOTYPE, UserWarning, stacklevel=2)
        if data.requires_grad:
            warnings.warn(_RECORDED_DATA, UserWarning, stacklevel=2)
        return Tensor._make_wrapper_subclass(cls, data.size(),
            strides=data.stride() if data.layout is strided else None, dtype=data.dtype, device=data.device,
            requires_grad=requires_grad, dispatch_sizes_strides_policy="strides", dispatch_layout=True)

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        data, mask = _fitted(data, mask)
        self._set_data_mask(data.detach().clone(), mask.clone())

    def _set_data_mask(self, data: Any, mask: Any) -> None:
        self._masked_data, self._masked_mask = data, mask

    @staticmethod
    def _from_values(data: Any, mask: Any, dense: bool = False) -> MaskedTensor:
        """``as_masked_tensor``. ``dense``: the gradient of ``data`` is a plain tensor."""
        return Constructor.apply(data, mask, dense)  # type: ignore[no-any-return]

    def get_data(self) -> Tensor:
        """The data, those that are not there included; gradients come back with the mask."""
        return GetData.apply(self)  # type: ignore[no-any-return]

    def get_mask(self) -> Tensor:
        return self._masked_mask  # type: ignore[no-any-return]

    def to_tensor(self, value: Any) -> Tensor:
        """The data, with ``value`` for what is not there."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    @property
    def layout(self) -> Any:  # type: ignore[override]
        return self._masked_data.layout

    def is_sparse_coo(self) -> bool:  # type: ignore[override]
        return self.layout is sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        return self.layout is sparse_csr

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        return self.layout is not strided

    def _values(self) -> Any:
        return OPERATORS[aten._values](self)

    def _indices(self) -> Any:
        return OPERATORS[aten._indices](self)

    def to_sparse_coo(self) -> Any:
        return self.to_sparse()

    def __repr__(self) -> str:  # type: ignore[override]
        data, mask = self._masked_data, self._masked_mask
        if data.dim() == 0:
            there = bool(mask)
            value = data.item()
            text = (f"{value:8.4f}" if isinstance(value, float) else str(value)) if there else "--"
            return f"MaskedTensor({text}, {there})"
        rows = _masked_tensor_str(data, mask, "{0:8.4f}")
        return "MaskedTensor(\n  " + rows.replace("\n", "\n  ") + "\n)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        ours = FUNCTIONS.get(func)
        if ours is not None:
            return ours(*args, **kwargs)
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            answer = func(*args, **kwargs)
        return answer if func in UNCONVERTED or not is_masked_tensor(answer) else converted(answer, cls)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        packet = func.overloadpacket
        known = OPERATORS.get(packet)
        if known is not None:
            return known(*args, **(kwargs or {}))
        warnings.warn(f"{packet.__name__} is not implemented in __torch_dispatch__ for MaskedTensor.\n{PLEASE}",
            UserWarning, stacklevel=2)
        return NotImplemented


def _fitted(data: Any, mask: Any) -> tuple[Any, Any]:
    """Sparse data at the places of the mask, if they are more or fewer."""
    if data.layout is mask.layout is sparse_coo:
        data, mask = data.coalesce(), mask.coalesce()
    if (data.layout is mask.layout and data.layout in (sparse_coo, sparse_csr)
            and parts(data)[-1].shape != parts(mask)[-1].shape):
        data = data.to_dense().sparse_mask(mask)
    return data, mask


def _check(data: Any, mask: Any) -> None:
    """Refuse data and mask that do not belong together."""
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout not in (strided, sparse_coo, sparse_csr):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if data.layout is sparse_coo and not _same(data.indices(), mask.indices()):
        raise ValueError("data and mask are both sparse COO tensors but do not have the same indices.")
    if data.layout is sparse_csr and not (
        _same(data.crow_indices(), mask.crow_indices()) and _same(data.col_indices(), mask.col_indices())
    ):
        raise ValueError("data and mask are both sparse CSR tensors but do not share either crow or col indices.")
    if str(mask.dtype) != "torch.bool":
        raise TypeError("mask must have dtype bool.")
    if data.dtype.name not in _TYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")


def _same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool((a == b).all())


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """``data``, of which only the elements where ``mask`` is true are there: a leaf, with a copy of the data.

    ``mask`` has the shape and the layout of ``data``; with ``requires_grad``, the gradient is a MaskedTensor too.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> x = torch.masked.masked_tensor(torch.tensor([1.0, 2.0, 5.0]), torch.tensor([True, True, False]))
    >>> x.mean()
    MaskedTensor(  1.5000, True)
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """``data`` with a mask, as a step of the graph: gradients reach ``data``, as MaskedTensors."""
    return MaskedTensor._from_values(data, mask)
