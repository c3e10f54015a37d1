"""``torch.overrides``: for classes that define ``__torch_function__``."""

from __future__ import annotations

import functools
import inspect
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from .dispatch.function_modes import (  # noqa: F401  the private names are used by libraries
    BaseTorchFunctionMode,
    TorchFunctionMode,
    _get_current_function_mode,
    _get_current_function_mode_stack,
    _is_torch_function_mode_enabled,
)
from .dispatch.torch_dispatch import enable_reentrant_dispatch
from .dispatch.torch_function import (
    DisableTorchFunctionSubclass,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
    redispatch_function,
)
from .ops.operator import TABLE, Composite
from .tensor import Tensor
from .tensor.functions import FUNCTIONS, method
from .tensor.tensor import members

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BaseTorchFunctionMode", "enable_reentrant_dispatch", "DisableTorchFunctionSubclass", "TorchFunctionMode",
    "get_ignored_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "redispatch_function",
    "resolve_name", "wrap_torch_function",
]

# What is never overridden: it takes no tensor, is not about its values, or PyTorch does not dispatch it.
_IGNORED: dict[str, str] = {
    "": """
        arange are_deterministic_algorithms_enabled as_strided as_tensor asarray bartlett_window blackman_window
        can_cast cartesian_prod empty empty_permuted empty_strided eye fill from_dlpack from_file from_numpy frombuffer
        full get_default_device get_default_dtype get_float32_matmul_precision get_num_interop_threads get_num_threads
        get_rng_state hamming_window hann_window initial_seed is_autocast_enabled
        is_deterministic_algorithms_warn_only_enabled is_grad_enabled is_inference_mode_enabled is_storage is_tensor
        is_warn_always_enabled kaiser_window linspace load logspace manual_seed normal ones promote_types rand rand_like
        randint randint_like randn randn_like randperm range result_type save scalar_tensor seed set_default_device
        set_default_dtype set_default_tensor_type set_float32_matmul_precision set_grad_enabled set_num_interop_threads
        set_num_threads set_printoptions set_rng_state set_warn_always sparse_bsc_tensor sparse_bsr_tensor
        sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices
        typename use_deterministic_algorithms vander zeros""",
    "functional": "broadcast_shapes",
    "nn.functional": "hardsigmoid hardswish sigmoid tanh upsample upsample_bilinear upsample_nearest",
    "fft": "fftfreq rfftfreq",
    "Tensor": """
        __delitem__ __dir__ __hash__ __init_subclass__ __iter__ __torch_function__ as_subclass eig lstsq new new_empty
        new_empty_strided new_full new_ones new_tensor new_zeros reinforce solve stride symeig to_sparse_bsc
        to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr unflatten""",
}
# found among public names, but none of PyTorch's
_HELPERS = frozenset(("overridable", "feature_dropout", "missing_from", "_wg_opaque"))


def has_torch_function_unary(x: Any) -> bool:
    """Whether one value overrides operators, or a function mode is active."""
    return has_torch_function((x,))


