"""What ``TORCH_DISTRIBUTED_DEBUG=DETAIL`` adds: before each collective, the ranks compare what they will call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .work import Pending

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from ..tensor.tensor import Tensor
    from .group import ProcessGroup

_SIZE = 512  # bytes in which a call is described


def describe(sequence: int, name: str, tensors: Sequence[Tensor], detail: str) -> str:
    """A call in words."""
    shapes = ", ".join(f"{list(t.shape)} {str(t.dtype).partition('.')[2]}" for t in tensors[:8])
    more = f", {len(tensors) - 8} more" if len(tensors) > 8 else ""
    return f"number {sequence}, {name}({shapes}{more}){f' {detail}' if detail else ''}"


def compare(group: ProcessGroup, name: str, tensors: Sequence[Tensor], detail: str, timeout: timedelta) -> None:
    """Raise ``RuntimeError`` if not all ranks of the group are about to make the same call."""
    if group._detail_comm is None:
        group._detail_comm = group.comm.Dup()
    mine = describe(group.sequence, name, tensors, detail)
    group._store.set(f"calls/{group.rank()}", mine)
    sent, all_ = np.zeros(_SIZE, np.uint8), np.empty(_SIZE * group.size(), np.uint8)
    text = mine.encode()[:_SIZE]
    sent[: len(text)] = np.frombuffer(text, np.uint8)
    request = group._detail_comm.Iallgather(sent, all_)
    try:
        Pending(group._world, name, [request], None, [], group.ranks, timeout).wait()
    except RuntimeError as error:
        raise type(error)(f"{error}. {_last_calls(group, mine)}") from None
    calls = [bytes(all_[i * _SIZE : (i + 1) * _SIZE]).rstrip(b"\0").decode(errors="replace")
        for i in range(group.size())]
    for rank, call in enumerate(calls):
        if call != text.decode(errors="replace"):
            raise RuntimeError(f"Detected mismatch between collectives on ranks. Rank {group.ranks[group.rank()]} is "
                f"running collective: {mine}, but Rank {group.ranks[rank]} is running collective: {call}.")


def _last_calls(group: ProcessGroup, mine: str) -> str:
    said: list[Any] = []
    for i, rank in enumerate(group.ranks):
        key = f"calls/{i}"
        try:
            call = group._store.get(key).decode() if group._store.check([key]) else "none yet"
        except RuntimeError:
            call = "unknown, the store is gone"
        if call != mine:
            said.append(f"rank {rank}: {call}")
    return f"This rank is at {mine}; the last collectives of the others: {'; '.join(said) or 'the same'}"
