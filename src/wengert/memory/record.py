"""A call of a model, written down as a list of operations while it runs.

The forward runs as it is, on real tensors: its Python decides what it decides. Functions on tensors are operations.
Modules of ``nn`` are one operation each, and so is every module whose forward does what cannot be written down; the
forwards of others are looked into. Where Python was told a number that depends on data, the program asks again each
time it runs (a guard), or the module around is one operation.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections import OrderedDict
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks
from ..graph.modes import is_grad_enabled
from ..names.homes import OURS
from ..nn import Module, ModuleList, Parameter, Sequential
from ..nn.modules import transformer
from ..overrides import TorchFunctionMode
from ..tensor import Tensor
from ..tensor.types import device
from ..utils.checkpoint.state import Surroundings
from .values import Ref, paths_of, picked, tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .trace import Call

# Modules of ``nn`` that are made of others, and worth looking into.
CONTAINERS = (Sequential, ModuleList, *(getattr(transformer, f"Transformer{part}") for part in (
    "", "Encoder", "Decoder", "EncoderLayer", "DecoderLayer")))
# What says something about a tensor that does not depend on its numbers.
STATIC = frozenset(("shape", "size", "dim", "ndim", "ndimension", "numel", "nelement", "stride", "__len__", "len",
    "element_size", "itemsize", "nbytes", "dtype", "device", "layout", "is_cuda", "is_cpu", "is_meta", "is_sparse",
    "is_quantized", "is_floating_point", "is_complex", "is_signed", "is_contiguous", "is_leaf", "is_tensor",
    "is_same_size", "type", "get_device", "requires_grad", "grad_fn", "grad", "names", "has_names", "is_inference",
    "is_conj", "is_neg", "storage_offset", "output_nr", "_version", "is_nested", "is_mkldnn", "is_shared",
    "is_pinned", "__hash__", "__repr__", "__format__", "__str__", "__dir__", "result_type", "promote_types",
    "can_cast", "is_storage", "typename", "broadcast_shapes", "finfo", "iinfo", "is_grad_enabled"))
# What gives shapes that depend on numbers.
DYNAMIC = frozenset(("nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "bincount",
    "repeat_interleave", "pack_padded_sequence", "pad_packed_sequence", "combinations", "histc", "_unique2"))
REFUSED = frozenset(("register_hook", "register_post_accumulate_grad_hook", "backward", "numpy", "__array__",
    "data_ptr", "set_", "untyped_storage", "storage", "apply_", "map_"))
NUMBERS = (bool, int, float, complex, str, type(None))


class UntraceableError(Exception):
    """The forward does what cannot be written down, outside of its modules."""


class RefusalError(Exception):
    """What happens now cannot be written down."""


@dataclasses.dataclass
class Step:
    """What an operation is made of: ``kind`` is ``call_module``, ``call_function``, ``get_attr`` or ``guard``."""

    name: str
    kind: str
    target: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    grad: bool = True
    around: Surroundings | None = None
    expected: Any = None  # of guards the answer, of operations whose shapes depend on data the shapes


class Recorder(TorchFunctionMode):
    """Writes down one call."""

    def __init__(self, model: Module, leaves: set[str], blocks: set[str]) -> None:
        super().__init__()
        self.model, self.leaves, self.blocks = model, leaves, blocks
        self.paths = {m: name for name, m in model.named_modules()}
        self.steps: list[Step] = []
        self.names: set[str] = set()
        self.known: dict[int, tuple[weakref.ref[Any], str]] = {}
        self.stack: list[str] = [""]
        self.closed = 0  # inside of an operation
        self.fixed = {id(t): f"{path}.{name}".lstrip(".") for m, path in self.paths.items()
            for rows in (vars(m), m._buffers, m._parameters) for name, t in rows.items() if isinstance(t, Tensor)}
        self.casters = Surroundings(False).casters
        count = max(1, sum(bool(m._parameters) for m in self.paths))
        self.large = {path for m, path in self.paths.items()
            if 2 * sum(bool(part._parameters) for part in m.modules()) > count}

    # -- values --------------------------------------------------------------------------------------------------------

    def input(self, t: Any) -> str:
        """A tensor comes in."""
        name = self.new(f"x{len(self.names)}")
        self.learn(t, name)
        return name

    def new(self, base: str) -> str:
        """A name that is free."""
        name, k = base, 0
        while name in self.names:
            k += 1
            name = f"{base}_{k}"
        self.names.add(name)
        return name

    def learn(self, t: Any, name: str) -> None:
        """This tensor is the value ``name``."""
        key = id(t)
        if key not in self.fixed:
            self.known[key] = weakref.ref(t, lambda _, key=key: self.known.pop(key, None)), name  # type: ignore[misc]

    def find(self, t: Any) -> Ref:
        """What stands for a tensor."""
        found = self.known.get(id(t))
        if found is not None and found[0]() is t:
            return Ref(found[1])
        path = self.fixed.get(id(t))
        if path is None:
            path = next((f"{self.paths[m]}.{name}".lstrip(".") for m in self.paths for name, value in
                (*m._parameters.items(), *m._buffers.items()) if value is t), None)
        if path is None:
            raise RefusalError("it uses a tensor that comes from elsewhere")
        name = self.new(path.replace(".", "_"))
        self.steps.append(Step(name, "get_attr", path))
        return Ref(name)

    def argument(self, value: Any) -> Any:
        """An argument with what stands for tensors in it."""
        if isinstance(value, Tensor):
            return self.find(value)
        if isinstance(value, (tuple, list)):
            row = [self.argument(v) for v in value]
            return type(value)(*row) if hasattr(value, "_fields") else type(value)(row) if type(value) in (
                tuple, list) else row if isinstance(value, list) else tuple(row)
        if isinstance(value, dict):
            if type(value) is not dict:
                raise RefusalError(f"an argument is a {type(value).__name__}")
            return {k: self.argument(v) for k, v in value.items()}
        if isinstance(value, slice):
            return slice(*(self.argument(v) for v in (value.start, value.stop, value.step)))
        if isinstance(value, NUMBERS) or value is Ellipsis or callable(value) or _constant(value):
            return value
        raise RefusalError(f"an argument is a {type(value).__name__}")

    def add(self, name: str, kind: str, target: Any, args: Any, kwargs: Any, value: Any, expected: Any = None) -> None:
        """An operation gave ``value``; the tensors in it are operations of their own that take them out."""
        args, kwargs = self.argument(tuple(args)), self.argument(dict(kwargs))
        around = Surroundings(False)
        name = self.new(name)
        self.steps.append(Step(name, kind, target, args, kwargs, is_grad_enabled(),
            None if around.casters == self.casters else around, expected))
        if isinstance(value, Tensor):
            self.learn(value, name)
            return
        for path, t in paths_of(value):
            part = self.new("getitem")
            self.steps.append(Step(part, "call_function", picked, (Ref(name), path)))
            self.learn(t, part)

    # -- what is seen --------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.closed:
            return func(*args, **kwargs)
        name = name_of(func)
        if name in REFUSED:
            raise RefusalError(f"it calls {name}()")
        value = func(*args, **kwargs)
        found = tensors_of(value)
        if not found and (name in STATIC or (value is None and not tensors_of((args, kwargs)))):
            return value
        if not found and value is not None:
            self.guard(name, func, args, kwargs, value)
        else:
            dynamic = bool(found) and depends(name, args)
            if dynamic and self.stack[-1]:
                raise RefusalError(f"the shape of what {name}() gives depends on data")
            self.add(name.strip("_") or "call", "call_function", func, args, kwargs, value,
                shapes_of(value) if dynamic else None)
        return value

    def guard(self, name: str, func: Any, args: Any, kwargs: Any, value: Any) -> None:
        """Python was told a number."""
        if not tensors_of((args, kwargs)):
            return
        if not plain(value) or self.stack[-1] not in self.large:
            raise RefusalError(f"{name}() gives Python what depends on data")
        self.add(name.strip("_"), "guard", func, args, kwargs, None, value)

    def module(self, m: Module, args: Any, kwargs: Any, call: Callable[..., Any]) -> Any:
        """A module is called."""
        path = self.paths.get(m)
        if self.closed or path is None:
            return call(m, *args, **kwargs)
        if not self.is_leaf(m, path):
            self.stack.append(path)
            try:
                value = call(m, *args, **kwargs)
            except RefusalError:
                raise  # the stack says where
            except BaseException:
                self.stack.pop()
                raise
            self.stack.pop()
            return value
        value = self.inside(lambda: call(m, *args, **kwargs))
        if not value_is_open(value):
            raise RefusalError(f"{path} gives a {type(value).__name__}")
        expected = None if type(m).__module__.partition(".")[0] == OURS else shapes_of(value)
        self.add(path.replace(".", "_"), "call_module", path, args, kwargs, value, expected)
        return value

    def is_leaf(self, m: Module, path: str) -> bool:
        """Whether the call of a module is one operation."""
        if path in self.leaves or path in self.blocks:
            return True
        if m._forward_hooks or m._forward_pre_hooks or m._backward_hooks or m._backward_pre_hooks:
            return bool(path)  # they see the module's call
        return type(m).__module__.partition(".")[0] == OURS and not isinstance(m, CONTAINERS)

    def function(self, cls: Any, args: Any, kwargs: Any, call: Callable[..., Any]) -> Any:
        """A custom ``Function`` is applied."""
        if self.closed:
            return call(cls, *args, **kwargs)
        value = self.inside(lambda: call(cls, *args, **kwargs))
        self.add(cls.__name__, "call_function", partial(call, cls), args, kwargs, value)
        return value

    def attribute(self, m: Module, name: str, value: Any) -> None:
        """A module is given an attribute."""
        if self.closed or m not in self.paths:
            return
        if isinstance(value, Tensor) and not isinstance(value, Parameter) and name not in m._buffers:
            path = self.paths[m]
            self.fixed.pop(id(vars(m).get(name)), None)
            self.add("setattr", "set_attr", f"{path}.{name}".lstrip("."), (value,), {}, None)
        elif isinstance(value, Tensor) or not plain(value) or vars(m).get(name, m) != value:
            raise RefusalError(f"it sets the attribute {name!r} of a module")

    def inside(self, run: Callable[[], Any]) -> Any:
        """What happens inside is not seen."""
        self.closed += 1
        try:
            return run()
        finally:
            self.closed -= 1

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Inside, functions, modules and attributes come here. No array is kept for a backward."""
        called, given = Module.__call__, Module.__setattr__
        applied = Function.apply.__func__  # type: ignore[attr-defined]

        @wraps(called)
        def call(m: Any, *args: Any, **kwargs: Any) -> Any:
            return self.module(m, args, kwargs, called)

        @wraps(applied)
        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            return self.function(cls, args, kwargs, applied)

        @wraps(given)
        def give(m: Any, name: str, value: Any) -> None:
            self.attribute(m, name, value)
            given(m, name, value)

        Module.__call__, Module.__setattr__ = call, give  # type: ignore[method-assign, assignment]
        Function.apply = classmethod(apply)  # type: ignore[assignment, method-assign]
        try:
            with saved_tensors_hooks(lambda t: None, lambda t: t), self:
                yield
        finally:
            Module.__call__, Module.__setattr__ = called, given  # type: ignore[method-assign]
            Function.apply = classmethod(applied)  # type: ignore[assignment, method-assign]


