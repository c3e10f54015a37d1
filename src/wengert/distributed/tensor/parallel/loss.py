"""``loss_parallel``: cross entropy of logits that are cut along the classes, without bringing them together."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from .._rules.rows import ALONG_CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Inside, ``cross_entropy`` of logits cut along the classes is computed piece by piece, and so is its gradient.

    The loss is the same; the logits are never whole on a process. ``backward()`` belongs inside too.

    >>> from wengert.distributed.tensor.parallel import loss_parallel
    >>> with loss_parallel():
    ...     pass
    """
    ALONG_CLASSES.append(True)
    try:
        yield
    finally:
        ALONG_CLASSES.pop()
