"""Tensors spread over accelerators and gathered from them: there is none here."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> NoReturn:
    """Raise ``ValueError``: there is no accelerator to spread ``inputs`` over."""
    where = target_gpus[0] if target_gpus else "cpu"
    raise ValueError(f"Expected a non cpu device, but got: {where}. There is no accelerator here to spread tensors "
        "over; use the module as it is.")


def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Any, dim: int = 0) -> NoReturn:
    """``scatter`` for positional and named arguments."""
    scatter((inputs, kwargs), target_gpus, dim)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> NoReturn:
    """Raise ``AssertionError``: what lies on the CPU is not gathered."""
    raise AssertionError("Gather function not implemented for CPU tensors")
