"""``parallelize_module``."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch
from typing import Any

from .._dtensor import _mesh
from .style import ParallelStyle


def parallelize_module(module: Any, device_mesh: Any = None, parallelize_plan: Any = None, *,
        src_data_rank: int | None = 0) -> Any:
    """Spread ``module`` over a mesh of one dimension, in place, by a plan.

    The plan is a ``ParallelStyle`` for the module itself, or a dict of them for its submodules, by names that may have
    wildcards (``"layers.*.attention.wq"``). ``src_data_rank``: whose parameters count; ``None``: everyone's own.

    >>> from wengert.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel
    >>> plan = {"w1": ColwiseParallel(), "w2": RowwiseParallel()}
    """
    mesh = _mesh(device_mesh)
    if mesh.ndim > 1:
        raise ValueError(f"Tensor Parallel only accepts a 1D DeviceMesh, but found {mesh.ndim}D! If you have a 2-D or "
            'N-D device_mesh, consider passing in device_mesh["tp"]')
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
            "parallelize_module will do nothing.")
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError("Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!")
    for path, style in parallelize_plan.items():
        if path == "":
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        found = _named(module, path.split("."))
        if not found:
            warnings.warn(f"Parallelize plan key '{path}' could not be resolved: no submodule matching token "
                f"'{path.split('.')[0]}' in module {module}, skipping this plan entry.")
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _named(module: Any, names: list[str]) -> list[Any]:
    """The submodules of a path with wildcards."""
    if not names:
        return [module]
    return [m for name, child in module.named_children() if fnmatch(name, names[0])
        for m in _named(child, names[1:])]