def record(model: Module, call: Call, leaves: set[str], blocks: set[str]) -> tuple[list[str], list[Step], Any]:
    """Run a call: the names of the tensors that come in, the operations, and what comes out.

    ``leaves``: modules that are one operation each. ``RefusedError`` says in which module that does not do.
    """
    recorder = Recorder(model, leaves, blocks)
    inputs = [recorder.input(t) for t in call.tensors]
    args, kwargs = call.filled(call.tensors)
    try:
        with recorder.recording():
            value = model.forward(*args, **kwargs)
        return inputs, recorder.steps, result_of(recorder, value)
    except RefusalError as error:
        raise RefusedError(recorder.stack[-1], str(error)) from error


class RefusedError(Exception):
    """``path``: the module in which something cannot be written down."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.path = path


def result_of(recorder: Recorder, value: Any) -> Any:
    """What the model gives, with what stands for tensors in it."""
    if isinstance(value, Tensor):
        return recorder.find(value)
    if isinstance(value, (tuple, list)):
        row = [result_of(recorder, v) for v in value]
        return type(value)(*row) if hasattr(value, "_fields") else type(value)(row)
    if isinstance(value, dict) or dataclasses.is_dataclass(value):
        rows = dict(value) if isinstance(value, dict) else {
            f.name: getattr(value, f.name) for f in dataclasses.fields(value)} | getattr(value, "__dict__", {})
        return Rebuilt(value, {k: result_of(recorder, v) for k, v in rows.items()})
    if isinstance(value, NUMBERS) or _constant(value):
        return value
    raise RefusalError(f"it gives a {type(value).__name__}")


class Rebuilt:
    """A dictionary or dataclass that is made again: ``like`` it, with other values."""

    def __init__(self, like: Any, values: dict[Any, Any]) -> None:
        self.kind = type(like)
        self.values = values

    def made(self, values: dict[Any, Any]) -> Any:
        """One with these values."""
        if self.kind is dict:
            return values
        found: Any = object.__new__(self.kind) if not issubclass(self.kind, dict) else self.kind.__new__(self.kind)
        if isinstance(found, dict):
            if dataclasses.is_dataclass(self.kind):
                vars(found).update({field.name: values.get(field.name) for field in dataclasses.fields(self.kind)})
            put = OrderedDict.__setitem__ if isinstance(found, OrderedDict) else dict.__setitem__
            for key, value in values.items():
                put(found, key, value)  # type: ignore[arg-type]
        else:
            for key, value in values.items():
                object.__setattr__(found, key, value)
        return found


def name_of(func: Any) -> str:
    """What a function is called; of the getter of an attribute, the attribute."""
    name = getattr(func, "__name__", type(func).__name__)
    if name in ("__get__", "__set__"):
        owner = getattr(getattr(func, "__self__", None), "fget", None) or getattr(func, "__self__", None)
        name = getattr(owner, "__name__", name)
    return str(name)


def depends(name: str, args: Any) -> bool:
    """Whether the shape of what a function gives depends on numbers in its arguments."""
    if name == "where":
        return len(args) == 1
    if name in ("__getitem__", "index", "getitem"):
        index = args[1] if len(args) > 1 and isinstance(args[1], tuple) else args[1:]
        return any(t.dtype.is_bool if hasattr(t.dtype, "is_bool") else str(t.dtype) in ("torch.bool", "torch.uint8")
            for t in tensors_of(tuple(index)))
    return name in DYNAMIC


def shapes_of(value: Any) -> list[tuple[int, ...]]:
    """The shapes of the tensors in a value."""
    return [tuple(t.shape) for t in tensors_of(value)]


def plain(value: Any) -> bool:
    """Whether a value consists of numbers and texts."""
    return isinstance(value, NUMBERS) or (isinstance(value, (tuple, list)) and all(map(plain, value)))


def value_is_open(value: Any) -> bool:
    """Whether all that is in a value can be seen."""
    if isinstance(value, (tuple, list)):
        return all(map(value_is_open, value))
    if isinstance(value, dict):
        return all(map(value_is_open, value.values()))
    return isinstance(value, (Tensor, *NUMBERS)) or _constant(value)


def _constant(value: Any) -> bool:
    """Whether a value is one of ours that never changes: a dtype, a device, a layout."""
    return isinstance(value, device) or (type(value).__module__.partition(".")[0] in (OURS, "builtins", "numpy")
        and not hasattr(value, "__dict__"))
