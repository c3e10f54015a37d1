"""What to say about a name that is not there: why, and what there is instead."""

from __future__ import annotations

import re
import sys
from functools import cache
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from .homes import OURS, PRIVATE, THEIRS, known_as

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType
    from typing import NoReturn

_COMPILED = "programs are not compiled; torch.compile runs them eagerly, and torch.func transforms them as they are"
_TRACED = ("programs are not traced; module hooks, torch.overrides.TorchFunctionMode and "
    "torch.utils._python_dispatch.TorchDispatchMode see every call while a program runs")
_EXPORTED = ("programs are not exported; save the module's state_dict with torch.save, and build the module anew from "
    "its class")
_QUANTIZED = "numbers are not quantized; torch.fake_quantize_per_tensor_affine rounds as quantization would"
_NO_CUDA = "this part of torch.cuda is not here"
_DISPATCH = "there is no dispatcher that could be asked; torch.library registers operators"
_DECOMPOSED = "operators are not decomposed into others; torch.ops.aten has them by name"
_SCRIPTED = "there is no TorchScript; torch.jit.script and torch.jit.trace give the Python function or module itself"
_SCALED = "numbers of eight bits have no products of their own; multiply float32 tensors, and apply the scales"
_GROUPED = "products of groups of rows are not here; multiply the groups one by one, or pad them and use torch.bmm"
_TRITON = "there is no Triton; everything runs on the CPU"
_DATAPIPES = "there are no data pipes; use Dataset, IterableDataset and DataLoader"

