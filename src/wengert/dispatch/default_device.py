"""The default device of new tensors: ``with torch.device(...)`` and ``set_default_device``.

Both enter a ``DeviceContext``, a function mode that gives the functions that make tensors their ``device``: the first
as any other mode, the second below all others. As the CPU is where tensors go anyhow, its context is only kept in mind
unless another one lies around it, and operators stay on the fast path.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..arrays.context import ContextVar
from ..functions.devices import hosted, placed
from ..functions.places import PLACES
from ..graph.modes import RECORD, modes, set_modes
from ..tensor.types import CPU
from ..tensor.types import device as device_type
from .function_modes import TorchFunctionMode, on_the_cpu, set_on_the_cpu
from .torch_function import ask_mode
from .watch_functions import watch_functions

if TYPE_CHECKING:
    from collections.abc import Callable

_MAKERS = ("arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided eye full "
    "hamming_window hann_window kaiser_window linspace logspace ones rand randint randn randperm range scalar_tensor "
    "sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor "
    "sparse_compressed_tensor tensor tril_indices triu_indices zeros")
_entered: ContextVar[tuple[Any, ...]] = ContextVar("wengert_devices", default=())  # by ``with torch.device(...)``
_default: ContextVar[Any] = ContextVar("wengert_default_device", default=None)  # that of ``set_default_device``


@functools.cache
def _device_constructors() -> set[Any]:
    """The functions that make tensors and take a ``device``."""
    found = {PLACES["torch"].get(name) for name in _MAKERS.split()}
    return (found | {PLACES["fft"].get(name) for name in ("fftfreq", "rfftfreq")}) - {None}


class DeviceContext(TorchFunctionMode):
    """As a context: tensors made inside without a ``device`` get this one. It lies below every other function mode.

    >>> from wengert.utils._device import DeviceContext
    >>> with DeviceContext("meta"):
    ...     print(torch.ones(2).device)
    meta
    """

    def __init__(self, device: Any) -> None:
        self.device = device_type(device)
        self._before: tuple[tuple[Any, ...], tuple[Any, ...]] = (), ()

    def _states(self, now: Any) -> Any:
        self._before = _of_devices(now.functions), on_the_cpu()
        return True, False, None

    def _put(self, begins: bool) -> None:
        m = modes()
        if begins:
            set_on_the_cpu(())
            set_modes(m.with_(functions=tuple(mode for mode in m.functions if not isinstance(mode, DeviceContext))))
            _enter(self, below=True)
            return
        outer, aside = self._before
        set_modes(m.with_(functions=(*outer, *_but(m.functions, self, *outer))))
        set_on_the_cpu((*aside, *_but(on_the_cpu(), self, *aside)))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)


def _but(row: tuple[Any, ...], *out: Any) -> tuple[Any, ...]:
    """``row`` without these objects."""
    return tuple(x for x in row if not any(x is y for y in out))


def _of_devices(stack: Any) -> tuple[Any, ...]:
    return tuple(mode for mode in stack if isinstance(mode, DeviceContext))


def _enter(context: DeviceContext, below: bool = False) -> None:
    m = modes()
    if hosted(context.device) and type(context) is DeviceContext and not _of_devices(m.functions):
        set_on_the_cpu((*on_the_cpu(), context))
        return
    watch_functions()
    set_modes(m.with_(functions=(context, *m.functions) if below else (*m.functions, context)))


def push(device: Any) -> None:
    """Enter ``with torch.device(...)``."""
    context = DeviceContext(device)
    _enter(context)
    _entered.set((*_entered.get(), context))


def pop() -> None:
    """Leave it."""
    *outer, context = _entered.get()
    _entered.set(tuple(outer))
    m = modes()
    set_modes(m.with_(functions=_but(m.functions, context)))
    set_on_the_cpu(_but(on_the_cpu(), context))


def set_default_device(device: Any) -> None:
    """Make ``device`` the place where new tensors go in this thread: ``"cpu"``, or ``"meta"``; None for the usual one.

    >>> torch.set_default_device("meta")
    >>> torch.ones(2, 3) @ torch.ones(3, 1)
    tensor(..., device='meta', size=(2, 1))
    >>> torch.set_default_device(None)
    """
    context = None
    if device is not None:
        context = DeviceContext(device)
        placed(context.device)
    before = _default.get()
    if before is not None:
        before.__exit__(None, None, None)
    if context is not None:
        context.__enter__()
    _default.set(context)


def get_default_device() -> device_type:
    """Where new tensors go."""
    return innermost() or CPU


def innermost() -> device_type | None:
    """The device of the innermost context; None outside of all."""
    inner = _of_devices(modes().functions) or on_the_cpu()
    return inner[-1].device if inner else None


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """``func``, run within the context ``device``."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        with device:
            return func(*args, **kwargs)

    return run


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: what the function makes goes to ``device`` unless it says otherwise."""
    return lambda func: device_decorator(DeviceContext(device), func)


def _asked(cls: Any, *args: Any, **kwargs: Any) -> Any:
    m = modes()
    return ask_mode(cls, args, kwargs, m) if m is not RECORD and m.functions else cls._made(*args, **kwargs)


def _enter_device(self: Any) -> Any:
    push(self)
    return self


def _leave_device(self: Any, *exc: object) -> None:
    pop()


_device: Any = device_type
_device.__new__, _device.__enter__, _device.__exit__ = _asked, _enter_device, _leave_device
