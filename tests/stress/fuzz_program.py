"""Random calls of the public functions: the program that ``test_fuzz_calls.py`` runs in a process of its own.

    python fuzz_program.py SEED FIRST LAST REPORT

Every call follows from the seed and its number alone, so that ``python fuzz_program.py SEED N N+1 -`` repeats one. A
line of JSON in the file REPORT (``-``: standard output) tells of each finding. The number of the call that is being
made stands in the file REPORT.at, for the case that the process does not survive it.
"""

from __future__ import annotations

import faulthandler
import inspect
import json
import os
import random
import re
import resource
import signal
import sys
import traceback
import warnings
from typing import Any

import numpy as np

import wengert as torch
import wengert.nn.functional as F
from wengert.ops.operator import TABLE

SECONDS = 5  # that a single call may take
MEMORY = 3 << 30  # address space, in bytes

# What changes settings, reads or writes files, starts something, is no computation, or takes as many steps as it is
# told.
LEFT_OUT = re.compile(
    r"^(set_|manual_seed|seed$|initial_seed|save$|load$|from_file|compile$|fork|wait$|use_deterministic|_|autocast"
    r"|vmap$|cond$|while_loop"
    r"|get_rng_state|is_storage$|typename$|share_memory|register_|retain_grad"
    r"|backward$|pin_memory|module_load|cuda$|ipu$|xpu$|mtia$"
    r"|(svd|pca)_lowrank$|unify_type_list|import_ir_module|parse_|init_num_threads|thread_safe_generator|_check)"
)
SPECIAL = (
    "__add__", "__radd__", "__iadd__", "__sub__", "__rsub__", "__mul__", "__truediv__", "__rtruediv__",
    "__itruediv__", "__floordiv__", "__mod__",
    "__pow__", "__rpow__", "__matmul__",
    "__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__eq__", "__lt__", "__getitem__",
    "__setitem__", "__contains__", "__len__", "__bool__", "__float__", "__int__", "__index__", "__iter__",
    "__format__", "__array__",
)

HUGE = (2**31 - 1, 2**31, 2**62, 2**63 - 1, 2**63, -(2**63), -(2**31), 2**64, 10**30)
SHAPES: tuple[tuple[int, ...], ...] = (
    (), (0,), (1,), (3,), (4,), (2, 3), (3, 3), (1, 1), (0, 3), (2, 0), (2, 3, 4), (1, 4, 4), (3, 3, 3),
    (1, 2, 4, 4), (2, 4, 5, 5), (1, 2, 3, 4, 4),
    (1,) * 9,
)
DTYPES = (
    "float32", "float32", "float32", "float64", "int64", "int32", "bool", "complex64", "complex128", "float16",
    "bfloat16", "uint8", "int8",
    "int16", "complex32", "float8_e4m3fn",
)
WORDS = (
    "",
    "x",
    "mean",
    "sum",
    "none",
    "reflect",
    "bilinear",
    "ij",
    "floor",
    "fro",
    "nuc",
    "ortho",
    "i,i->",
    "same",
    "r",
    "cpu",
    "meta",
    "\ud800",
    "é" * 9,
)
DTYPE_VALUES = (
    torch.float32,
    torch.int64,
    torch.bool,
    torch.complex64,
    torch.uint8,
    torch.float16,
    torch.float64,
    float,
    int,
    "float32",
)


def functions() -> list[tuple[str, Any, tuple[str, ...]]]:
    """``(address, function, names of its parameters)`` of all that is called."""
    found = []
    for place, home in (
        ("torch", torch),
        ("F", F),
        ("linalg", torch.linalg),
        ("fft", torch.fft),
        ("special", torch.special),
        ("Tensor", torch.Tensor),
    ):
        for name in sorted(dir(home)):
            if LEFT_OUT.match(name) and not (place == "Tensor" and name in SPECIAL):
                continue
            f = inspect.getattr_static(home, name) if place == "Tensor" else getattr(home, name, None)
            if not callable(f) or isinstance(f, type) or inspect.ismodule(f) or name == "overridable":
                continue
            if not (getattr(f, "__module__", "") or "").startswith(("wengert", "torch")):
                continue
            found.append((f"{place}.{name}", f, parameters(name, f, place)))
    return found


def parameters(name: str, f: Any, place: str) -> tuple[str, ...]:
    op: Any = TABLE.get(name) or TABLE.get(f"{place}_{name}") or TABLE.get(name.rstrip("_"))
    if op is not None:
        return tuple(op.params)
    try:
        return tuple(
            p.name
            for p in inspect.signature(f).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        )
    except (TypeError, ValueError):
        return ("input", "other")


