"""wengert: PyTorch's autograd, whole, in Python that people read.

The namespace is PyTorch's: ``import wengert as torch`` and write PyTorch. What costs time to import (``nn``, ``optim``,
``autograd``, ``linalg`` …) is imported when it is first asked for.

>>> import wengert as torch
>>> x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> y = (x ** 2).sum()
>>> y
tensor(14., grad_fn=<SumBackward0>)
>>> y.backward()
>>> x.grad
tensor([2., 4., 6.])
"""

from __future__ import annotations

import warnings as _warnings
from math import e, inf, nan, pi
from typing import Any

from ._version import __version__
from .arrays import dtypes as _dtypes
from .arrays.dtypes import get_default_dtype, set_default_dtype
from .graph import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .tensor import PLACES as _PLACES
from .tensor import Size, Tensor, device, dtype
from .tensor.conversion import LEGACY as _LEGACY
from .tensor.random import Generator, default_generator
from .tensor.types import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    finfo,
    iinfo,
    layout,
    memory_format,
    preserve_format,
    sparse_coo,
    strided,
)

# NumPy warns where PyTorch gives inf or nan in silence. Only our own array code is quieted, nobody else's.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"wengert(\.|$)")

globals().update(_PLACES["torch"])
globals().update(_dtypes.NAMES)
globals().update(_LEGACY)
newaxis = None

_SUBMODULES = frozenset((
    "accelerator", "autograd", "backends", "cpu", "cuda", "fft", "linalg", "mps", "nn", "optim", "overrides", "random", "serialization",
    "special", "utils", "version", "xpu",
))  # fmt: skip
_ELSEWHERE = {  # name -> (module, its name there)
    "save": ("serialization", "save"), "load": ("serialization", "load"),
    "set_printoptions": ("tensor.printing", "set_printoptions"), "TorchVersion": ("torch_version", "TorchVersion"),
    "UntypedStorage": ("serialization.storage", "UntypedStorage"),
}  # fmt: skip


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor.

    >>> import wengert as torch
    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the tensor has a floating type."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the tensor has a complex type."""
    return input.is_complex()


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage."""
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage")


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def set_default_device(device: Any) -> None:
    """Make ``device`` where new tensors go; only the CPU exists here."""
    from .tensor.types import on_cpu

    on_cpu(device)


def get_default_device() -> device:
    """Where new tensors go."""
    return device("cpu")


def set_default_tensor_type(t: Any) -> None:
    """Make the type of ``t`` (``torch.DoubleTensor``, say) the default floating type."""
    set_default_dtype(_LEGACY[t.removeprefix("torch.")].dtype if isinstance(t, str) else t.dtype)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that both types convert to, by PyTorch's rules."""
    return _dtypes.of(_dtypes.promote(type1.np, type2.np))


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The type that an operation between two tensors or numbers gives.

    >>> import wengert as torch
    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    found = _dtypes.result([x._data if isinstance(x, Tensor) else x for x in (tensor1, tensor2)])
    assert found is not None
    return _dtypes.of(found)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether an in-place result of the first type may be written to the second."""
    return bool(_dtypes.can_cast(from_.np, to.np))


def manual_seed_all(seed: int) -> None:
    """Seed every stream there is: one."""
    default_generator.manual_seed(seed)


def get_num_threads() -> int:
    """How many threads array operations may use."""
    from .arrays import threads

    return threads.get()


def set_num_threads(n: int) -> None:
    """Let array operations use ``n`` threads."""
    from .arrays import threads

    threads.set(n)


def set_num_interop_threads(n: int) -> None:
    """Accepted for compatibility: operations run one after another."""


def get_num_interop_threads() -> int:
    """One: operations run one after another."""
    return 1


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted for compatibility: float32 products are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'.")


def get_float32_matmul_precision() -> str:
    """Always ``"highest"``."""
    return "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted for compatibility: every operation here is deterministic."""
    globals()["_deterministic"] = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """What ``use_deterministic_algorithms`` was last told."""
    return globals().get("_deterministic", False)


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Always False."""
    return False


def set_warn_always(b: bool) -> None:
    """Accepted for compatibility."""


def is_warn_always_enabled() -> bool:
    """Always False."""
    return False


def typename(obj: Any) -> str:
    """The name of an object's type; ``torch.FloatTensor`` and the like for tensors."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ in ("", "builtins") else f"{kind.__module__}.{kind.__qualname__}"


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether autocast is on in this thread."""
    import sys

    amp = sys.modules.get(__name__ + ".amp")
    return amp is not None and amp.is_autocast_enabled(device_type)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _SUBMODULES:
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    elif name in _ELSEWHERE:
        module, attribute = _ELSEWHERE[name]
        try:
            value = getattr(import_module(f"{__name__}.{module}"), attribute)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{module}":
                raise
        else:
            globals()[name] = value
            return value
    import sys

    from ._missing import missing

    raise missing(sys.modules[__name__], name)


def __dir__() -> list[str]:
    from ._missing import submodules

    return sorted({*globals(), *(n for n in submodules(__name__) if not n.startswith("_")), *_ELSEWHERE})
