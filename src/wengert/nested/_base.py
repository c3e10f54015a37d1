"""What both kinds of nested tensor share: the class, its place among the operators, and one node for each operation.

A nested tensor is a ``Tensor`` around an ``arrays.nested.Nested``. An operator on it is dense operators on the array of
its numbers, which have gradients; the nodes that they record become one node of PyTorch's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arrays.array_likes import NESTED
from ..functions.composites.subgraph_node import wrap_in_node
from ..functions.places import PLACES
from ..functions.view_replay import INVERSES
from ..graph.modes import modes
from ..graph.node import next_sequence
from ..ops import layouts as declared
from ..ops.operator import TABLE, Composite, Operator
from ..tensor import Tensor
from ..tensor.arguments import convert, positional
from ..tensor.autograd_meta import INFERENCE_VERSION, new_version, requires_grad
from ..tensor.copy_slices import CopySlices
from ..tensor.functions import FUNCTIONS, function, inplace_function
from ..tensor.inplace import check_cast
from ..tensor.namespaces import ARRAY_OPS, TRACED_OPS
from ..tensor.record import record
from ..tensor.results import attach_view
from ..tensor.tensor import wrap
from ..tensor.types import contiguous_format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

    from ..arrays.nested import Nested


NESTED.append(True)


# -- into a nested tensor, and out of it -------------------------------------------------------------------------------


def _recorded(op: Operator) -> Callable[..., Any]:
    """The function of one of the two declared operators."""

    def call(source: Any, plan: Any = None) -> Any:
        m = modes()
        if any(level.tangent(source) is not None for level in m.levels):
            theirs = "_nested_tensor_from_tensor_list" if hasattr(plan, "sizes") else "_nested_view_from_jagged"
            raise NotImplementedError(f"Trying to use forward AD with {theirs} that does not support it because it has "
                "not been implemented yet. Nested tensors carry no tangents; take the parts one by one.")
        inner = op is declared.nested_values
        inputs, raw = convert(op, (source, source._wg_data.plan if inner else plan))
        t = ARRAY_OPS.wrap(op.forward(*positional(op, raw)))
        attach_view(t, source, op, () if inner else (plan,), m)
        if m.inference:
            t._wg_vc = INFERENCE_VERSION
        elif m.grad and t._wg_data.dtype.kind in "fcVW":
            node = record(op, inputs, raw, (t,), m)
            if node is not None:
                t._wg_edge = (node, 0)
        return t

    FUNCTIONS[op.name] = call
    return call


viewed = _recorded(declared.nested_view)
numbers = _recorded(declared.nested_values)
INVERSES[declared.nested_view.name] = lambda v, source, plan: numbers(v)
INVERSES[declared.nested_values.name] = lambda v, source: viewed(v, source._wg_data.plan)


def nest(packed: Tensor, plan: Any) -> Any:
    """A nested tensor of new numbers: no view of them."""
    t = viewed(packed, plan)
    if t._wg_meta is not None:
        t._wg_meta.view = None
    return t


def as_single_node(arguments: Iterable[Any], make: Callable[[], Any], name: str | None = None) -> Any:
    """What ``make()`` gives, with one node for all of it, named as that of the last dense step if ``name`` is None."""
    since = next_sequence()
    results = make()
    first = results[0] if isinstance(results, (tuple, list)) and results else results
    edge = getattr(first, "_wg_edge", None)
    if edge is None:
        return results
    node = edge[0]
    if isinstance(first, Nest) and getattr(node, "op", None) is declared.nested_view:
        node = node.edges[0][0]
    if node.seq < since:
        wrap_in_node(tuple(results) if isinstance(results, (tuple, list)) else results, name or node.name(), arguments,
            since)
    return results


# -- the class ---------------------------------------------------------------------------------------------------------


class Nest(Tensor):
    """A tensor of parts. ``table``: what its kind does at an operator or a function, by name."""

    _own_operators = "and functions"  # it is asked about both
    _wg_data: Any
    is_nested = True
    _wg_opaque = True  # nothing else reads its numbers
    table: ClassVar[dict[str, Callable[..., Any]]] = {}

    @classmethod
    def _around(cls, array: Nested) -> Any:
        t = object.__new__(cls)
        t._wg_data, t._wg_edge, t._wg_meta, t._wg_vc = array, None, None, new_version()
        return t

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = _SPECIAL.get(func.__name__, func.__name__), kwargs or {}
        run = cls.table.get(name)
        if run is not None:
            return run(*args, **kwargs)
        inner = getattr(func, "__wrapped__", None)  # a function of others, which are checked themselves
        if inner is not None and not getattr(inner, "surrounded", False):
            return inner(*args, **kwargs)
        op = TABLE.get(name)
        if isinstance(op, Operator) and is_pointwise(op):
            return cls._pointwise(name, function(name), args, kwargs)
        base = TABLE.get(name[:-1]) if name.endswith("_") else None
        if isinstance(base, Operator) and (is_pointwise(base) or name in _FILLS):
            return cls._in_place(base.name, args, kwargs)
        if isinstance(op, Composite):
            return op.define(TRACED_OPS, *args, **kwargs)
        raise cls._refused(name)

    @classmethod
    def _refused(cls, name: str) -> Exception:
        raise NotImplementedError

    @classmethod
    def _operands(cls, name: str, first: Any, args: Any) -> list[Any]:
        """The arguments as dense operands to the numbers of ``first``."""
        raise NotImplementedError

    @classmethod
    def _pointwise(cls, name: str, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """``run``, which treats every number for itself, on the numbers."""
        given = [*args, *kwargs.values()]
        first = next(x for x in given if isinstance(x, Nest))

        def make() -> Any:
            operands = cls._operands(name, first, given)
            found = run(*operands[: len(args)], **dict(zip(kwargs, operands[len(args) :])))
            return each(lambda x: nest(x, numbers_plan(first)), found)

        return as_single_node([x for x in given if isinstance(x, Tensor)], make)

    @classmethod
    def _in_place(cls, name: str, args: Any, kwargs: Any) -> Any:
        """The in-place form, on the numbers."""
        target = args[0]
        if not isinstance(target, Nest):
            raise RuntimeError(f"{name}_(): a tensor that is not nested cannot be written to with a nested one")
        if modes().grad and target._wg_edge is None and requires_grad(target) and not target._is_view():
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        operands = cls._operands(name + "_", target, [*args[1:], *kwargs.values()])
        before, since = target.detach(), next_sequence()
        before._wg_edge = target._wg_edge
        seen = numbers(target)
        inplace_function(name)(seen, *operands[: len(args) - 1], **dict(zip(kwargs, operands[len(args) - 1 :])))
        node = target._wg_edge[0] if target._wg_edge is not None else None
        if type(node) is CopySlices and node.seq < since:  # of a tensor that is no view, with one node for the whole
            wrap_in_node(target, node.fn.name(),  # type: ignore[union-attr]
                     [before, *(x for x in args[1:] if isinstance(x, Tensor))], since)
        return target

    # -- attributes of a tensor ---------------------------------------------------------------------------------

    @property
    def _packed(self) -> Tensor:
        """The numbers without history."""
        t = wrap(self._wg_data.packed)
        t._wg_vc = self._wg_vc
        return t

    def values(self) -> Tensor:
        """The numbers of all parts, one after the other: a view, and gradients come back through it."""
        return numbers(self)

    def dim(self) -> int:
        """The number of dimensions, that of the parts included."""
        return self._wg_data.ndim  # type: ignore[no-any-return]

    ndimension = dim
    ndim = property(dim)

    def detach(self) -> Any:
        t = type(self)._around(self._wg_data)
        t._wg_vc = self._wg_vc
        return t

    def _get_data(self) -> Any:
        return type(self)._around(self._wg_data)

    def _set_data(self, new: Tensor) -> None:
        if type(new) is not type(self):
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                "incompatible tensor type.")
        self._wg_data = new._wg_data

    data = property(_get_data, _set_data)

    def data_ptr(self) -> int:
        return self._packed.data_ptr()

    def storage_offset(self) -> int:
        return self._packed.storage_offset()

    def untyped_storage(self) -> Any:
        return self._packed.untyped_storage()

    def item(self) -> Any:
        if self._wg_data.size != 1:
            raise RuntimeError(f"a Tensor with {self._wg_data.size} elements cannot be converted to Scalar")
        return self._packed.item()

    def __bool__(self) -> bool:
        if self._wg_data.size != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._packed)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numpy()

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self._wg_edge is not None:
            return Tensor.__deepcopy__(self, memo)
        if id(self) not in memo:
            memo[id(self)] = type(self)._around(self._wg_data.copy())._wg_require(requires_grad(self))
        return memo[id(self)]

    def is_set_to(self, other: Any) -> bool:
        raise self._refused("is_set_to")

    def is_same_size(self, other: Any) -> bool:
        return bool(self._wg_data.shape == other._wg_data.shape)

    def apply_(self, f: Callable[[Any], Any]) -> Any:
        numbers(self).apply_(f)
        return self

    def __contains__(self, element: Any) -> bool:
        return bool((self == element).values().any())

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """The numbers of another nested tensor of the same parts."""
        if not isinstance(src, Nest) or src._wg_data.packed.shape != self._wg_data.packed.shape:
            self._cannot_copy(src)
        check_cast(src._wg_data.dtype, self._wg_data.dtype)
        numbers(self).copy_(numbers(src))
        return self

    def _cannot_copy(self, src: Any) -> NoReturn:
        if not isinstance(src, Nest):
            raise RuntimeError("copy_ only supports Nested Tensors that have same size and other is not one.")
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")

    def zero_(self) -> Any:
        return type(self)._in_place("zero", (self,), {})

    def fill_(self, value: Any) -> Any:
        return type(self)._in_place("fill", (self, value), {})

    # for a number on the left
    def __rsub__(self, other: Any) -> Any:
        return function("sub")(other, self) if isinstance(other, Tensor) else function("rsub")(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return (function("div")(other, self) if isinstance(other, Tensor)
            else function("mul")(function("reciprocal")(self), other))

    __rdiv__ = __rtruediv__

    def __rpow__(self, other: Any) -> Any:
        return function("pow")(other, self)

    def __rfloordiv__(self, other: Any) -> Any:
        return function("floor_divide")(wrap(np.asarray(other)), self)

    def __rmod__(self, other: Any) -> Any:
        return function("remainder")(wrap(np.asarray(other)), self)

    def __rmatmul__(self, other: Any) -> Any:
        return function("matmul")(other, self) if isinstance(other, Tensor) else NotImplemented


for _name in ("uniform_", "normal_", "exponential_", "bernoulli_", "log_normal_", "cauchy_", "geometric_", "random_"):

    def _random(self: Any, *args: Any, _name: str = _name, **kwargs: Any) -> Any:
        getattr(numbers(self), _name)(*args, **kwargs)
        return self

    _random.__name__ = _name
    setattr(Nest, _name, _random)


def numbers_plan(t: Any) -> Any:
    """Where the numbers of ``t`` belong."""
    return t._wg_data.plan


def each(make: Callable[[Any], Any], found: Any) -> Any:
    """``make`` of a result, or of each of several, which stay the named tuple that they are."""
    if not isinstance(found, (tuple, list)):
        return make(found)
    rows = [make(x) for x in found]
    return tuple.__new__(type(found), rows) if isinstance(found, tuple) else tuple(rows)


def dimension(t: Any, dim: int, extra: int = 0) -> int:
    """``dim`` counted from the front; ``IndexError`` if it is out of range."""
    n = t.dim() + extra
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def listed(size: tuple[Any, ...]) -> list[Any]:
    """The sizes in ``view(2, 3)`` or ``view((2, 3))``."""
    return list(size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size)


def entries(table: dict[str, Callable[..., Any]]) -> Callable[..., Callable[[Any], Any]]:
    """A decorator that puts functions in the table of a kind under the given names, or their own."""

    def entry(*names: str) -> Callable[[Any], Any]:
        def put(f: Any) -> Any:
            table.update(dict.fromkeys(names or (f.__name__.strip("_"),), f))
            return f

        return put

    table["detach"] = Nest.detach

    @entry()
    def contiguous(self: Any, memory_format: Any = None) -> Any:
        return self if self.is_contiguous() else table["clone"](self, contiguous_format)

    return entry


def add_likes(entry: Callable[..., Any], plan_of: Callable[[Any], Any]) -> None:
    """Put ``zeros_like`` and its kin in a table; ``plan_of``: where the numbers of the result are."""
    for name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like", "randint_like"):

        def like(self: Any, *args: Any, layout: Any = None, _make: Any = PLACES["torch"][name], **kwargs: Any) -> Any:
            return nest(_make(self._packed, *args, **kwargs), plan_of(self))

        entry(name)(like)


_FILLS = frozenset(("zero_", "fill_", "masked_fill_"))
_ALSO_POINTWISE = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift", "bitwise_not", "logical_and", "logical_or", "logical_xor",
    "logical_not", "gcd", "lcm", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "masked_fill",
    "masked_fill_tensor", "cast", "conj", "angle", "real", "imag", "isclose"))


_SPECIAL = {
    **{f"__{n}__": n for n in ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "pow", "matmul")},
    **{f"__{n}__": f"bitwise_{n}" for n in ("and", "or", "xor")},
    **{f"__r{n}__": f"bitwise_{n}" for n in ("and", "or", "xor")}, "__truediv__": "div", "__floordiv__": "floor_divide",
    "__mod__": "remainder", "__invert__": "bitwise_not", "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift",
}


def is_pointwise(op: Any) -> bool:
    """Whether an operator treats every number for itself."""
    return op.pointwise or op.name in _ALSO_POINTWISE


def methods(cls: Any) -> None:
    """What the table has under the name of a method of ``Tensor`` becomes one of the class."""
    for name, run in cls.table.items():
        if (hasattr(Tensor, name) or name == "to_padded_tensor") and name not in vars(cls):
            setattr(cls, name, run)
