"""Keywords under which arguments may arrive besides the names that parameters have here."""

from __future__ import annotations

from typing import Any

# operator -> the other name -> the parameter
OTHER_NAMES: dict[str, dict[str, str]] = {
    "view": {"size": "shape", "dtype": "shape"}, "view_copy": {"size": "shape"},
    "reshape": {"size": "shape"}, "tile": {"dims": "*"}, "resize_": {"size": "*"},
    **{n: dict.fromkeys(("sections", "indices", "tensor_indices_or_sections"), "indices_or_sections") for n in (
        "tensor_split", "hsplit", "vsplit", "dsplit",
    )},
    "cholesky_solve": {"input2": "L"}, "ormqr": {"input2": "tau", "input3": "other"}, "linalg_lstsq": {"b": "B"},
    "linalg_tensorsolve": {"other": "B"},
    **{f"special_{n}": {"x": "input"} for n in (
        *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
        "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
    )},
}


def renamed(name: str, params: tuple[str, ...], args: tuple[Any, ...],
        kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with every keyword under our name for it."""
    other, given = OTHER_NAMES.get(name, {}), {}
    if "*" in other.values() and "input" in kwargs and not args:
        args, kwargs = (kwargs["input"],), {k: v for k, v in kwargs.items() if k != "input"}
    for key, value in kwargs.items():
        ours = params[0] if key in ("input", "self") and params and key not in params else other.get(key, key)
        if ours == "*" and len(args) < 2:
            args = (*args, value)
        elif ours != key and (ours in kwargs or ours in params[: len(args)]):
            raise TypeError(f"{name}() got multiple values for argument '{key}'")
        else:
            given[ours] = value
    return args, given