def has_torch_function_variadic(*args: Any) -> bool:
    """Whether some of the arguments overrides operators, or a function mode is active."""
    return has_torch_function(args)


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function of your own so that it can be overridden; ``dispatcher(*args)`` gives the relevant arguments.

    >>> @torch.overrides.wrap_torch_function(lambda a: (a,))
    ... def twice(a):
    ...     return a + a
    >>> twice(torch.ones(1))
    tensor([2.])
    """

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            return (handle_torch_function(wrapped, relevant, *args, **kwargs) if has_torch_function(relevant)
                else func(*args, **kwargs))

        return wrapped

    return inner


@functools.cache
def get_ignored_functions() -> set[Any]:
    """The public functions that cannot be overridden by ``__torch_function__``."""
    torch = import_module(__name__.rpartition(".")[0])
    return {getattr(attrgetter(place)(torch) if place else torch, name) for place, names in _IGNORED.items()
        for name in names.split()}


@functools.cache
def _addresses() -> dict[Any, str]:
    found: dict[Any, str] = {}
    places = get_overridable_functions()
    torch = next(iter(places))
    # PyTorch names what it has in Python by where that is
    for place in sorted(places, key=lambda p: (p is torch, p is Tensor)):
        prefix = "torch.Tensor" if place is Tensor else "torch" + place.__name__.partition("wengert")[2]
        for name, f in (members() if place is Tensor else vars(place)).items():
            if not inspect.isfunction(f) or (place is not Tensor and name.startswith("_")):
                continue
            if f not in found or (name == f.__name__ and not found[f].endswith(f".{name}")):
                found[f] = f"{prefix}.{name}"
    for name, prop in members().items():
        if isinstance(prop, property):
            for part in ("__get__", "__set__"):
                if getattr(prop, part) not in found or not name.startswith("_"):
                    found[getattr(prop, part)] = f"torch.Tensor.{name}.{part}"
    return found


def _of_property(f: Any) -> bool:
    return isinstance(getattr(f, "__self__", None), property)


@functools.cache
def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that ``__torch_function__`` can override, by the module (or class) that they are in."""
    torch = import_module(__name__.rpartition(".")[0])
    ignored = get_ignored_functions()
    found: dict[Any, list[Any]] = {}
    aside = _HELPERS | {*torch._ELSEWHERE}  # which is loaded at its first use
    for place in (torch, torch.functional, torch.nn.functional, torch.linalg, torch.fft, torch.special):
        public = {n: f for n, f in vars(place).items()
            if n[0] != "_" and n[-1] != "_" and inspect.isfunction(f) and n not in aside}
        found[place] = [f for f in dict.fromkeys(public.values()) if f not in ignored]
    methods: list[Any] = []
    for name, value in members().items():
        if isinstance(value, property) and name not in _HELPERS:
            methods.append(value.__get__)
        elif inspect.isfunction(value) and value not in ignored and (not name.startswith("_") or name.endswith("__")):
            methods.append(value)
    found[Tensor] = list(dict.fromkeys(methods))
    return found


@functools.cache
def get_testing_overrides() -> dict[Any, Callable[..., Any]]:
    """For every function that can be overridden, a function of its signature that gives -1."""

    def stand_in(f: Any) -> Callable[..., Any]:
        def answer(*args: Any, **kwargs: Any) -> int:
            return -1

        if not _of_property(f):
            answer.__name__, answer.__qualname__, answer.__doc__ = f.__name__, f.__qualname__, f.__doc__
        answer.__signature__ = signature_of(f)  # type: ignore[attr-defined]
        return answer

    return {f: stand_in(f) for functions in get_overridable_functions().values() for f in functions}


def signature_of(f: Any) -> inspect.Signature:
    """The signature of ``f``, a function or method that can be overridden: of operators, from their declaration."""
    if _of_property(f):
        return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    is_method = is_tensor_method_or_property(f)
    scope = inspect.unwrap(f).__globals__  # a deprecated function warns around the declared one
    op, kind = scope.get("_op"), scope.get("_kind", "call")
    if op is None:
        whole: Any = TABLE.get(f.__name__)
        if not isinstance(whole, Composite) or f not in (FUNCTIONS.get(f.__name__), method(f.__name__)):
            return inspect.signature(f)
        row = list(inspect.signature(whole.define).parameters.values())[1:]  # without the namespace ``F``
    else:
        row = []
        for i, name in enumerate(
                op.params[: len(op.tensors) if kind in ("dunder", "reflected", "augmented") else None]):
            rank = (inspect.Parameter.KEYWORD_ONLY if i >= len(op.params) - op.kwonly
                else inspect.Parameter.POSITIONAL_OR_KEYWORD)
            row.append(inspect.Parameter(name, rank, default=op.defaults.get(name, inspect.Parameter.empty)))
    if is_method and row:
        row[0] = row[0].replace(name="self")
    return inspect.Signature(row)


def resolve_name(f: Any) -> str | None:
    """The address of a function that can be overridden, such as ``"torch.Tensor.add"``; None if it is not known.

    >>> torch.overrides.resolve_name(torch.sum)
    'torch.sum'
    """
    return _addresses().get(f)


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether ``func`` is a method of Tensor, or reads or writes one of its properties."""
    return _of_property(func) or func in get_overridable_functions()[Tensor]
