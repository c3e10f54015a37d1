"""The distribution "torch", for programs that query ``importlib.metadata`` for the installed version."""

from __future__ import annotations

from importlib.metadata import Distribution
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os


class TorchDistribution(Distribution):
    """Metadata and nothing else: no files."""

    def read_text(self, filename: str) -> str | None:
        """The text of ``METADATA``; no other file exists."""
        if filename != "METADATA":
            return None
        from ..version import __version__

        return f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\nSummary: wengert, under torch's name\n"

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        """Where a file of the distribution lies: beside this package."""
        from pathlib import Path

        return Path(__file__).parents[2] / path
