"""How many operators agree with PyTorch, by PyTorch's own table of operators and sample calls (``op_db`` of its wheel).

usage: python -m tests.parity.operators [--dtype float64] [--device cuda] [--samples 12] [--only TEXT] [-v]

Every differentiable entry of the table is called on both libraries with the same numbers, and compared are the results,
their gradients, and the gradients of those: values, shapes and types. An entry agrees as far as all its calls do. The
last line counts. With ``--device cuda`` our tensors are on a GPU, PyTorch's on the CPU; ``--device fake`` is a GPU of
strict arrays, which raise where something would copy them silently.
"""

from __future__ import annotations

import argparse
import itertools
import types
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import wengert
from tests.parity.twins import Twin, label, ours, torch, uses_mkl

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEPS = ("value", "gradient", "second derivative")
TOLERANCE = 1e-7  # of double precision
SAMPLES = 12
_KERNEL = "a kernel that PyTorch shows only to its own code"
# Entries that are not compared: why. An entry belongs here only while one of both libraries cannot make the calls.
LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(
        ("_batch_norm_with_update", "_native_batch_norm_legit", "_segment_reduce/lengths", "_segment_reduce/offsets",
            "_softmax_backward_data",
         "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "_upsample_bilinear2d_aa",
         "native_dropout_backward", "slice", "torch.ops.aten._safe_softmax.default"), _KERNEL),
    **dict.fromkeys(("sparse.mm/reduce", "sparse.sampled_addmm"), "their samples are of a sparse layout"),
}
# Entries of which the shapes and types are compared, not the values: why.
_MKL = "PyTorch draws these by the generator of MKL here"
_OPEN = "the values are whatever was in memory"
NO_VALUES: dict[str, str] = {
    **dict.fromkeys(
        (label(op) for op in op_db
            if uses_mkl() and ("dropout" in op.name or "attention" in op.name or op.name == "bernoulli")), _MKL),
    **dict.fromkeys((label(op) for op in op_db if "empty" in op.name), _OPEN),
}
# Entries that agree less far: how many steps, and why.
OTHER: dict[str, tuple[int, str]] = dict.fromkeys(
    ("nn.functional.linear_cross_entropy/chunked", "nn.functional.linear_cross_entropy/chunked_none"),
    (2, "PyTorch gives a second derivative of zeros"),
)


class Agreement(NamedTuple):
    """How far the calls of an entry agree: how many of the three steps, of how many that PyTorch takes, and what was
    wrong.
    """

    reached: int
    steps: int
    why: str


class Leaves(Twin):
    """Twins that want gradients where PyTorch's tensors do; empty ones too."""

    where = "cpu"

    def __call__(self, x: Any) -> Any:
        return wengert.device(self.where) if isinstance(x, torch.device) else super().__call__(x)

    def tensor(self, t: Any) -> Any:
        twin = super().tensor(t)
        if self.where != "cpu":
            twin = twin.detach().to(self.where)
        if t.is_conj():  # which its memory does not show
            twin = twin.detach().conj()
        return twin.requires_grad_() if t.requires_grad else twin


def tensors(x: Any) -> list[Any]:
    """The tensors in a result or in arguments, in order."""
    if isinstance(x, (torch.Tensor, wengert.Tensor)):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for v in x for t in tensors(v)] if isinstance(x, (list, tuple)) else []


def on_wengert(f: Any) -> Any:
    """A function of PyTorch's tests, with what it knows by the name torch, and what it closes over,
    taken from wengert.
    """
    if isinstance(f, torch.dtype):
        return getattr(wengert, str(f).removeprefix("torch."))
    if not isinstance(f, types.FunctionType) or "testing" not in (f.__module__ or ""):
        return f
    known = {**f.__globals__, "torch": wengert}
    if "wrapper_set_seed" in f.__code__.co_names:
        known["wrapper_set_seed"] = with_seed
    cells = tuple(types.CellType(on_wengert(c.cell_contents)) for c in f.__closure__) if f.__closure__ else None
    twin = types.FunctionType(f.__code__, known, f.__name__, f.__defaults__, cells)
    twin.__kwdefaults__ = f.__kwdefaults__
    return twin


