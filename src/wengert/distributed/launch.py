"""``torch.distributed.launch``, the older name of ``torchrun``: ``wengert run -m torch.distributed.launch``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .elastic.multiprocessing.errors import record
from .run import get_args_parser, run

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Run ``torchrun``. The program gets the argument ``--local-rank=N``, unless ``--use-env`` is given."""
    parser = get_args_parser()
    parser.add_argument("--use-env", "--use_env", action="store_true", help="say the local rank in LOCAL_RANK only")
    options = parser.parse_args(args)
    options.tells_local_rank = not options.use_env
    if options.no_python and options.tells_local_rank:
        raise ValueError("When using the '--no-python' flag, you must also set the '--use-env' flag.")
    record(run)(options)


if __name__ == "__main__":
    main()