def tensor(r: random.Random) -> Any:
    """A tensor of any kind, with any numbers in it."""
    shape, dtype = r.choice(SHAPES), getattr(torch, r.choice(DTYPES))
    count = int(np.prod(shape))
    numbers = [r.choice((0, 1, 2, -1, 3, 0.5, -2.5)) for _ in range(count)]
    if r.random() < 0.1:
        numbers = [r.choice((float("nan"), float("inf"), -float("inf"), 1e30, 0.0)) for _ in range(count)]
    t = torch.tensor(numbers, dtype=torch.float64).reshape(shape)
    t = t.nan_to_num(0, 1, 1).to(dtype) if not (dtype.is_floating_point or dtype.is_complex) else t.to(dtype)
    choice = r.random()
    if choice < 0.1 and t.ndim > 1:
        t = t.transpose(0, -1)
    elif choice < 0.15 and t.ndim:
        t = t[:1].expand(t.shape)
    elif choice < 0.2 and dtype.is_complex and dtype is not torch.complex32:
        t = t.conj()
    if (dtype in (torch.float32, torch.float64, torch.complex64)) and r.random() < 0.2:
        t = t.detach().requires_grad_()
    return t


def number(r: random.Random) -> Any:
    return r.choice(
        (
            0,
            1,
            2,
            3,
            -1,
            -2,
            0.0,
            0.5,
            1.0,
            -1.5,
            float("nan"),
            float("inf"),
            True,
            False,
            1j,
            np.float32(1),
            np.int64(2),
            *HUGE,
        )
    )


def anything(r: random.Random, depth: int = 0) -> Any:
    """A value of any kind."""
    kind = r.randrange(20)
    if kind < 5:
        return tensor(r)
    if kind < 9:
        return number(r)
    if kind == 9:
        return r.choice(WORDS)
    if kind == 10:
        return None
    if kind == 11:
        return np.asarray(r.choice((0, [1, 2], [[1.0, 2.0]], ["a"], [None], [])))
    if kind == 12:
        return r.choice(DTYPE_VALUES)
    if kind == 13:
        return r.choice(
            (
                {},
                {"a": 1},
                set(),
                object(),
                lambda x: x,
                slice(None),
                Ellipsis,
                b"x",
                range(3),
                torch.Tensor,
                torch.strided,
                torch.device("cpu"),
            )
        )
    if depth > 1:
        return r.randrange(3)
    row = [
        anything(r, depth + 1) if r.random() < 0.4 else number(r) if r.random() < 0.4 else r.randrange(-1, 4)
        for _ in range(r.randrange(5))
    ]
    return r.choice((tuple, list))(row)


INTEGERS = frozenset((
    "dim", "dim0", "dim1", "dim2", "k", "n", "diagonal", "offset", "chunks", "groups", "num_classes", "source",
    "destination", "start_dim", "end_dim",
    "index", "sections", "N", "steps", "length", "num_samples", "rows", "row", "col", "m",
))
SIZES = frozenset((
    "kernel_size", "stride", "padding", "dilation", "output_size", "size", "shape", "sizes", "dims", "repeats",
    "shifts", "pad", "output_padding", "s",
    "split_size_or_sections", "normalized_shape", "scale_factor", "indices_or_sections",
))
TENSORS = frozenset(
    (
        "input",
        "self",
        "other",
        "weight",
        "target",
        "bias",
        "mat2",
        "vec",
        "x",
        "tensor",
        "A",
        "B",
        "mask",
        "source",
        "values",
        "end",
    )
)


def plausible(r: random.Random, name: str) -> Any:
    """A value that a parameter of that name might take."""
    if name in TENSORS:
        return tensor(r)
    if name in INTEGERS:
        return r.choice((0, 1, -1, 2, -2, 3, r.choice(HUGE)))
    if name in SIZES:
        one = [
            r.choice((0, 1, 1, 2, 3, -1, r.choice(HUGE) if r.random() < 0.2 else 2)) for _ in range(r.randrange(1, 5))
        ]
        return r.choice((one[0], tuple(one), one))
    if name in ("indices", "index", "offsets"):
        return torch.tensor([0, 1])
    if name in ("tensors",):
        return [tensor(r) for _ in range(r.randrange(4))]
    if name == "dtype":
        return r.choice(DTYPE_VALUES)
    if name in ("reduction", "mode", "padding_mode", "equation", "norm", "rounding_mode"):
        return r.choice(WORDS)
    return r.choice((True, False, None, 1, 0.5, tensor(r)))


def call_number(seed: int, at: int, every: list[Any]) -> tuple[str, Any, list[Any], dict[str, Any]]:
    """The function and the arguments of call ``at``."""
    r = random.Random(f"{seed} {at}")
    address, f, names = every[r.randrange(len(every))]
    wild = r.choice((0.05, 0.3, 0.9))
    args: list[Any] = [
        anything(r) if r.random() < wild else plausible(r, p)
        for p in names[: r.randrange(max(0, len(names) - 3), len(names) + 1)]
    ]
    if r.random() < 0.1:
        args.append(anything(r))
    if args and r.random() < 0.1:
        args.pop()
    kwargs = {}
    if r.random() < 0.2:
        key = r.choice((*names[len(args) :], "out", "dim", "dtype", "nonsense"))
        kwargs[key] = anything(r) if r.random() < 0.5 else plausible(r, key)
    if address.startswith("Tensor.") and not (args and isinstance(args[0], torch.Tensor)):
        args[:1] = [tensor(r)]
    return address, f, args, kwargs


