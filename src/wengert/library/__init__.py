"""``torch.library``: operators of your own, with a place in ``torch.ops``.

>>> @torch.library.custom_op("docs::cube", mutates_args=())
... def cube(x: torch.Tensor) -> torch.Tensor:
...     return x * x * x
>>> cube.register_autograd(
...     lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g,
...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
... )
>>> x = torch.tensor(2.0, requires_grad=True)
>>> torch.ops.docs.cube(x).backward()
>>> x.grad
tensor(12.)
"""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ..autograd.function import Function
from ..dispatch import torch_dispatch as dispatch
from ..dispatch.aten import implementation
from ..dispatch.keys import DispatchKey
from ..ops import NAMESPACES
from ..tensor import Tensor, device
from .custom_ops import OPERATORS, CustomOperator, current_context, fallthrough_kernel
from .schema import infer_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake",
    "register_kernel", "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton",
]


def _registering(fn: Callable[..., Any] | None, register: Callable[[Any], Any]) -> Any:
    """``register(fn)``, which gives ``fn``; without ``fn`` a decorator that does so."""

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        register(fn)
        return fn

    return decorate if fn is None else decorate(fn)


class CustomOpDef:
    """An operator made by ``custom_op``: call it, and register its kernels, its gradient and its fake kernel."""

    def __init__(self, operator: CustomOperator, fn: Callable[..., Any]) -> None:
        self._operator, self._init_fn = operator, fn
        self._qualname = operator.qualname
        self._namespace, self._name = operator.qualname.split("::")
        self._opoverload = operator.overload
        self.__name__, self.__doc__ = self._name, fn.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register what runs on these devices; also a decorator."""
        return _registering(fn,
            lambda fn: self._operator.kernels.update(dict.fromkeys(_devices(device_types), fn)))

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register how the results look (shapes and types) without computing them; ``opcheck`` compares."""
        self._operator.fake = fn
        return fn

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Register what maps do: ``func(info, in_dims, *args)`` gives result and batch dimension; also a decorator."""

        def register(func: Callable[..., Any]) -> None:
            self._operator.mapped = type(self._name, (Function,), {"vmap": staticmethod(func)})

        return _registering(func, register) if func is None else register(func)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register what a dispatch mode (``fn(mode, func, types, args, kwargs)``) or class does; also a decorator."""
        return _registering(fn, lambda fn: self._operator.rules.update({torch_dispatch_class: fn}))

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Have autocast bring the floating arguments to the type ``cast_inputs``."""
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in ("cpu", "cuda"):
            raise ValueError(f"Unknown device type: {device_type}")
        self._operator.autocast[device_type] = cast_inputs

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside, the kernel that was registered for a device is used, or is not."""
        disabled = self._operator.disabled
        before = set(disabled)
        (disabled.discard if enabled else disabled.add)(device_type)
        try:
            yield
        finally:
            disabled.clear()
            disabled.update(before)

    def register_autograd(self, backward: Callable[..., Any], /, *,
            setup_context: Callable[..., Any] | None = None) -> None:
        """Register the gradient: ``backward(ctx, *grads)``, ``setup_context(ctx, inputs, output)`` saves its needs."""
        if any(p.mutated for p in self._operator.schema.parameters):
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self!r} with schema "
                f"{self._operator.schema}. Please create a functional operator and register an autograd formula for "
                "that.")
        self._operator.backward, self._operator.setup, self._operator.closed = backward, setup_context, True


def custom_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, device_types: Any = None,
        schema: str | None = None, tags: Any = None) -> Any:
    """Make a function an operator ``"namespace::name"``; also a decorator.

    ``mutates_args``: the names of arguments that it writes to, or ``"unknown"``. ``schema``: its signature where it has
    no annotations.
    """

    def make(fn: Callable[..., Any]) -> CustomOpDef:
        _, _ = name.split("::")
        if schema is None and device_types is not None:
            _check_placed(fn)
        made = CustomOpDef(CustomOperator(name,
            infer_schema(fn, mutates_args=mutates_args) if schema is None else schema, closed=True), fn)
        written = {p.name for p in made._operator.schema.parameters if p.mutated}
        if mutates_args != "unknown" and written != set(mutates_args):
            raise ValueError(f"Attempted to create a custom op with `mutates_args={mutates_args}` and "
                f"`schema={schema}. The schema suggests that the op mutates {written}which is different from what was "
                "provided to us in `mutates_args`. Please make these consistent.")
        _refuse_named_tensors(made._operator,
            "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only.")
        made._operator.shown, made._operator.home = fn.__name__, sys.modules.get(fn.__module__)
        made.register_kernel("default" if device_types is None else device_types, fn)
        return made

    return make if fn is None else make(fn)


