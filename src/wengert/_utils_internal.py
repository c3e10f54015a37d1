"""``torch._utils_internal``: paths, as test files put them together."""

from __future__ import annotations

import os

torch_parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def get_file_path(*path_components: str) -> str:
    """A path below the folder that the package is in."""
    return os.path.join(torch_parent, *path_components)


def get_file_path_2(*path_components: str) -> str:
    """A path."""
    return os.path.join(*path_components)