def tensors_in(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if type(value) in (list, tuple):
        return [t for v in value for t in tensors_in(v)]
    return tensors_in(list(value.values())) if type(value) is dict else []


def state(t: Any) -> tuple[Any, ...]:
    """All that a failed call must leave as it was."""
    plain = t.detach().resolve_conj() if t.dtype.is_complex and t.dtype is not torch.complex32 else t.detach()
    return (
        tuple(t.shape),
        t.stride(),
        str(t.dtype),
        t.requires_grad,
        plain.contiguous().view(torch.uint8).tolist() if t.numel() and t.ndim else str(t),
    )


# Messages of NumPy's and Python's about what happens inside; PyTorch has words of its own for these.
INSIDE = re.compile(
    r"ufunc|numpy\.ndarray|_ndarray|data type <class|object array|setting an array element|inhomogeneous"
    r"|could not convert string|has no attribute|could not be broadcast"
    r"|_kernels|wengert\.(?!Size)|local variable|too large to convert to C"
    r"|NoneType' object|out= must|Axes must|object too deep"
)
# Python's own words, which PyTorch leaves too, and PyTorch's that name a class.
PYTHON = (
    "cannot convert float infinity to integer",
    "__format__() argument must be str",
    "'utf-8' codec can't encode",
    "can't assign a numpy.ndarray to a torch.",
    "expected 'shape' to be int or sequence of ints, but got ",
    "Tensor.__contains__ only supports Tensor or scalar, but you passed in a",
)
# the last of DLPack
ALLOWED = (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError, MemoryError, BufferError)


def internal(error: BaseException) -> bool:
    """Whether an exception tells of the inside, where it should tell of the argument."""
    kind = type(error)
    if isinstance(error, MemoryError) or str(error).startswith(PYTHON):
        return False
    if (
        kind in ALLOWED
        or (kind.__module__.startswith(("wengert", "torch")) and issubclass(kind, ALLOWED))
        or kind.__name__ == "LinAlgError"
    ):
        return bool(INSIDE.search(str(error)))
    return kind is not AssertionError or not str(error)  # PyTorch has a few assertions, with texts


def shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"<{str(value.dtype)[6:]} {tuple(value.shape)}{' grad' if value.requires_grad else ''}>"
    if type(value) in (list, tuple):
        return (
            f"{'[' if type(value) is list else '('}{', '.join(map(shown, value))}{']' if type(value) is list else ',)'}"
        )
    return repr(value).encode("ascii", "backslashreplace").decode()[:60]


def limit(seconds: int) -> None:
    """End the process, with a traceback, when it has worked for that long or waited ten times as long; 0: do not."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)


def restrict() -> None:
    """Give this process limits of memory, and have its traceback told when it runs out of time."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for number in (signal.SIGPROF, signal.SIGALRM):  # a handler in C, which a long native loop does not hold up
        faulthandler.register(number, chain=True)


def main(seed: int, first: int, last: int, report: str) -> None:
    restrict()
    out = sys.stdout if report == "-" else open(report, "a")  # noqa: SIM115
    at_file = None if report == "-" else os.open(report + ".at", os.O_RDWR | os.O_CREAT)
    every = functions()
    done = {"calls": 0, "failed": 0}
    for at in range(first, last):
        if at_file is not None:
            os.pwrite(at_file, b"%12d" % at, 0)
        address, f, args, kwargs = call_number(seed, at, every)
        given = tensors_in([args, kwargs])
        before = [state(t) for t in given]
        text = f"{address}({', '.join([*map(shown, args), *(f'{k}={shown(v)}' for k, v in kwargs.items())])})"
        if report == "-":
            print(text, flush=True)
        torch.manual_seed(0)
        found = None
        limit(SECONDS)
        try:
            f(*args, **kwargs)
        except Exception as error:
            limit(0)
            done["failed"] += 1
            if internal(error):
                where = traceback.extract_tb(error.__traceback__)[-1]
                found = (
                    f"{type(error).__name__}: {error}"[:300]
                    + f" [{os.path.basename(where.filename)}:{where.lineno} {where.name}]"
                )
            elif [state(t) for t in given] != before:
                found = f"changed its arguments, though it failed: {type(error).__name__}: {error}"[:300]
            if report == "-":
                traceback.print_exc()
        limit(0)
        done["calls"] += 1
        if found:
            print(json.dumps({"call": at, "text": text, "found": found}), file=out, flush=True)
    print(json.dumps(done), file=out, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), sys.argv[4])
