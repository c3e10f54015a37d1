"""``local_map``: a function of plain tensors, called with the pieces of DTensors."""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

from ....tensor import Tensor
from .._dtensor import DTensor


def local_map(func: Any = None, out_placements: Any = None, in_placements: Any = None, in_grad_placements: Any = None,
        device_mesh: Any = None, *, redistribute_inputs: bool = False) -> Any:
    """``func`` on DTensors: it gets the pieces, and what it gives are pieces with ``out_placements``.

    ``in_placements``: how inputs must lie, ``None`` for what is no DTensor; others are refused, or brought so with
    ``redistribute_inputs``. ``in_grad_placements``: how their gradients lie.

    >>> from wengert.distributed.tensor.experimental import local_map
    >>> callable(local_map(lambda x: x, out_placements=None))
    True
    """
    if func is None:
        return partial(local_map, out_placements=out_placements, in_placements=in_placements,
            in_grad_placements=in_grad_placements, device_mesh=device_mesh, redistribute_inputs=redistribute_inputs)

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        mesh = device_mesh
        row = []
        for i, x in enumerate(args):
            if isinstance(x, DTensor):
                mesh = mesh or x.device_mesh
                wanted = None if in_placements is None else in_placements[i]
                if wanted is not None and tuple(wanted) != x.placements:
                    if not redistribute_inputs:
                        raise ValueError(f"arg {x} in local_map has a mismatched placements: arg placements is "
                            f"{x.placements} but the input placements is {wanted}! If redistribute_inputs is wanted, "
                            "set redistribute_inputs=True to local_map.")
                    x = x.redistribute(mesh, wanted)
                back = None if in_grad_placements is None else in_grad_placements[i]
                x = x.to_local(grad_placements=back)
            row.append(x)
        found = func(*row, **kwargs)
        if mesh is None:
            return found
        several = isinstance(found, tuple)
        outs = found if several else (found,)
        listed = out_placements if several or _is_rows(out_placements) else (out_placements,)
        made = tuple(DTensor.from_local(o, mesh, p, run_check=False) if isinstance(o, Tensor) and p is not None else o
            for o, p in zip(outs, listed))
        return made if several else made[0]

    return run


def _is_rows(v: Any) -> bool:
    return isinstance(v, tuple) and all(p is None or isinstance(p, (list, tuple)) for p in v)
