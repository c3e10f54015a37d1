"""Tensors that have a shape, a type and a device, and no numbers: what a program would make, without memory or work.

A ``FakeTensor`` wraps a tensor of the device ``meta`` and says that it is on another. In a ``FakeTensorMode`` all that
is made is fake; operators give fake results. Reading a number raises.

>>> from wengert._subclasses import FakeTensorMode
>>> with FakeTensorMode():
...     model = torch.nn.Linear(1000, 4000, device="cuda")
...     y = model(torch.empty(64, 1000, device="cuda"))
>>> y.shape, y.device
(torch.Size([64, 4000]), device(type='cuda', index=0))
"""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any

from ..dispatch.torch_dispatch import aten, prim
from ..functions.creation import empty_strided
from ..graph.engine import current_graph_task
from ..graph.modes import modes, set_modes
from ..names.absent import absent_from
from ..nn.parameter import Parameter
from ..tensor import Tensor
from ..tensor.namespaces import calling
from ..tensor.types import device as device_type
from ..tensor.types import preserve_format, strided
from ..utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from ..utils._pytree import tree_leaves, tree_map
from . import custom_ops as _custom_ops

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorConverter",
    "FakeTensorDeviceMismatchError", "FakeTensorMode", "UnsupportedFakeTensorException",
    "UnsupportedMutationAliasingException", "UnsupportedOperatorException", "is_fake",
    "unset_fake_temporarily",
]


class _OperatorError(RuntimeError):
    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func

    def __str__(self) -> str:
        return str(self.func)


class DataDependentOutputException(_OperatorError):  # noqa: N818  PyTorch's name
    """A number was read, and there is none."""


class DynamicOutputShapeException(_OperatorError):  # noqa: N818  PyTorch's name
    """The shape of a result depends on numbers, and there are none."""


class UnsupportedOperatorException(_OperatorError):  # noqa: N818  PyTorch's name
    """The operator cannot be done without numbers."""


class UnsupportedFakeTensorException(RuntimeError):  # noqa: N818  PyTorch's name
    """A tensor of this kind cannot be made fake."""