def _check_placed(fn: Callable[..., Any]) -> None:
    """Refuse a function for one device whose arguments determine none: neither tensors nor a device."""
    parameters = inspect.signature(fn).parameters
    if not any("Tensor" in str(p.annotation) for p in parameters.values()) and "device" not in parameters:
        raise ValueError("Functions without tensor inputs are required to have a `device: torch.device` argument")


def _refuse_named_tensors(operator: CustomOperator, text: str) -> None:
    if any(p.kwonly and p.type.startswith("Tensor") for p in operator.schema.parameters):
        raise NotImplementedError(f"{text} Got: {operator.schema}")


_IN_DEFINITION = "In the original definition of the op, please make your tensors not kwarg-only."


def _devices(kinds: Any) -> tuple[str, ...]:
    kinds = ("default",) if kinds is None else (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for k in kinds:
        if k != "default" and k.islower():
            device(k)  # or its complaint
    return tuple("default" if k == "CompositeExplicitAutograd" else k.lower() for k in kinds)


def _find(op: Any, asking: str = "impl") -> CustomOperator:
    """The operator that a name, an overload or a definition stands for."""
    if not isinstance(op, (str, CustomOpDef)) and not hasattr(op, "_opname"):
        raise ValueError(f"{asking}({op}): got unexpected type for op: {type(op)}")
    name = op if isinstance(op, str) else op._qualname if isinstance(op, CustomOpDef) else op.name()
    found = OPERATORS.get(name)
    if found is None:
        raise RuntimeError(f"operator {name} does not exist: define it first, with torch.library.custom_op or "
            "torch.library.define")
    return found


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None,
        lib: Any = None) -> None:
    """Register the gradient of an operator: see ``CustomOpDef.register_autograd``."""
    operator = _find(op, "register_autograd")
    _refuse_named_tensors(operator, f"register_autograd with kwarg-only Tensor args. {_IN_DEFINITION}")
    CustomOpDef(operator, backward).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Register what maps do with an operator: see ``CustomOpDef.register_vmap``."""
    operator = _find(op, "register_vmap")
    _refuse_named_tensors(operator, f"register_vmap with kwarg-only Tensor args. {_IN_DEFINITION}")
    return CustomOpDef(operator, operator).register_vmap(func)


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Callable[..., Any] | None = None, /, *,
        lib: Any = None) -> Any:
    """Register what a dispatch mode or a class that dispatches does: see ``CustomOpDef.register_torch_dispatch``."""
    return CustomOpDef(_find(op, "register_torch_dispatch"), _find(op)).register_torch_dispatch(torch_dispatch_class,
        func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Have autocast bring the arguments of an operator to a type: see ``CustomOpDef.register_autocast``."""
    CustomOpDef(_find(op, "register_autocast"), _find(op)).register_autocast(device_type, cast_inputs)


def _namespaces() -> set[str]:
    return {"aten", "prim", *(name.partition("::")[0] for name in OPERATORS)}


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, **_: Any) -> Any:
    """Register how the results of an operator look; also a decorator.

    Nothing is registered for an operator of a C++ library, such as torchvision's, of which none can be loaded: a name
    in a namespace that nobody has defined an operator in.
    """
    if isinstance(op, str):
        _check_name(op)

    def register(func: Callable[..., Any]) -> None:
        if isinstance(op, str) and op not in OPERATORS and op.partition("::")[0] not in _namespaces():
            return
        operator = _find(op, "register_fake")
        if "compositeimplicitautograd" in operator.kernels:
            raise RuntimeError(NO_META.format(operator.qualname))
        operator.fake = func

    return _registering(func, register)


