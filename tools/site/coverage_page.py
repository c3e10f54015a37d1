"""The page that compares the public names: which of PyTorch's are here, and why the others are not.

``python tools/site/coverage_page.py`` prints it.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import names  # noqa: E402

# What the package itself gives no reason for, on use: the whole name, why. The first that fits is it.
REASONS = (
    (r"torch\.(xpu|mtia|mps|accelerator)\b.*", "there is no such device; everything runs on the CPU"),
    (r"torch\.backends\.(cuda|cudnn|cusparselt|kleidiai|mha|miopen|nnpack|xeon|xnnpack|mps|mkl|python_native)\b.*",
        "settings of libraries that do not take part; BLAS is NumPy's, kernels are the package's own"),
    (r"torch\.cuda\..*", "there is no CUDA device; everything runs on the CPU"),
    (r"torch\.Tensor\.(ipu|xpu|is_vulkan|vulkan|is_mtia|mtia|is_distributed)",
        "there is no such device; everything runs on the CPU"),
    (r"torch\.(Tensor\.)?(dequantize|int_repr|qscheme|q_\w+)",
        "numbers are not quantized; torch.fake_quantize_per_tensor_affine rounds as quantization would"),
    (r"torch\.Tensor\.to_mkldnn|torch\.utils\.mkldnn\b.*", "tensors have no layout of oneDNN's; use them as they are"),
    (r"torch\.Tensor\.(index|name|const_data_ptr|to_padded_tensor)|torch\.Tensor\.slice_inverse|torch\.slice_inverse",
        "undocumented names of the binding, with other ways in: indexing, data_ptr(), torch.nested.to_padded_tensor"),
    (r"torch\.(Tensor\.)?(smm|sspaddmm|sparse_resize_\w*|resize_as_sparse_)|torch\.sparse\.solve",
        "not done for sparse tensors; torch.sparse.mm and torch.sparse.addmm multiply, to_sparse and to_dense convert"),
    (r"torch\.batch_norm_\w+", "steps of synchronised batch norm between processes, which there are none of"),
    (r"torch\.sym_\w+", "sizes are numbers here, not symbols"),
    (r"torch\.(native_norm)", "an inner step of PyTorch's; torch.norm and torch.linalg.vector_norm are here"),
    (r"torch\.(fork|wait|merge_type_from_type_comment|parse_\w+|unify_type_list|bit)|torch\.jit\b.*|"
        r"torch\.utils\.jit\b.*|torch\.(ArgumentSpec|Benchmark\w+|BufferDict|CallStack|Capsule|Code|"
        r"CompleteArgumentSpec|ConcreteModule\w+|DeepCopyMemoTable|\w+StorageContext|ErrorReport|ExecutionPlan|"
        r"FatalError|FileCheck|FunctionSchema|GraphExecutorState|IODescriptor|JITException|LiteScriptModule|"
        r"LockingLogger|ModuleDict|NoopLogger|OperatorInfo|ParameterDict|ScriptModuleSerializer|StaticModule|"
        r"TracingState|Use)",
        "there is no TorchScript; torch.jit.script and torch.jit.trace give the Python function or module itself"),
    (r"torch\.(DisableTorchFunction\w*|DispatchKey\w*|ExcludeDispatchKeyGuard)",
        "there is no dispatcher that could be asked; torch.overrides and torch.library have the public ways"),
    (r"torch\.(utils\.)?(throughput_benchmark\b.*|ThroughputBenchmark)",
        "scripted modules are not timed; torch.utils.benchmark.Timer times Python"),
    (r"torch\.distributed\b.*",
        "this part of torch.distributed is not here; process groups and collectives are"),
    (r"torch\.nn\.parallel\b.*", "there is one device; nn.DataParallel wraps a module and runs it there"),
    (r"torch\.(contrib|nativert)\b.*|torch\.utils\.(hipify|model_dump|show_pickle|backcompat|backend_registration|"
        r"cpp_backtrace|file_baton|viz|debug_log|serialization)\b.*|torch\.utils\.(set_module|get_cpp_backtrace|"
        r"(generate_methods_for|rename)_privateuse1_backend)|torch\.nn\.(backends|cpp)\b.*",
        "tools of PyTorch's own build, of its C++ library or of its old versions"),
    (r"torch\.utils\.benchmark\b.*",
        "Timer, Compare and Measurement are here; fuzzers, Callgrind and compiled loops are not"),
    (r"torch\.utils\.data\b.*", "there are no data pipes; use Dataset, IterableDataset and DataLoader"),
    (r"torch\.fx\b.*", "this part of torch.fx is not here; torch.fx.symbolic_trace and "
        "experimental.proxy_tensor.make_fx trace"),
    (r"torch\.optim\.\w+\.\w+", "the step of an optimizer is its class's; there is no function of the same work"),
    (r"torch\.autograd\.(profiler\w*)\b.*", "the profiler of old; torch.profiler.profile measures"),
    (r"torch\.nn\.attention\b.*",
        "kernels cannot be chosen by name; scaled_dot_product_attention and flex_attention run"),
    (r"torch\.multiprocessing\b.*", "Python's own; torch.multiprocessing's queues take tensors"),
    (r"torch\.sparse\.semi_structured\b.*", "there is no CUDA device; everything runs on the CPU"),
    (r"torch\.serialization\.\w+",
        "files are read without calling registered code; torch.save and torch.load are here"),
    (r"torch\.autograd\.(gradcheck|variable)\.\w+|torch\.functional\.\w+|torch\.fft\.Tensor|torch\.nn\.factory_kwargs|"
        r"torch\.nn\.functional\.assert_int_or_pair|torch\.return_types\.pytree_register_structseq|"
        r"torch\.utils\.dlpack\.DLDeviceType|torch\.cpu\.\w+|torch\.amp\.autocast_mode\.autocast_decorator|"
        r"torch\.profiler\.python_tracer", "helpers of PyTorch's own files that carry no underscore"),
)
HEAD = """\
# Coverage: PyTorch's public names

