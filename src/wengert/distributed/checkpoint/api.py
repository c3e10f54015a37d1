"""The error of a checkpoint that some process could not save or load."""

from __future__ import annotations

import traceback
from typing import Any


class CheckpointException(BaseException):
    """What went wrong, by rank: ``failures``.

    >>> from wengert.distributed.checkpoint import CheckpointException
    >>> CheckpointException("write", {1: (ValueError("no"), None)}).failures[1][0]
    ValueError('no')
    """

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """Error and traceback of each rank that failed."""
        return self._failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (error, trace) in self._failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n"
            if trace is not None:
                text += "".join(traceback.format_list(trace))
            text += "".join(traceback.format_exception_only(type(error), error))
        return text


__all__ = ["CheckpointException"]
