"""Masks of dropout that are kept, so that what runs again need not draw them: a bit for each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..context import ContextVar

if TYPE_CHECKING:
    from collections.abc import Callable


class Masks:
    """Inside the first ``with`` masks are kept as they are drawn; inside each later one they are given once more.

    >>> import wengert as torch
    >>> masks, x = Masks(), torch.ones(4)
    >>> with masks:
    ...     first = torch.nn.functional.dropout(x)
    >>> with masks:
    ...     second = torch.nn.functional.dropout(x)
    >>> torch.equal(first, second), masks.nbytes
    (True, 1)
    """

    __slots__ = ("_at", "_token", "rows")

    def __init__(self) -> None:
        self.rows: list[tuple[tuple[int, ...] | None, Any]] = []  # shape and bits; no shape: as it was drawn
        self._at: int | None = None

    def __enter__(self) -> Masks:
        self._token = current.set(self)
        return self

    def __exit__(self, *exc: object) -> None:
        current.reset(self._token)
        self._at = 0

    @property
    def nbytes(self) -> int:
        """The memory of what is kept."""
        return sum(int(row.nbytes) for _, row in self.rows)

    def mask(self, draw: Callable[[], Any]) -> Any:
        """The next mask."""
        if self._at is None:
            made = draw()
            self.rows.append((made.shape, np.packbits(made)) if type(made) is np.ndarray else (None, made))
            return made
        shape, row = self.rows[self._at]
        self._at += 1
        if shape is None:
            return row
        return np.unpackbits(row, count=int(np.prod(shape))).view(np.bool_).reshape(shape)


current: ContextVar[Masks | None] = ContextVar("wengert_masks", default=None)