class UnsupportedMutationAliasingException(RuntimeError):  # noqa: N818  PyTorch's name
    """An operator of the user's writes to, or gives, what its schema does not say."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """Tensors that meet say that they are on different devices."""


# Operators that give a number to the program, and those whose result has a shape that depends on numbers.
_NUMBERS = frozenset(("_local_scalar_dense", "equal", "allclose", "is_nonzero"))
_SHAPES = frozenset(("nonzero", "_unique", "_unique2", "unique_dim", "unique_consecutive", "masked_select", "bincount",
    "argwhere"))
_LIFTED = frozenset(("lift_fresh", "lift", "lift_fresh_copy"))
# Operators whose tensors may be on different devices, and that take the device of the result from where it says.
_CROSSING = frozenset(("_to_copy", "copy_", "copy", "set_", "_pin_memory", "is_same_size", *_LIFTED))
_CONSTANT = 1  # of how many elements numbers that the program wrote down are kept, at most


def _on(place: Any) -> Any:
    found = device_type("cpu") if place is None else place if isinstance(place, device_type) else device_type(place)
    return device_type(found.type, 0) if found.type == "cuda" and found.index is None else found


class FakeTensor(Tensor):
    """``elem``, a tensor of device ``meta``, seen as on ``device``; ``constant``: its numbers, if written down."""

    elem: Tensor
    fake_mode: FakeTensorMode
    fake_device: Any
    constant: Tensor | None

    @staticmethod
    def __new__(cls: Any, fake_mode: Any, elem: Tensor, device: Any = None, constant: Tensor | None = None, *,
            requires_grad: bool = False) -> FakeTensor:
        if elem.device.type != "meta":
            raise AssertionError(f"elem.device.type must be 'meta', got {elem.device.type}")
        place = _on(device)
        made: FakeTensor = Tensor._make_wrapper_subclass(cls, elem.size(), strides=elem.stride(),
            storage_offset=elem.storage_offset(), dtype=elem.dtype, layout=elem.layout, device=place,
            requires_grad=requires_grad or elem.requires_grad)
        made._wg_data.fake = True  # type: ignore[attr-defined]
        made.elem, made.fake_mode, made.fake_device, made.constant = elem.detach(), fake_mode, place, constant
        return made

    device = property(lambda self: self.fake_device)  # type: ignore[assignment]

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> Any:
        return fake_mode.from_tensor(t)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another type, or seen on another device."""
        wanted = kwargs.pop("device", None)
        rest = []
        for a in args:
            if isinstance(a, Tensor):
                wanted, a = a.device, a.dtype
            elif isinstance(a, (str, device_type)):
                wanted = a
                continue
            rest.append(a)
        found: Any = Tensor.to(self, *rest, **kwargs)
        if wanted is None or _on(wanted) == found.fake_device:
            return found
        found = found.clone() if found is self else found
        found.fake_device = _on(wanted)
        found._wg_data.device = str(found.fake_device)
        return found

    def cpu(self, memory_format: Any = preserve_format) -> Any:
        return self.to("cpu", memory_format=memory_format)

    def cuda(self, device: Any = None, non_blocking: bool = False, memory_format: Any = preserve_format) -> Any:
        return self.to("cuda" if device is None else device_type("cuda", device) if isinstance(device, int) else device,
            memory_format=memory_format)

    def tolist(self) -> Any:
        if self.constant is not None:
            return self.constant.tolist()
        raise DataDependentOutputException(aten._local_scalar_dense.default)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        import wengert as torch

        parts = ["..."]
        if self.fake_device.type != "cpu":
            parts.append(f"device='{self.fake_device}'")
        parts.append(f"size={tuple(self.shape)}")
        if self.dtype != torch.get_default_dtype():
            parts.append(f"dtype={self.dtype}")
        node = self.grad_fn
        if node is not None:
            parts.append(f"grad_fn=<{node.name().rpartition('::')[2]}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        text = f"FakeTensor({', '.join(parts)})"
        return f"Parameter({text})" if isinstance(self, Parameter) else text

    __str__ = __repr__  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found = [t for t in tree_leaves((args, kwargs)) if isinstance(t, FakeTensor)]
        if func is prim.device.default:
            return found[0].fake_device
        if not all(t is Tensor or issubclass(t, (FakeTensor, Parameter)) for t in types):
            return NotImplemented
        mode = found[0].fake_mode
        for t in found:
            if t.fake_mode is not mode:
                raise AssertionError(f"Mixing fake modes NYI x.fake_mode={t.fake_mode} vs self={mode}")
        return mode.dispatch(func, types, args, kwargs)


class FakeTensorConverter:
    """Makes fake tensors of real ones, the same one of each each time."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Tensor, **_: Any) -> Any:
        """The fake of ``t``: its geometry, type, device, and whether it requires a gradient."""
        known = self._made.get(id(t))
        if known is not None and known[0]() is t:
            return known[1]
        if t.layout is not strided:
            raise UnsupportedFakeTensorException("meta converter nyi")
        made: Any = FakeTensor(fake_mode, _meta_of(t), t.device)
        if isinstance(t, Parameter):
            made = Parameter(made, requires_grad=t.requires_grad)
        elif t.requires_grad:
            made = made.requires_grad_() if t.is_leaf else made.requires_grad_().view_as(made)
        memo = self._made
        key = id(t)
        memo[key] = (weakref.ref(t, lambda _: memo.pop(key, None)), made)
        return made


def _meta_of(t: Tensor) -> Tensor:
    if t.is_meta and not isinstance(t, FakeTensor):
        return t.detach()
    offset, size = t.storage_offset(), tuple(t.shape)
    made = empty_strided(size, t.stride(), dtype=t.dtype, device="meta")
    if not offset:
        return made
    reach = offset + 1 + sum((n - 1) * s for n, s in zip(size, t.stride()))
    return empty_strided((max(reach, 0),), (1,), dtype=t.dtype, device="meta").as_strided(size, t.stride(), offset)


def _refuse_unknown_shapes(func: Any, args: Any) -> None:
    """Refuse operators whose result shape depends on data."""
    name = func._opname
    if name in _SHAPES or (name == "repeat_interleave" and func._overloadname == "Tensor"):
        raise DynamicOutputShapeException(func)
    if name == "index" and any(isinstance(t, Tensor) and t._wg_data.dtype.kind == "b" for t in args[1]):
        raise DynamicOutputShapeException(aten.nonzero.default)


class FakeTensorMode(TorchDispatchMode):
    """Inside, tensors are fake: what is made there, and what operators give.

    ``allow_non_fake_inputs``: real tensors may meet fake ones, and are taken for fakes of themselves; otherwise that
    raises an ``AssertionError``. The other settings are accepted: shapes are always numbers here.

    Raises:
        DataDependentOutputException: a number of a fake tensor was requested, as by ``item()``.
        DynamicOutputShapeException: an operator gives a result whose shape depends on numbers.
    """

    def __init__(self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False,
            shape_env: Any = None, static_shapes: bool | None = None, export: bool = False) -> None:
        super().__init__()
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.export = shape_env, export
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.fake_tensor_converter = FakeTensorConverter()

    def __enter__(self) -> Any:
        self._entered = getattr(self, "_entered", [])
        again = self in _get_current_dispatch_mode_stack()
        self._entered.append(not again)
        return self if again else super().__enter__()

    def __exit__(self, *exc: object) -> None:
        if self._entered.pop():
            super().__exit__(*exc)

    def from_tensor(self, tensor: Tensor, *, static_shapes: Any = None, source: Any = None,
            symbolic_context: Any = None, trace: bool = True) -> Any:
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        before = modes()
        set_modes(before.with_(dispatch=(), grad=True, below_autograd=False))
        try:
            return self.fake_tensor_converter.from_real_tensor(self, tensor)
        finally:
            set_modes(before)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.dispatch(func, types, args, kwargs or {})

    # -- operators ----------------------------------------------------------------------------------------------------

    def dispatch(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator without numbers."""
        name = func._opname
        if name in _LIFTED:
            return self._lifted(args[0])
        args, kwargs = self._all_fake(func, args, kwargs)
        fakes = [t for t in tree_leaves((args, kwargs)) if isinstance(t, FakeTensor)]
        if name in _NUMBERS:
            return self._number(func, fakes, args, kwargs)
        _refuse_unknown_shapes(func, args)
        wanted = kwargs.get("device")
        place = _on(wanted) if wanted is not None or not fakes else self._common(func, fakes)
        if wanted is not None or (not fakes and not _takes_tensors(func)):
            kwargs = {**kwargs, "device": "meta"}
        answer = self._without(func, args, kwargs)
        inside = {id(t.elem): t for t in fakes}
        known = bool(fakes) and all(t.constant is not None for t in fakes)
        constant = self._constant(func, fakes, args, kwargs) if known else None
        if func._schema.is_mutable and not known:
            for t in fakes:
                t.constant = None

        def outside(v: Any) -> Any:
            if not isinstance(v, Tensor) or isinstance(v, FakeTensor):
                return v
            given = inside.get(id(v))
            if given is not None:
                return given
            kept = constant if isinstance(constant, Tensor) and constant.shape == v.shape else None
            return FakeTensor(self, v if v.is_meta else _meta_of(v), place, kept)

        return tree_map(outside, answer)

    def _without(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The operator on the tensors without numbers."""
        args, kwargs = tree_map(lambda v: v.elem if isinstance(v, FakeTensor) else v, (args, kwargs))
        token = _custom_ops.context.set(lambda: _Context(self, func))
        try:
            return func(*args, **kwargs)
        except NotImplementedError as e:
            if "depends on numbers" in str(e):
                raise DynamicOutputShapeException(func) from e
            if "no data" in str(e) or "fake impl" in str(e):
                raise UnsupportedOperatorException(func) from e
            raise
        finally:
            _custom_ops.context.reset(token)

    def _all_fake(self, func: Any, args: Any, kwargs: Any) -> Any:
        # constants of composites, numbers that rules have
        inner, walking = calling.was_internal, current_graph_task() is not None

        def fake(v: Any) -> Any:
            if not isinstance(v, Tensor):
                return v
            if isinstance(v, FakeTensor):
                if v.fake_mode is not self:
                    raise AssertionError(f"Mixing fake modes NYI x.fake_mode={v.fake_mode} vs {self=}")
                return v
            if not self.allow_non_fake_inputs and not (inner or walking):
                raise AssertionError("Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode "
                    f"with 'allow_non_fake_inputs'. Found in {func}({', '.join(map(_shown, args))})")
            return self.from_tensor(v)

        return tree_map(fake, (args, kwargs))

    def _lifted(self, t: Any) -> Any:
        """A tensor that the program wrote down: of a single number the number is known."""
        if isinstance(t, FakeTensor):
            return t
        return FakeTensor(self, _meta_of(t), t.device, t.detach().clone() if t.numel() <= _CONSTANT else None)

    def _number(self, func: Any, fakes: list[FakeTensor], args: Any, kwargs: Any) -> Any:
        found = self._constant(func, fakes, args, kwargs) if all(t.constant is not None for t in fakes) else None
        if found is None:
            raise DataDependentOutputException(func)
        return found

    @staticmethod
    def _constant(func: Any, fakes: list[FakeTensor], args: Any, kwargs: Any) -> Any:
        """What the operator gives for numbers that are known."""
        if any(t.fake_device.type != "cpu" for t in fakes):
            return None
        args, kwargs = tree_map(lambda v: v.constant if isinstance(v, FakeTensor) else v, (args, kwargs))
        if func._opname == "_local_scalar_dense":
            return args[0].item()
        try:
            found = func(*args, **kwargs)
        except Exception:
            return None
        return found if not isinstance(found, Tensor) or found.numel() <= _CONSTANT else None

    def _common(self, func: Any, fakes: list[FakeTensor]) -> Any:
        """The device of the result: that of all tensors but single numbers of the CPU."""
        if func._opname in _CROSSING:
            return fakes[0].fake_device
        place, single = fakes[0].fake_device, fakes[0].fake_device.type == "cpu" and not fakes[0].dim()
        for t in fakes[1:]:
            number = t.fake_device.type == "cpu" and not t.dim()
            if t.fake_device == place:
                single = single and number
            elif single and not number:
                place, single = t.fake_device, False
            elif not number:
                raise FakeTensorDeviceMismatchError("Expected all tensors to be on the same device, but found at least "
                    f"two devices, {place} and {t.fake_device}!")
        return place


class _Context:
    """What ``torch.library.get_ctx()`` gives in a fake kernel."""

    def __init__(self, mode: FakeTensorMode, func: Any) -> None:
        self._fake_mode, self._op = mode, func

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size that depends on numbers: there are no such sizes here, which raises."""
        raise DynamicOutputShapeException(self._op)

    create_unbacked_symint = new_dynamic_size


def _takes_tensors(func: Any) -> bool:
    return any("Tensor" in str(a.type) for a in func._schema.arguments)


def _shown(v: Any) -> str:
    if not isinstance(v, Tensor) or isinstance(v, FakeTensor):
        return repr(v)
    return f"tensor([...], size={tuple(v.shape)})" if v.dim() else f"{str(v.detach())[:-1]}, size=())"


# -- questions and contexts --------------------------------------------------------------------------------------------


def is_fake(x: Any) -> bool:
    """Whether ``x`` is a fake tensor."""
    return isinstance(x, FakeTensor)


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """Inside, no fake mode is active; gives the innermost one that was."""
    m = modes()
    fake = [mode for mode in m.dispatch if isinstance(mode, FakeTensorMode)]
    set_modes(m.with_(dispatch=tuple(mode for mode in m.dispatch if not isinstance(mode, FakeTensorMode))))
    try:
        yield fake[-1] if fake else None
    finally:
        set_modes(m)

__getattr__ = absent_from(__name__)
