"""How tensors are printed, by the names under which libraries for PyTorch reach for it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..arrays.lazy import plain
from ..functions.printing import annotated, get_printoptions, set_printoptions, values_text
from ..functions.show import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..tensor import Tensor


class _Options:
    """The values of ``set_printoptions``: ``precision``, ``threshold``, ``edgeitems``, ``linewidth``, ``sci_mode``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return get_printoptions()[name]
        except KeyError:
            raise AttributeError(name) from None


PRINT_OPTS = _Options()


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Inside, tensors are printed with these options; sentence-transformers and vllm use it."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


def _str_intern(inp: Any, *, tensor_contents: str | None = None) -> str:
    """What ``repr`` gives; torch-geometric puts text in place of the numbers."""
    return show(inp, tensor_contents)


def _tensor_str(self: Tensor, indent: int) -> str:
    return values_text(plain(self._wg_data), indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    return annotated(tensor_str, suffixes, indent, PRINT_OPTS.linewidth, force_newline)
