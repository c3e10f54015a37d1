"""``wengert torchrun``: a PyTorch program in several processes, with the options of PyTorch's ``torchrun``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(args: Sequence[str]) -> int:
    """Run the program in the processes that ``args`` ask for; the exit code."""
    from ..distributed.elastic.multiprocessing.errors import ChildFailedError
    from ..distributed.run import main as torchrun

    try:
        torchrun(list(args))
    except ChildFailedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
