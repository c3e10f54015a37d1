"""Small public types around the tensor: Size, device, layout, memory_format, finfo, iinfo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of ints with ``numel()``.

    >>> torch.zeros(2, 3).shape
    torch.Size([2, 3])
    >>> torch.Size([2, 3]).numel()
    6
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        n = 1
        for k in self:
            n *= k
        return n

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, key: Any) -> Any:
        got = tuple.__getitem__(self, key)
        return Size(got) if type(key) is slice else got

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, n: Any) -> Size:
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return (Size, (tuple(self),))


def type_of(value: Any) -> str:
    """The name of the class of ``value``."""
    return type(value).__name__


_KINDS = frozenset(("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone"))


class device:
    """A device: ``device("cpu")``, or ``device("meta")`` for no numbers. Others have names, but no tensors."""

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(cls, *args: Any, **kwargs: Any) -> device:
        return cls._made(*args, **kwargs)

    @classmethod
    def _made(cls, type: Any = None, index: int | None = None, device: Any = None) -> Any:
        type = device if type is None else type
        if type is None:
            type = "cpu"
        if isinstance(type, cls):
            return type
        self = object.__new__(cls)
        if index is not None and not isinstance(index, int):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {type_of(index)}")
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({type_of(type)}), but expected one of:\n"
                " * (torch.device device)\n * (str type, int index = -1)"
            )
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        if not type:
            raise RuntimeError("Device string must not be empty")
        kind, _, number = type.partition(":")
        if kind not in _KINDS:
            raise RuntimeError(
                "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, "
                f"vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: {type}"
            )
        if number and index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        if number and (not number.isdigit() or number != str(int(number))):
            raise RuntimeError(f"Invalid device string: '{type}'")
        self.type, self.index = kind, int(number) if number else index
        return self

    def __repr__(self) -> str:
        return (f"device(type='{self.type}')" if self.index is None
            else f"device(type='{self.type}', index={self.index})")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, device) and self.type == other.type and self.index == other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    if TYPE_CHECKING:  # of the module ``dispatch.default_device``

        def __enter__(self) -> device: ...

        def __exit__(self, *exc: object) -> None: ...


CPU, META = device("cpu"), device("meta")


class _Named:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class layout(_Named):
    """How elements are laid out: ``torch.strided``, or one of the sparse layouts such as ``torch.sparse_coo``."""

    __slots__ = ()


class memory_format(_Named):
    """A wish about strides, such as ``torch.contiguous_format``."""

    __slots__ = ()


strided, sparse_coo = layout("strided"), layout("sparse_coo")
sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = map(layout, ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"))
jagged = layout("jagged")
LAYOUTS = {kind.name: kind for kind in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)}
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
