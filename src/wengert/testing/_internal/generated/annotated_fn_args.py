"""What the functions that can be overridden are given: ``annotated_args`` names, for each declared operator, the arguments that a call
cannot leave out, with their types in C++. Tests of ``__torch_function__`` make calls from it.
"""

from __future__ import annotations

from typing import Any

from ....ops.operator import TABLE, Operator
from ....overrides import get_overridable_functions, signature_of

_SIZES = frozenset(("size", "shape", "dims", "stride", "repeats", "shifts", "pad", "kernel", "padding", "dilation", "split_sizes"))
_SCALARS = frozenset(("min", "max", "value", "threshold", "fill_value", "maxnorm", "p"))
_OTHERS = {"dtype": "ScalarType", "reduce": "c10::string_view", "rounding_mode": "c10::string_view?", "eps": "double"}


def _type(op: Operator, name: str) -> str:
    if name in op.tensor_lists:
        return "TensorList"
    if name in op.tensors:
        return "Tensor?" if name in op.optional else "Tensor"
    if name in _SIZES:
        return "SymIntArrayRef"
    if name in _SCALARS:
        return "Scalar"
    return _OTHERS.get(name, "bool" if name in ("upper", "hermitian", "onesided", "forward", "ceil_mode") else "int64_t")


def _arguments(f: Any, op: Operator) -> list[dict[str, Any]]:
    rows = []
    for name, p in zip(op.params, signature_of(f).parameters.values()):
        if p.default is p.empty:
            rows.append({"is_kwarg_only": str(p.kind is p.KEYWORD_ONLY), "name": p.name, "simple_type": _type(op, name)})
    return rows


annotated_args: dict[Any, list[dict[str, Any]]] = {
    f: _arguments(f, op)
    for functions in get_overridable_functions().values()
    for f in functions
    if not hasattr(f, "__self__") and isinstance(op := f.__globals__.get("_op"), Operator) and TABLE.get(op.name) is op
}
