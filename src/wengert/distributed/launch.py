"""``torch.distributed.launch``, the older name of ``torchrun``: ``wengert run -m torch.distributed.launch``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .run import main as torchrun

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Run ``torchrun``; ``--use-env``, which it always does, is accepted."""
    given = sys.argv[1:] if args is None else args
    torchrun([a for a in given if a not in ("--use-env", "--use_env")])


if __name__ == "__main__":
    main()