# Modules of PyTorch with nothing behind them here, and modules below these as well: why, and what there is instead.
AREAS: dict[str, str] = {
    "_C": "this part of PyTorch's compiled core is not here",
    "_custom_op": "the custom operators of before torch.library are not here; use torch.library.custom_op",
    "_custom_ops": "the custom operators of before torch.library are not here; use torch.library.custom_op",
    "_decomp": _DECOMPOSED,
    "_dispatch": _DISPATCH,
    "_dynamo": _COMPILED,
    "_export": _EXPORTED,
    "_functorch": _COMPILED,
    "_guards": _COMPILED,
    "_higher_order_ops": _TRACED,
    "_inductor": _COMPILED,
    "_library": _DISPATCH,
    "_meta_registrations": "operators have no rules of their own for shapes; the device 'meta' has no numbers",
    "_prims": _DECOMPOSED,
    "_prims_common": _DECOMPOSED,
    "_python_dispatcher": _DISPATCH,
    "_refs": _DECOMPOSED,
    "_subclasses": _TRACED,
    "ao": _QUANTIZED,
    "backends.quantized": _QUANTIZED,
    "classes": "C++ classes cannot be loaded; write them in Python",
    "compiler._cache": _COMPILED,
    "cuda._memory_viz": _NO_CUDA,
    "cuda.jiterator": _NO_CUDA,
    "cuda.profiler": _NO_CUDA,
    "distributed": "this part of torch.distributed is not here; process groups and collectives are",
    "export": _EXPORTED,
    "func.functorch": f"this part of functorch is not here: {_COMPILED}",
    "functorch": f"this part of functorch is not here: {_COMPILED}",
    "fx": "this part of torch.fx is not here; torch.fx.symbolic_trace and experimental.proxy_tensor.make_fx trace",
    "monitor": "there are no monitors; torch.profiler measures a program",
    "multiprocessing.reductions": _NO_CUDA,
    "nested._internal": "only torch.nested itself is here",
    "nn.attention.bias": "attention takes masks as tensors: attn_mask, or is_causal=True",
    "nn.attention.varlen": "attention takes padded tensors with masks, or nested tensors",
    "nn.intrinsic": _QUANTIZED,
    "nn.parallel._functions": _NO_CUDA,
    "nn.qat": _QUANTIZED,
    "nn.quantizable": _QUANTIZED,
    "nn.quantized": _QUANTIZED,
    "nn.utils._expanded_weights": "gradients of single samples come from torch.func.vmap of torch.func.grad",
    "nn.utils._per_sample_grad": "gradients of single samples come from torch.func.vmap of torch.func.grad",
    "numa": "processes are not bound to parts of the machine",
    "onnx": _EXPORTED,
    "package": "programs are not packaged; save the state_dict with torch.save, and install the program's source",
    "profiler._memory_profiler": "profiles have no memory by category; profile(profile_memory=True) has it by operator",
    "profiler._pattern_matcher": "profiles are not searched; torch.profiler.profile lists what took the time",
    "profiler._utils": "profiles have no tree of events; torch.profiler.profile lists what took the time",
    "quantization": _QUANTIZED,
    "sparse._triton_ops": _TRITON,
    "sparse._triton_ops_meta": _TRITON,
    "testing._internal": "PyTorch's own tests are not here; torch.testing has assert_close and make_tensor",
    "utils._appending_byte_serializer": _COMPILED,
    "utils._config_module": _COMPILED,
    "utils._import_utils": "optional packages are imported where they are used",
    "utils._traceback": "tracebacks are Python's own; use the module traceback",
    "utils._triton": _TRITON,
    "utils.bundled_inputs": _EXPORTED,
    "utils.cpp_extension": "there is no C++ library; write a torch.autograd.Function or torch.library.custom_op",
    "utils.data.datapipes": _DATAPIPES,
    "utils.data.graph_settings": _DATAPIPES,
    "utils.mobile_optimizer": _EXPORTED,
}
# Names in modules that are here, and modules that cannot be imported.
NAMES: dict[str, str] = {
    "jit._get_trace_graph": "there is no TorchScript; torch.fx.symbolic_trace gives a graph, and "
        "torch.utils.flop_counter.FlopCounterMode counts operations",
    "cpp": "there is no C++ library underneath; everything is Python over NumPy",
    "utils.ThroughputBenchmark": "scripted modules are not timed; torch.utils.benchmark.Timer times Python",
    "utils.data.IterDataPipe": _DATAPIPES,
    "utils.data.MapDataPipe": _DATAPIPES,
    "utils.data.functional_datapipe": _DATAPIPES,
    "utils.collect_env": "`wengert doctor` says what is installed",
    **dict.fromkeys(("sparse.SparseSemiStructuredTensor", "sparse.SparseSemiStructuredTensorCUSPARSELT",
        "sparse.SparseSemiStructuredTensorCUTLASS", "sparse.to_sparse_semi_structured"), _NO_CUDA),
    "serialization.SourceChangeWarning": "modules are not saved with their source; save the state_dict",
    "_C.ScriptObject": _SCRIPTED,
    **dict.fromkeys(("PyTorchFileReader", "PyTorchFileWriter"), "torch.load and torch.save read and write files"),
    "saddmm": "use torch.sparse.addmm",
    **dict.fromkeys(("_scaled_mm", "_scaled_grouped_mm", "nn.functional.scaled_mm", "nn.functional.scaled_grouped_mm",
        "nn.functional.ScalingType", "nn.functional.SwizzleType"), _SCALED),
    **dict.fromkeys(("_grouped_mm", "nn.functional.grouped_mm"), _GROUPED),
    "is_distributed": "tensors are in this process alone",
    "init_num_threads": "use torch.set_num_threads",
    **{f"cuda.{n}": _NO_CUDA for n in (
        "Device", "graphs", "reset_peak_host_memory_stats")},
}
# ... of which there are many: of one kind, by their spelling; and in one module, the rest.
_KINDS = (
    (r"\w*[qQ]uantize[drs]?(_\w+)?|q_\w+|fbgemm_\w+|int_repr|qscheme|per_(tensor|channel)_\w+", _QUANTIZED),
    (r"choose_qparams\w*|fused_moving_avg\w*", _QUANTIZED),
    (r"QU?Int\w+", _QUANTIZED),
    (r"(cudnn|miopen|mkldnn)_\w+|to_mkldnn",
        "kernels of other libraries are not here; call the operator itself (conv2d, batch_norm ...)"),
    (r"align_(to|as|tensors)|refine_names|rename_?|names|has_names", "dimensions have no names, as in PyTorch 2.13"),
    (r"\w+_(ipu|xla)_\w+", "there is no such device; everything runs on the CPU"),
    (r"Script(Class|Dict|List|Method|Object)\w*|\w*Type|Gradient|SUM|AVG|Graph|Node|Block|Value|Argument",
        _SCRIPTED),
    (r"AliasDb|CompilationUnit|parse_ir|import_ir_\w+", _SCRIPTED),
)
_REST = {"cuda": _NO_CUDA, "jit": _SCRIPTED, "onnx": _EXPORTED, "compiler": _COMPILED, "_dynamo": _COMPILED}


