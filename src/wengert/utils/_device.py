"""``DeviceContext``: the function mode that gives new tensors a device, for code that sets one around its own.

``with torch.device(...)`` and ``set_default_device`` need none here, since tensors have one place to be.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..graph.modes import modes, set_modes
from ..overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Callable

CURRENT_DEVICE: Any = None

_MAKERS = (
    "arange bartlett_window blackman_window empty empty_permuted empty_strided eye fft.fftfreq fft.rfftfreq from_file full hamming_window "
    "hann_window kaiser_window linspace logspace ones rand randint randn randperm range sparse_coo_tensor tensor tril_indices triu_indices "
    "zeros asarray"
)


@functools.lru_cache(1)
def _device_constructors() -> set[Any]:
    """The functions that make tensors and take a ``device``."""
    import wengert

    found = set()
    for path in _MAKERS.split():
        value: Any = wengert
        for name in path.split("."):
            value = getattr(value, name, None)
        found.add(value)
    return found - {None}


class DeviceContext(TorchFunctionMode):
    """As a context: tensors made inside without a ``device`` get this one. It lies below every other function mode.

    >>> import wengert as torch
    >>> from wengert.utils._device import DeviceContext
    >>> with DeviceContext("cpu"):
    ...     print(torch.ones(2).device)
    cpu
    """

    def __init__(self, device: Any) -> None:
        import wengert

        self.device = wengert.device(device)
        self._before: list[tuple[Any, tuple[DeviceContext, ...]]] = []

    def __enter__(self) -> None:
        global CURRENT_DEVICE
        super().__enter__()
        m = modes()
        others = m.functions[:-1]
        outer = tuple(mode for mode in others if isinstance(mode, DeviceContext))
        self._before.append((CURRENT_DEVICE, outer))
        CURRENT_DEVICE = self.device
        set_modes(m.with_(functions=(self, *(mode for mode in others if mode not in outer))))

    def __exit__(self, *exc: object) -> None:
        global CURRENT_DEVICE
        CURRENT_DEVICE, outer = self._before.pop()
        super().__exit__(*exc)
        m = modes()
        set_modes(m.with_(functions=(*outer, *m.functions)))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """``func``, run within the context ``device``."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        with device:
            return func(*args, **kwargs)

    return run


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: what the function makes goes to ``device`` unless it says otherwise."""
    import wengert

    return lambda func: device_decorator(DeviceContext(wengert.device(device)), func)
