"""Sequences of different lengths in one batch: padded to a common length, or packed without gaps.

A packed sequence holds the rows of the first time step, then those of the second, and so on; the longest sequences come
first, so that every step has as many rows as the one before or fewer.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Self

from wengert.functions.devices import hosted
from wengert.nn._tensors import arange, as_tensor, cat, empty_like, stack
from wengert.tensor import Tensor, int64

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence"]

PackedSequence_ = namedtuple("PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


def _conversion(kind: str) -> Callable[[Any], Any]:
    """The method that gives a sequence in another type; itself when it has it."""

    def convert(self: Any) -> Any:
        data = getattr(self.data, kind)()
        return self if data is self.data else self._with(data, lambda order: order)

    convert.__name__, convert.__qualname__ = kind, f"PackedSequence.{kind}"
    return convert


class PackedSequence(PackedSequence_):
    """The rows of sequences, step by step, as ``pack_padded_sequence`` makes them.

    ``data``: (sum of lengths, ...). ``batch_sizes``: how many rows each step has, on the CPU. ``sorted_indices`` and
    ``unsorted_indices``: the order of the batch and its inverse, or None.
    """

    __slots__ = ()

    def __new__(cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
            unsorted_indices: Tensor | None = None) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif not hosted(batch_sizes.device):
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                "manually. They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor, change: Any) -> Self:
        return type(self)(data, self.batch_sizes, *(None if order is None else change(order) for order in self[2:]))

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The same sequence in another type or on another device; itself when nothing changes."""
        return self._moved(self.data.to(*args, **kwargs))

    def _moved(self, data: Tensor) -> Self:
        return self if data is self.data else self._with(data, lambda order: order.to(data.device))

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        return self._moved(self.data.cuda(*args, **kwargs))

    def cpu(self) -> Self:
        return self.to("cpu")

    def pin_memory(self) -> Self:
        return self._with(self.data.pin_memory(), lambda order: order.pin_memory())

    double, float, half, long, int, short, char, byte = map(_conversion,
        ("double", "float", "half", "long", "int", "short", "char", "byte"))

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The order that undoes ``permutation``; None of None."""
    if permutation is None:
        return None
    return empty_like(permutation).scatter_(0, permutation,
        arange(permutation.numel(), device=permutation.device, dtype=permutation.dtype))


def _check_lengths(lengths: Tensor, batch: int, steps: int) -> list[int]:
    if lengths.dim() != 1 or not hosted(lengths.device):
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D "
            f"{lengths.device.type} Long tensor")
    listed = lengths.tolist()
    if len(listed) != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(listed)} "
            f"(batch_size={batch})")
    if any(length <= 0 for length in listed):
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is "
            "<= 0")
    if any(after > before for before, after in pairwise(listed)):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
            "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if "
            "you do not need ONNX exportability.")
    if listed and listed[0] > steps:
        raise RuntimeError(f"Expected lengths of at most the padded length {steps}, but got {listed[0]}")
    return listed


def _rows(batch_sizes: Sequence[int], batch: int) -> Tensor:
    """Where the packed rows are among the rows of the padded (T * N, ...)."""
    return cat([arange(step * batch, step * batch + size) for step, size in enumerate(batch_sizes)])


def pack_padded_sequence(input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False,
        enforce_sorted: bool = True) -> PackedSequence:
    """Pack a padded batch (T, N, ...), or (N, T, ...) with ``batch_first``; differentiable.

    ``lengths`` must not grow along the batch unless ``enforce_sorted=False``, which sorts the batch.

    >>> x = torch.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> packed = torch.nn.utils.rnn.pack_padded_sequence(x, [2, 1, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes
    (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    counts: Any = lengths.to(dtype=int64) if isinstance(lengths, Tensor) else as_tensor(lengths, dtype=int64)
    order = None
    if not enforce_sorted:
        counts, order = counts.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    steps = input.transpose(0, 1) if batch_first else input
    time, batch = steps.shape[:2]
    listed = _check_lengths(counts, batch, time)
    sizes = [sum(length > step for length in listed) for step in range(max(listed, default=0))]
    rows = _rows(sizes, batch).to(input.device)
    data = steps.reshape(time * batch, *steps.shape[2:]).index_select(0, rows)
    return PackedSequence(data, as_tensor(sizes, dtype=int64), order)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """The padded batch and the lengths of a packed sequence, in the order before packing; differentiable."""
    sizes = sequence.batch_sizes.tolist()
    time, batch = len(sizes), sizes[0]
    if total_length is not None:
        if total_length < time:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but "
                f"got total_length={total_length} and max sequence length being {time}")
        time = total_length
    data = sequence.data
    rows = _rows(sizes, batch).to(data.device)
    flat = data.new_full((time * batch, *data.shape[1:]), padding_value).index_copy(0, rows, data)
    padded = flat.reshape(time, batch, *data.shape[1:])
    if batch_first:
        padded = padded.transpose(0, 1)
    lengths = (sequence.batch_sizes.unsqueeze(1) > arange(batch)).sum(0)
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(sequences: Tensor | Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0,
        padding_side: str = "right") -> Tensor:
    """Tensors (L_i, ...) padded to the longest and stacked: (T, N, ...), or (N, T, ...) with ``batch_first``.

    >>> torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(1)], batch_first=True)
    tensor([[1., 1.],
            [1., 0.]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    listed = list(sequences)
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    longest = max(sequence.size(0) for sequence in listed)
    padded = []
    for sequence in listed:
        missing = longest - sequence.size(0)
        if missing:
            filler = sequence.new_full((missing, *sequence.shape[1:]), padding_value)
            sequence = cat([filler, sequence] if padding_side == "left" else [sequence, filler])
        padded.append(sequence)
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, without the padding."""
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [sequence[: int(length)] for sequence, length in zip(batch, lengths, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors (L_i, ...), the longest first unless ``enforce_sorted=False``."""
    lengths = as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The tensors (L_i, ...) that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
