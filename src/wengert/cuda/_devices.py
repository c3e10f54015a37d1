"""Which GPUs there are and which is the current one; errors where there is none are those of a build without CUDA."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..arrays import devices as served
from ..arrays.foreign import raise_found
from ..tensor.types import device as device_type

if TYPE_CHECKING:
    from collections.abc import Callable

NOT_COMPILED = "Torch not compiled with CUDA enabled"


def is_available() -> bool:
    """Whether there are CuPy and a GPU, so that tensors can be made on it. CuPy is not imported for the answer."""
    return served.missing("cuda") is None


def needed() -> served.Runtime:
    """What serves the devices; without any the error of a build without CUDA, with a note on what is missing."""
    error = served.missing("cuda")
    if error is None:
        return served.runtime("cuda")
    refusal = AssertionError(NOT_COMPILED)
    refusal.add_note(str(error))
    raise refusal


def _answer(value: Any, doc: str) -> Callable[..., Any]:
    def query(*args: Any, **kwargs: Any) -> Any:
        return value

    query.__doc__ = doc
    return query


def _refusing(text: str, error: type[Exception] = AssertionError) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise error(text)

    refuse.__doc__ = f"Raise ``{error.__name__}``: there is no such device."
    return refuse


def index_of(device: Any, optional: bool = True) -> int:
    """The number of a device that the user gave; without one that of the current device."""
    runtime = needed()
    if device is None and optional:
        return runtime.current()
    index = _index(device)
    index = runtime.current() if index is None else index
    if not 0 <= index < runtime.count():
        raise AssertionError("Invalid device id")
    return index


def _index(device: Any) -> int | None:
    """The number of a card, None where none is given."""
    if isinstance(device, int):
        return device
    found = device_type(device) if isinstance(device, str) else device
    if not isinstance(found, device_type):
        return None
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return found.index


def device_count() -> int:
    """The number of GPUs."""
    return needed().count() if is_available() else 0


def is_initialized() -> bool:
    """Whether CUDA is in use: a tensor, or a function here, has asked for a device."""
    return served.loaded("cuda") is not None


def init() -> None:
    """Begin to use CUDA."""
    needed()


def current_device() -> int:
    """The number of the device where new tensors go."""
    return needed().current()


def set_device(device: Any) -> None:
    """Make a device the current one; a negative number changes nothing."""
    runtime, index = needed(), _index(device)
    if index is not None and index >= 0:
        if index >= runtime.count():
            raise RuntimeError(f"CUDA error: invalid device ordinal: there is no device cuda:{index}, "
                f"torch.cuda.device_count() is {runtime.count()}")
        runtime.use(index)


def get_device_properties(device: Any = None) -> Any:
    """What is known about a device: ``name``, ``major``, ``minor``, ``total_memory``, ``multi_processor_count`` …"""
    return SimpleNamespace(**{"gcnArchName": "", "uuid": "", **needed().properties(index_of(device))})


def get_device_name(device: Any = None) -> str:
    """The name of a device."""
    return str(get_device_properties(device).name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device: ``(major, minor)``."""
    found = get_device_properties(device)
    return found.major, found.minor


def synchronize(device: Any = None) -> None:
    """Wait for all work of a device, and raise what its checks found: an index out of range of an earlier operator."""
    runtime = needed()
    runtime.synchronize(index_of(device))
    raise_found()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a card computes with bfloat16: from compute capability 8.0 on."""
    return is_available() and get_device_capability()[0] >= 8


def is_tf32_supported() -> bool:
    """Whether a card multiplies matrices in TF32: from compute capability 8.0 on."""
    return is_available() and get_device_capability()[0] >= 8


def get_arch_list() -> list[str]:
    """The architectures that code is made for: that of the current device, for which CuPy compiles."""
    return ["sm_{}{}".format(*get_device_capability())] if is_available() else []


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a device may read another's memory: not relied on here."""
    index_of(device), index_of(peer_device)
    return False


class device:
    """Inside, a card is the current one; for a negative number, or none, nothing changes.

    ``ValueError`` if the device is of another kind, ``RuntimeError`` when a card is entered and there is none.
    """

    def __init__(self, device: Any) -> None:
        self.idx, self.prev_idx = _index(device), -1

    def __enter__(self) -> None:
        if self.idx is None or self.idx < 0:
            return
        if not is_available():
            raise RuntimeError("PyTorch was compiled without CUDA support")
        self.prev_idx = current_device()
        set_device(self.idx)

    def __exit__(self, *exc: object) -> None:
        if self.prev_idx >= 0:
            set_device(self.prev_idx)
            self.prev_idx = -1


class device_of(device):
    """Inside, the card of a tensor is the current one; for a tensor on the CPU nothing changes."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)
