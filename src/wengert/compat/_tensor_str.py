"""How tensors are printed, by the names under which libraries for PyTorch reach for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays.lazy import plain
from ..functions.printing import annotated, get_printoptions, values_text

if TYPE_CHECKING:
    from ..tensor import Tensor


class _Options:
    """The values of ``set_printoptions``: ``precision``, ``threshold``, ``edgeitems``, ``linewidth``, ``sci_mode``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return get_printoptions()[name]
        except KeyError:
            raise AttributeError(name) from None


PRINT_OPTS = _Options()


def _tensor_str(self: Tensor, indent: int) -> str:
    return values_text(plain(self._wg_data), indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    return annotated(tensor_str, suffixes, indent, PRINT_OPTS.linewidth, force_newline)