def area(module: str) -> str | None:
    """The reason why ``module``, a name below ``torch``, has nothing behind it; None if it is not in such an area."""
    while module and module not in AREAS:
        module = module.rpartition(".")[0]
    return AREAS.get(module)


def reason(module: str, name: str) -> str | None:
    """Why there is no ``torch.module.name``, and what there is instead; None if that is not listed.

    >>> reason("", "package")
    "programs are not packaged; save the state_dict with torch.save, and install the program's source"
    """
    full = f"{module}.{name}".lstrip(".")
    found = NAMES.get(full) or AREAS.get(full)
    if found is None and module in ("", "nn", "ao"):
        found = next((why for pattern, why in _KINDS if re.fullmatch(pattern, name)), None)
    return found


def distance(a: str, b: str) -> int:
    """How many letters to insert, leave out, replace or exchange with their neighbour to make one word of the other.

    >>> distance("rleu", "relu"), distance("zeroes", "zeros"), distance("fx", "fix")
    (1, 1, 1)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def nearest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The names among ``known`` that ``name`` could be a slip for, the best first: one letter in seven may be wrong.

    >>> nearest("rleu", ["relu", "gelu", "conv2d"])
    ['relu']
    >>> nearest("fx", ["fix", "f"])
    []
    """
    word = name.lower()
    allowed = 0 if len(word) < 3 else 1 + len(word) // 7
    letters = set(word)
    found = []
    for candidate in known:
        other = candidate.lower()
        if (candidate.startswith("_") or abs(len(other) - len(word)) > allowed
                or (len(word) < 5 and other[:1] != word[:1])  # a short word with another beginning is another word
                or len(letters.symmetric_difference(other)) > 2 * allowed):  # a slip changes at most two letters
            continue
        if (far := distance(word, other)) <= allowed:
            found.append((far, candidate))
    return [candidate for _, candidate in sorted(found)[:limit]]


def hint(name: str, known: Iterable[str], module: str = "") -> str:
    """A clause to put after "there is no such name": the reason, a name among ``known``, or an empty string.

    ``module``: where it was looked for, a module below ``torch``.

    >>> hint("rleu", ["relu", "conv2d"])
    "; there is 'relu'"
    """
    if why := reason(module, name):
        return f": {why}"
    if names := nearest(name, known):
        return f"; there is {' and '.join(map(repr, names))}"
    why = _REST.get(module) or area(module)
    return f": {why}" if why else ""


def missing(module: ModuleType, name: str, known: Iterable[str] | None = None) -> AttributeError:
    """The error that a module's ``__getattr__`` raises for an unknown name; ``known``: names to suggest from.

    >>> import wengert.nn.init
    >>> missing(wengert.nn.init, "zeroes_", ["zeros_", "eye_"])
    AttributeError("module 'wengert.nn.init' has no attribute 'zeroes_'; there is 'zeros_'")
    """
    ours, _, rest = module.__name__.partition(".")
    rest = known_as(rest)
    if sys.modules.get(THEIRS) is sys.modules.get(ours):  # the program imports us by that name
        ours = THEIRS
    full = f"{ours}.{rest}".rstrip(".")
    text = f"module {full!r} has no attribute {name!r}"
    # A dunder is looked up by Python itself, which does not show the message.
    if not name.startswith("__"):
        text += hint(name, dir(module) if known is None else known, rest)
    return AttributeError(text, name=name)


def missing_from(module: str) -> Callable[[str], NoReturn]:
    """The ``__getattr__`` of a module that has no other names than those in it."""

    def refuse(name: str) -> NoReturn:
        raise missing(sys.modules[module], name)

    return refuse


def submodules(package: str) -> list[str]:
    """The names of a package's submodules, whether they are imported or not, without packages that only we have."""
    names = _in_folders(tuple(getattr(sys.modules.get(package), "__path__", ())))
    return [name for name in names if package != OURS or name not in PRIVATE]


@cache
def _in_folders(path: tuple[str, ...]) -> list[str]:
    return [module.name for module in iter_modules(path)]