impl_abstract = register_fake


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Register what runs for an operator on these devices; also a decorator."""
    _find(op, "register_kernel")
    return impl(op, device_types, func)


def _check_name(qualname: str) -> None:
    if qualname.count("::") != 1:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            'torch.library APIs must '
            "consist of a namespace and a name, e.g. aten::sin"
        )


NO_META = (
    "We should not register a meta kernel directly to the operator '{}', because it has a CompositeImplicitAutograd "
    "kernel in core. Instead we should let the operator decompose, and ensure that we have meta kernels for the base "
    "ops that it decomposes into."
)


def define(qualname: Any, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Define an operator ``"namespace::name"`` by its schema; ``impl`` gives it kernels.

    A kernel runs as it is, and what it does with recorded operators is recorded. Unless ``register_autograd`` gives the
    operator a gradient, or ``impl`` one for the key ``"Autograd"``, a backward that comes to it warns.
    """
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    _check_name(qualname)
    if re.fullmatch(r"\(.*\) -> .*", schema, re.DOTALL) is None:
        raise ValueError('define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but '
            f'got "{schema}"')
    if qualname in OPERATORS:
        raise RuntimeError(f"Tried to register an operator ({qualname}{schema}) with the same name and overload name "
            "multiple times. Each overload's schema should only be registered with a single call to def().")
    CustomOperator(qualname, schema)


def impl(qualname: Any, types: Any, func: Callable[..., Any] | None = None, *, lib: Any = None) -> Any:
    """Register what runs for an operator on these devices; also a decorator. ``impl(library, name, key)`` works too."""
    if isinstance(qualname, Library):
        return _registering(None, lambda f: qualname.impl(types, f, func))  # type: ignore[arg-type]
    operator = _find(qualname)
    found = _registering(func, lambda f: operator.kernels.update(dict.fromkeys(_devices(types), f)))
    return found if func is None else None