def with_seed(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the table's random operators are called through: always the same seed."""
    wengert.manual_seed(42)
    return f(*args, **kwargs)


def weights(library: Any, t: Any, number: int) -> Any:
    """The numbers that a result, or a gradient, is multiplied by: those of its place in the list, on either library."""
    parts = np.random.default_rng(number).standard_normal((*t.shape, 2))
    a = parts[..., 0] + 1j * parts[..., 1] if t.is_complex() else parts[..., 0]
    return library.tensor(np.array(a), dtype=t.dtype).to(t.device)


def steps(library: Any, f: Callable[..., Any], arguments: Any, finish: Callable[..., Any] | None,
        most: int) -> Iterator[list[Any]]:
    """The results of a call, their gradients, and the gradients of those."""
    first, args, kwargs = arguments
    library.manual_seed(0)
    result = f(first, *args, **kwargs)
    found = tensors(result if finish is None else finish(result))
    yield found
    leaves = [t for t in tensors(arguments) if t.requires_grad]
    for step in range(1, most):
        live = [(t, weights(library, t, i)) for i, t in enumerate(found) if t is not None and t.requires_grad]
        if live and leaves:
            outputs, given = zip(*live)
            found = list(library.autograd.grad(outputs, leaves, given, allow_unused=True, create_graph=step + 1 < most))
        else:
            found = [None] * len(leaves)
        yield found


def numbers(t: Any) -> np.ndarray:
    t = t.detach().cpu()
    t = (t.resolve_conj().resolve_neg() if not (isinstance(t, torch.Tensor) and t._is_zerotensor())
        else torch.zeros(t.shape, dtype=t.dtype))
    wide = {"torch.bfloat16": "float", "torch.complex32": "cfloat"}.get(str(t.dtype))  # NumPy has neither
    return np.asarray((t if wide is None else getattr(t, wide)()).numpy())


def difference(theirs: list[Any], mine: list[Any], values: bool) -> str:
    """What is wrong with our tensors; nothing if they agree. No gradient is a gradient of zeros."""
    if len(theirs) != len(mine):
        return f"{len(mine)} tensors, PyTorch gives {len(theirs)}"
    for i, (x, y) in enumerate(zip(theirs, mine)):
        if x is None and y is None:
            continue
        a, b = (None if t is None else numbers(t) for t in (x, y))
        a, b = np.zeros_like(b) if a is None else a, np.zeros_like(a) if b is None else b
        if a.shape != b.shape or a.dtype != b.dtype or (None not in (x, y) and str(x.dtype) != str(y.dtype)):
            return f"number {i}: {b.dtype} {b.shape}, PyTorch gives {a.dtype} {a.shape}"
        if values and not np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            return f"number {i}: PyTorch gives {a.ravel()[:4]}, we {b.ravel()[:4]}"
    return ""


def agreement(op: Any, dtype: Any, samples: int = SAMPLES) -> Agreement:
    """Make the first calls of an entry of the table on both libraries."""
    most = 3 if op.supports_gradgrad else 2
    f = ours(op)
    if f is None:
        return Agreement(0, most, "absent")
    f = on_wengert(op.op) if isinstance(op.op, types.FunctionType) and "testing" in (op.op.__module__ or "") else f
    reached, given, why = most, 0, ""
    torch.manual_seed(0)
    np.random.seed(0)
    for call, sample in enumerate(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=True), samples), 1):
        arguments = (sample.input, sample.args, sample.kwargs)
        if any(t.layout is not torch.strided for t in tensors(arguments)):
            continue
        finish = sample.output_process_fn_grad
        mine = steps(wengert, f, Leaves()(arguments), on_wengert(finish), most)
        for step, theirs in enumerate(whatever_pytorch_can(steps(torch, op.op, arguments, finish, most))):
            given = max(given, step + 1)
            if step >= reached:
                continue
            try:
                wrong = difference(theirs, next(mine), label(op) not in NO_VALUES)
            except Exception as e:
                wrong = f"{type(e).__name__}: {e}".splitlines()[0]
            if wrong:
                reached, why = step, f"call {call}, {STEPS[step]}: {wrong}"
    return Agreement(min(reached, given), given, why)


def whatever_pytorch_can(found: Iterator[list[Any]]) -> Iterator[list[Any]]:
    """Go as far as PyTorch does: some entries have no second derivative for some calls."""
    try:
        yield from found
    except (RuntimeError, NotImplementedError):
        return


def entries(dtype: Any) -> dict[str, Any]:
    """What is compared: the differentiable entries for a type of numbers."""
    return {
        label(op): op for op in op_db
        if op.supports_autograd and dtype in op.supported_backward_dtypes("cpu") and label(op) not in LEFT_OUT
    }


def on_device(device: str) -> None:
    """Compare with our tensors on a device: its random numbers are others than the CPU's."""
    if device == "fake":
        from tests.cuda import fake

        fake.install()
    Leaves.where = "cuda"
    drawn = ("rand", "normal", "dropout", "bernoulli", "multinomial", "rrelu", "uniform", "exponential", "attention",
        "geometric", "cauchy", "fractional", "multi_head", "svd_lowrank", "pca_lowrank")
    NO_VALUES.update((label(op), "drawn") for op in op_db if any(d in op.name for d in drawn))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity.operators", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", default="float64", choices=["float64", "complex128"])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda", "fake"])
    parser.add_argument("--samples", type=int, default=SAMPLES, help="calls of an entry at most")
    parser.add_argument("--only", default="", help="entries with this text in their names")
    parser.add_argument("-v", action="store_true", help="say of each entry that does not agree what is wrong")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.device != "cpu":
        on_device(args.device)
    dtype = getattr(torch, args.dtype)
    rows = []
    for name, op in entries(dtype).items():
        if args.only in name:
            rows.append(agreement(op, dtype, args.samples))
            if args.v and rows[-1].why:
                print(f"{name}: {rows[-1].why}", flush=True)
    counts = [(sum(r.reached > step for r in rows), sum(r.steps > step for r in rows)) for step in range(3)]
    print(", ".join(f"{step} {reached}/{of}" for step, (reached, of) in zip(STEPS, counts)))


if __name__ == "__main__":
    main()
