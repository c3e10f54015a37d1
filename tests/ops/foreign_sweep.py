"""Every sample of the operator table on foreign arrays beside NumPy's: printed as JSON, by operator.

usage: foreign_sweep.py [cuda] [PART/PARTS]    on strict arrays, or on CuPy's; every PARTSth operator, from PART on

Both are the arrays of a device that the registry serves, so that tensors of two devices among the arguments are
refused: no operator, and no gradient rule, makes tensors on the CPU on the way.

A program of its own, because a class of foreign arrays that is installed stays so. Each operator has ``failures``, what
did not agree (results, gradients, gradients of gradients), and ``left``, what ran on copies in NumPy.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import wengert as torch
from wengert.functions.devices import array_class
from wengert.tensor.functions import function

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.ops.samples import ANY_VALUE, NO_SECOND, SAMPLES
from tests.ops.sampling import draw

if "cuda" not in sys.argv:
    from tests.cuda import fake

    fake.install()
Array = array_class(torch.device("cuda", 0))


def moved(x: Any, seen: dict[int, Any]) -> Any:
    """``x`` with tensors on the device."""
    if isinstance(x, torch.Tensor):
        if id(x) not in seen:
            t = torch.Tensor._wg_wrap(Array(Array.upload(x._wg_data)))
            seen[id(x)] = t.requires_grad_(x.requires_grad)
        return seen[id(x)]
    if type(x) is np.ndarray:  # class numbers
        return Array(Array.upload(x))
    return [moved(v, seen) for v in x] if isinstance(x, list) else x


def tensors(x: Any) -> list[Any]:
    """The tensors in a result or among arguments."""
    if isinstance(x, (list, tuple)):
        return [t for v in x for t in tensors(v)]
    return [x] if isinstance(x, torch.Tensor) else []


def computed(f: Any, args: Any, options: Any, second: bool) -> list[Any]:
    """Results, gradients and gradients of the gradients' sum."""
    torch.manual_seed(0)
    found = tensors(f(*args, **options))
    wanted = [t for t in tensors(args) if t.requires_grad]
    roots = [t for t in found if t.requires_grad]
    if not (roots and wanted):
        return found
    seeds = [t.detach() * 0 + 0.7 for t in roots]
    grads = torch.autograd.grad(roots, wanted, seeds, create_graph=second, allow_unused=True)
    found += grads
    again = [(g if g.dtype.is_floating_point else g.real).sum() for g in grads if g is not None and g.requires_grad]
    return found + (list(torch.autograd.grad(again, wanted, allow_unused=True)) if again else [])


def numbers(t: Any, on_device: bool) -> Any:
    """The elements of a tensor; None for none."""
    if t is None:
        return None
    a = t._wg_data
    a = a.resolved() if hasattr(a, "resolved") else a
    if type(a) is Array:
        return a.download()
    if on_device:
        raise TypeError(f"the result is a {type(a).__name__}")
    return np.asarray(a)


def failure(name: str, sample: Any) -> str:
    """What did not agree, in words; "" if all did."""
    rng = np.random.default_rng(0)
    args = [draw(a, rng, torch) for a in sample.args]
    options = {k: draw(v, rng, torch) for k, v in sample.options.items()}
    f, second, seen = function(name), name not in NO_SECOND, {}
    there = [moved(a, seen) for a in args], {k: moved(v, seen) for k, v in options.items()}
    expected = [numbers(t, False) for t in computed(f, args, options, second)]
    try:
        found = [numbers(t, bool(seen)) for t in computed(f, *there, second)]
        for a, b in zip(found, expected, strict=True):
            if (a is None) != (b is None) or (a is not None and a.dtype != b.dtype):
                return f"{a!r} instead of {b!r}"
            if a is not None and name not in ANY_VALUE:
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    warnings.simplefilter("ignore")
    part, _, parts = next((a for a in sys.argv if "/" in a and a[0].isdigit()), "0/1").partition("/")
    table = {}
    for name, samples in list(SAMPLES.items())[int(part) :: int(parts)]:
        Array.left.clear()
        failures = [f for f in (failure(name, s) for s in samples) if f]
        table[name] = {"failures": failures, "left": sorted(Array.left)}
    json.dump(table, sys.stdout)


if __name__ == "__main__":
    main()
