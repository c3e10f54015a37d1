"""Actions of ``argparse`` whose defaults come from the environment: ``$PET_NAME`` for ``--name``."""

from __future__ import annotations

import os
from argparse import Action
from typing import Any

__all__ = ["check_env", "env"]


class env(Action):
    """An option with a value.

    >>> import argparse
    >>> from wengert.distributed.argparse_util import env
    >>> parser = argparse.ArgumentParser()
    >>> action = parser.add_argument("--nothing-sets-it", action=env, default="x")
    >>> parser.parse_args([]).nothing_sets_it
    'x'
    """

    def __init__(self, dest: str, default: Any = None, required: bool = False, **kwargs: Any) -> None:
        default = os.environ.get(f"PET_{dest.upper()}", default)
        super().__init__(dest=dest, default=default, required=required and not default, **kwargs)

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, values)


class check_env(Action):
    """An option without a value: ``$PET_NAME`` is 0 or 1."""

    def __init__(self, dest: str, default: Any = False, **kwargs: Any) -> None:
        default = bool(int(os.environ.get(f"PET_{dest.upper()}", "1" if default else "0")))
        super().__init__(dest=dest, const=True, default=default, nargs=0, **kwargs)

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, self.const)