class Library:
    """A group of operators under one namespace."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim" and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF" and (ns == "aten" or ns in _DEFINING):
            raise RuntimeError(f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put "
                "all of your definitions in a single TORCH_LIBRARY block.  If you were trying to specify "
                f"implementations, consider using TORCH_LIBRARY_IMPL: Library('{ns}', 'IMPL'); for further "
                f"definitions, Library('{ns}', 'FRAGMENT').")
        if kind == "DEF":
            _DEFINING[ns] = self
        self._gone = False
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._before = set(OPERATORS)
        self._overriding: list[tuple[str, str, Callable[..., Any]]] = []

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator, such as ``"foo(Tensor x) -> Tensor"``; gives its name."""
        self._check_there()
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        name, bracket, rest = schema.partition("(")
        place, separator, own = name.strip().rpartition("::")
        if separator and place != self.ns:
            raise RuntimeError(f"Explicitly provided namespace ({place}) in schema string does not match namespace of "
                f"enclosing TORCH_LIBRARY block ({self.ns}).  Move this definition to the (unique) TORCH_LIBRARY block "
                "corresponding to this namespace (and consider deleting the namespace from your schema string.)")
        name = own
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{name.strip()}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All def()s '
                'should be placed in the '
                "(unique) TORCH_LIBRARY block for their namespace."
            )
        define(f"{self.ns}::{name.strip()}", bracket + rest)
        return name.strip()

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **_: Any) -> None:
        """Register what runs for one of its operators."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if not isinstance(op_name, str) and not hasattr(op_name, "_opname"):
            raise RuntimeError("impl should be passed either a name or an OpOverload object as the first argument, "
                f"got {type(op_name)}")
        self._check_there()
        name = op_name if isinstance(op_name, str) else op_name.name()
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if self.dispatch_key and key != self.dispatch_key:
            raise RuntimeError(
                f'impl("{name}", ...): Explicitly provided dispatch key ({key}) is inconsistent with the dispatch key '
                'of the enclosing '
                f"TORCH_LIBRARY_IMPL block ({self.dispatch_key}).  Please declare a separate TORCH_LIBRARY_IMPL block "
                "for this dispatch key and move your impl() there."
            )
        if "::" in name and name.partition("::")[0] != self.ns:
            raise RuntimeError(
                f'impl("{name}", ...): Explicitly provided namespace ({name.partition("::")[0]}) in operator name does '
                'not match namespace of '
                f"enclosing TORCH_LIBRARY_IMPL block ({self.ns}).  Move this definition to the TORCH_LIBRARY_IMPL "
                "block corresponding to this namespace"
            )
        if key not in DispatchKey.__members__ and key.lower() not in ("cpu", "cuda", "meta", "default"):
            raise RuntimeError(f"could not parse dispatch key: {key}")
        if self.ns == "aten":
            from .aten_overrides import register

            row = (name.removeprefix("aten::"), key, fn)
            register(*row)
            self._overriding.append(row)
            return
        if fn is not fallthrough_kernel:
            impl(name if "::" in name else f"{self.ns}::{name}", dispatch_key or self.dispatch_key or "default", fn)

    def _check_there(self) -> None:
        if self._gone:
            raise AssertionError("Library object has been destroyed")

    def _destroy(self) -> None:
        """Forget the operators that were defined since the library was made, and its kernels for those of PyTorch."""
        self._gone = True
        if _DEFINING.get(self.ns) is self:
            del _DEFINING[self.ns]
        if self._overriding:
            from .aten_overrides import remove

            while self._overriding:
                remove(*self._overriding.pop())
        for name in [n for n in OPERATORS if n not in self._before and n.startswith(self.ns + "::")]:
            del OPERATORS[name]
            NAMESPACES[self.ns].__dict__.pop(name.partition("::")[2].partition(".")[0], None)


# by namespace, the library of kind "DEF" that there is
_DEFINING: WeakValueDictionary[str, Library] = WeakValueDictionary()


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def opcheck(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, test_utils: Any = None,
        raise_exception: bool = True, atol: float | None = None, rtol: float | None = None) -> dict[str, str]:
    """Check that an operator keeps to its schema, that its gradient is registered, and that its fake kernel gives the
    truth.

    Gives the verdict of each test, ``"SUCCESS"`` or the error; ``raise_exception`` raises the first error instead.
    """
    if not isinstance(op, CustomOpDef) and not hasattr(op, "_opname"):
        raise ValueError("opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. "
            f"torch.ops.aten.sin.default, got {type(op)}")
    operator = _find(op)
    wanted = (("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
        if test_utils is None else test_utils)
    wanted = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    if not set(wanted) <= _CHECKS.keys():
        raise ValueError(f"opcheck(op, ..., test_utils={wanted}), expected test_utils to be subset of {tuple(_CHECKS)} "
            "but it was not")
    verdicts: dict[str, Any] = {}
    for name in wanted:
        try:
            _CHECKS[name](operator, args, kwargs or {})
            verdicts[name] = "SUCCESS"
        except Exception as e:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {e} (scroll up for stack trace)") from e
            verdicts[name] = e
    return verdicts


class OpCheckError(Exception):
    """What ``opcheck`` has found."""


def _tensors(values: Any) -> list[Any]:
    from .custom_ops import _flatten

    return [t for t in _flatten(values if isinstance(values, tuple) else (values,))[0] if isinstance(t, Tensor)]


def _check_schema(operator: CustomOperator, args: Any, kwargs: Any) -> None:
    bound, more = operator.schema.bind(args, kwargs)
    named = dict(zip((p.name for p in operator.schema.parameters if not p.kwonly), bound)) | more
    before = {p.name: [t._version for t in _tensors((named[p.name],))] for p in operator.schema.parameters}
    operator(*args, **kwargs)
    for p in operator.schema.parameters:
        if not p.mutated and before[p.name] != [t._version for t in _tensors((named[p.name],))]:
            raise RuntimeError(f"Argument {p.name} is not defined as mutable but was mutated")


def _check_autograd(operator: CustomOperator, args: Any, kwargs: Any) -> None:
    if any(t.requires_grad for t in _tensors(args)) and operator.backward is None:
        raise RuntimeError(f"{operator.qualname} has no gradient registered, and some of its arguments require one")


def _check_fake(operator: CustomOperator, args: Any, kwargs: Any) -> None:
    real, fake = _tensors(operator(*args, **kwargs)), _tensors(_faked(operator, args, kwargs))
    for a, b in zip(real, fake, strict=True):
        for what, x, y in (("Shapes", a.shape, b.shape), ("Dtypes", a.dtype, b.dtype),
                ("Strides", a.stride(), b.stride())):
            if x != y:
                raise RuntimeError(f"When comparing the output of {operator.overload} on FakeTensor and concrete "
                    f"Tensors, found mismatched tensor metadata: {what} {x} and {y} are not equal!")


def _faked(operator: CustomOperator, args: Any, kwargs: Any) -> Any:
    """What the operator gives for fakes of its arguments."""
    from ..utils._pytree import tree_map
    from .fake_tensor import FakeTensorMode

    mode = FakeTensorMode()
    args, kwargs = tree_map(lambda t: mode.from_tensor(t) if isinstance(t, Tensor) else t, (args, kwargs))
    with mode:
        return operator(*args, **kwargs)


def _check_traced(operator: CustomOperator, args: Any, kwargs: Any) -> None:
    """Forward and backward can be done without numbers, and a gradient has the shape of what it is of."""
    from ..autograd import grad

    live = [t for t in _tensors(_faked(operator, args, kwargs)) if t.requires_grad]
    leaves = [t for t in _tensors(tuple(args)) if t.requires_grad]
    if not live or not leaves:
        return
    real = [t for t in _tensors(operator(*args, **kwargs)) if t.requires_grad]
    for t, g in zip(leaves, grad([t.sum() for t in real], leaves, allow_unused=True)):
        if g is not None and g.shape != t.shape:
            raise RuntimeError(f"the gradient of an argument of shape {tuple(t.shape)} has the shape {tuple(g.shape)}")


_CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": _check_schema, "test_autograd_registration": _check_autograd, "test_faketensor": _check_fake,
    "test_aot_dispatch_static": _check_traced, "test_aot_dispatch_dynamic": _check_traced,
}


# -- kernels as objects ------------------------------------------------------------------------------------------------


class _SafeKernelFunction:
    """What ran for an operator at a key when this object was made."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self._run = run

    def call_boxed(self, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """Run it; ``keyset``: the keys that are in force, which make no difference here."""
        return self._run(*args, **kwargs)


def get_kernel(op: Any, dispatch_key: Any) -> _SafeKernelFunction:
    """The kernel of an operator at a key such as ``"CPU"``: for a kernel of one's own that leaves some cases to it.

    >>> kernel = torch.library.get_kernel("aten::neg", "CPU")
    >>> kernel.call_boxed(None, torch.ones(2))
    tensor([-1., -1.])
    """
    if not isinstance(op, (str, CustomOpDef)) and not hasattr(op, "_opname"):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    name = op if isinstance(op, str) else op._qualname if isinstance(op, CustomOpDef) else op.name()
    key = str(dispatch_key).rpartition(".")[2]
    if key not in DispatchKey.__members__:
        raise ValueError(f"Invalid dispatch key: {key}")
    own = OPERATORS.get(name)
    if own is not None:
        kernel = (own.kernels.get(key.lower()) or own.kernels.get("default")
            or own.kernels.get("compositeimplicitautograd"))
        if kernel is None:
            raise RuntimeError(f"no kernel for {name} for dispatch key {key}")
        return _SafeKernelFunction(kernel)
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    try:
        if namespace != "aten":
            raise AttributeError(name)
        func = getattr(getattr(dispatch.aten, base), overload or "default")
        implementation(base)
    except AttributeError:
        raise RuntimeError(f"operator {name} does not exist") from None
    from .aten_overrides import registered

    kernel = registered(name.removeprefix("aten::"), key)
    return _SafeKernelFunction(func if kernel is None else kernel)


def get_ctx() -> Any:
    """Inside a fake kernel that runs for fake tensors: what makes sizes that depend on numbers. None outside."""
    return current_context()


def triton_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any,
        schema: str | None = None) -> Any:
    """``custom_op``, for a function that calls kernels by ``wrap_triton``; also a decorator."""

    def make(fn: Callable[..., Any]) -> CustomOpDef:
        made = CustomOpDef(CustomOperator(name,
            infer_schema(fn, mutates_args=mutates_args) if schema is None else schema, closed=True), fn)
        made.register_kernel("default", fn)
        made.register_fake(fn)
        return made

    return make if fn is None else make(fn)


def wrap_triton(triton_kernel: Callable[..., Any], /) -> Any:
    """The kernel itself: it runs where Triton is."""
    from triton.runtime.autotuner import Autotuner  # type: ignore[import-not-found]
    from triton.runtime.jit import JITFunction  # type: ignore[import-not-found]

    if not isinstance(triton_kernel, (Autotuner, JITFunction)):
        raise RuntimeError("wrap_triton only works on functions annotated with triton.jit or triton.autotune")
    return triton_kernel