PyTorch {version} has {total} public names: what modules without an underscore in their path have in `__all__`, or
define where they have none (there or below), those modules themselves, and the members of `torch.Tensor`. Under
`wengert run`, {here} of them are here; {named} are names alone, which can be imported, annotated with and asked for by
`isinstance`, and say on use why they refuse; {missing} are missing. Whole areas decide the figure: without {areas}
it is {rest:.0%}.
Made at each build of these pages from `tools/site/names.txt` and the package; the [census](census.md) says which of
the names libraries use.

## By area

| area | public names | here | names alone | missing |
|---|---|---|---|---|
"""
# Areas that are not here as a whole (see the page).
LARGE = ("torch.ao", "torch.distributed", "torch.onnx", "torch.export", "torch.jit", "torch.package")


@cache
def found() -> dict[str, tuple[str, str]]:
    """Every public name: whether it is here ("=", "~", "-"), and why not."""
    import census

    listed = [name for module, rows in names.stored().items() for name in (module, *(f"{module}.{n}" for n in rows))]
    return {name: (state, "" if state == "=" else why or reason(name)) for name, (state, why) in census.states(
        list(dict.fromkeys(listed))).items()}


def reason(full: str) -> str:
    """Why ``full`` is not here: what the package says of it or of the modules above it, or what is listed here."""
    from wengert.names import missing

    parts = full.split(".")[1:]
    for end in range(len(parts), 0, -1):
        said = missing.reason(".".join(parts[: end - 1]), parts[end - 1])
        if said:
            return said
    return next((why for pattern, why in REASONS if re.fullmatch(pattern, full)), "")


def area(name: str) -> str:
    """The area of a name: the first two parts of its path where that is a module."""
    parts = name.split(".")
    first = ".".join(parts[:2])
    return first if first in names.stored() else "torch"


def page() -> str:
    """The page."""
    from wengert.torch_version import __version__

    by_area: dict[str, dict[str, str]] = defaultdict(dict)
    for name, (state, _) in found().items():
        by_area[area(name)][name] = state
    states = [state for state, _ in found().values()]
    rest = [state for name, (state, _) in found().items() if area(name) not in LARGE]
    lines = [HEAD.format(version=__version__.partition("+")[0], total=len(states), here=states.count("="),
        named=states.count("~"), missing=states.count("-"), rest=rest.count("=") / len(rest),
        areas=", ".join(f"`{name}`" for name in LARGE)).rstrip("\n")]
    for name, rows in sorted(by_area.items(), key=lambda kv: -len(kv[1])):
        count = list(rows.values()).count
        gone = len(rows) - count("=")
        shown = f"[{name}](#{anchor(name)})" if gone else name
        lines.append(f"| {shown} | {len(rows)} | {count('=')} | {count('~')} | {count('-')} |")
    lines += ["", "## What is not here, and why", "", "Names alone are in *italics*.", ""]
    for name, rows in sorted(by_area.items()):
        if any(state != "=" for state in rows.values()):
            lines += section(name, rows)
    return "\n".join(lines) + "\n"


def anchor(name: str) -> str:
    return "not-" + name.replace(".", "-")


def section(name: str, rows: dict[str, str]) -> list[str]:
    """What is not here of an area, by reason; modules of which nothing is here stand for what is in them."""
    gone = {full: state for full, state in rows.items() if state != "="}
    whole = [full for full in gone
        if full in names.stored() and all(f"{full}.{n}" in gone for n in names.stored()[full])]
    by_reason: dict[str, list[str]] = defaultdict(list)
    count: dict[str, int] = defaultdict(int)
    for full, state in gone.items():
        why = found()[full][1]
        count[why] += 1
        if not any(full.startswith(f"{module}.") for module in whole):
            inside = sum(other.startswith(f"{full}.") for other in gone)
            shown = f"`{full}`" + (f" and its {inside}" if inside else "")
            by_reason[why].append(f"*{shown}*" if state == "~" else shown)
        elif why not in by_reason:
            by_reason[why] = []
    lines = [f"### {name} {{ #{anchor(name)} }}", ""]
    for why in sorted(by_reason, key=lambda why: -count[why]):
        lines += [f"**{why[:1].upper()}{why[1:]}** ({count[why]}). {', '.join(by_reason[why])}".rstrip(), ""]
    return lines


if __name__ == "__main__":
    print(page())
