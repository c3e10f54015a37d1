"""The rows that functions with several results give: ``torch.return_types.max(values=..., indices=...)``."""

from __future__ import annotations

import sys
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of functions that are composed of other operators than their name says.
FIELDS: dict[str, tuple[str, ...]] = {
    "_lu_with_info": ("LU", "pivots", "info"), "geqrf": ("a", "tau"), "histogramdd": ("hist", "bin_edges"),
    "qr": ("Q", "R"), "slogdet": ("sign", "logabsdet"),
    "svd": ("U", "S", "V"),
    "triangular_solve": ("solution", "cloned_coefficient"),
}


class StructSeq(tuple[Any, ...]):
    """A tuple whose parts have names, made from one sequence, like the results of ``os.stat``."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0

    def __new__(cls, sequence: Any, dict: Any = None) -> Any:
        try:
            parts = tuple(sequence)
        except TypeError:
            raise TypeError("constructor requires a sequence") from None
        if len(parts) != cls.n_fields:
            raise TypeError(f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence "
                f"({len(parts)}-sequence given)")
        return tuple.__new__(cls, parts)

    def __init_subclass__(cls, final: bool = True, **more: Any) -> None:
        if final:
            raise TypeError(f"type 'torch.return_types.{cls.__mro__[1].__name__}' is not an acceptable base type")

    def __repr__(self) -> str:
        rows = ",\n".join(f"{name}={part!r}" for name, part in zip(self.__match_args__, self))
        return f"torch.return_types.{type(self).__name__}(\n{rows})"

    def __reduce__(self) -> Any:
        return type(self), (tuple(self), {})


def structseq(name: str, fields: Sequence[str]) -> Any:
    """The class of rows of that name."""
    n = len(fields)
    package = sys.modules[__name__.partition(".")[0]].__name__  # which the alias sets
    body: dict[str, Any] = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    body |= {"__module__": f"{package}.return_types", "__slots__": (), "__match_args__": tuple(fields), "n_fields": n,
        "n_sequence_fields": n}
    return type(name, (StructSeq,), body, final=False)


def rebuilt(row: Any, parts: Any) -> Any:
    """A row, named tuple, tuple or list like ``row`` with other parts."""
    kind = type(row)
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
