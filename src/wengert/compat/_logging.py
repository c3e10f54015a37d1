"""``torch._logging``: which components log, chosen by ``set_logs`` or by ``TORCH_LOGS`` in the environment.

One component logs: ``autograd``, each node of a backward before it runs (at the level DEBUG). PyTorch's
other names belong to its compilers, which are not here; they are accepted, and stay silent.

>>> import logging, wengert as torch
>>> torch._logging.set_logs(autograd=logging.DEBUG)      # or TORCH_LOGS="+autograd"
>>> torch._logging.set_logs()                            # silent again
"""

from __future__ import annotations

import logging
import os
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ..graph import engine

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["set_logs", "warning_once"]

LOGS = {"autograd": "torch.autograd", "torch": "torch"}
_SILENT = frozenset(("aot", "async_compile", "c10d", "cache", "ddp", "distributed", "dtensor", "dynamic", "dynamo",
    "export", "fake_tensor", "fsdp", "inductor", "native_dsl", "onnx", "pp", "aot_graphs", "aot_joint_graph",
    "autotuning", "benchmarking", "bytecode", "caching", "compiled_autograd", "compiled_autograd_verbose",
    "compute_dependencies", "cudagraph_static_inputs", "cudagraphs", "ddp_graphs", "fusion", "graph", "graph_breaks",
    "graph_code", "graph_code_verbose", "graph_region_expansion", "graph_sizes", "guards", "hierarchical_compile",
    "incremental", "inductor_metrics", "ir_post_fusion", "ir_pre_fusion", "kernel_code", "onnx_diagnostics",
    "output_code", "overlap", "perf_hints", "post_grad_graphs", "pre_grad_graphs", "recompiles", "recompiles_verbose",
    "schedule", "side_effects", "sym_node", "trace_bytecode", "trace_call", "trace_source"))
_SHORT = {"float": "f", "int": "i", "complex": "c", "uint": "u", "bfloat": "bf"}
_levels: dict[str, int] = {}  # by the names of loggers
_handlers: dict[str, logging.Handler] = {}
_log = logging.getLogger("torch.autograd.graph")


def set_logs(*, all: int | None = None, modules: dict[str, int | bool] | None = None, **names: Any) -> None:
    """Log from these parts at these levels (``logging.DEBUG`` …), and from no others.

    ``all``: every part. ``modules``: by the full names of loggers. The variable ``TORCH_LOGS`` wins over calls. Raises
    ``TypeError`` for a part that there is not, ``ValueError`` for what is no level.
    """
    if "TORCH_LOGS" in os.environ:
        _log.warning("Using TORCH_LOGS environment variable for log settings, ignoring call to set_logs")
        return
    levels: dict[str, int] = {}
    for name, level in {"torch": all, **names, **(modules or {})}.items():
        if level is None or name in _SILENT:
            continue
        if name not in LOGS and name not in (modules or {}):
            raise TypeError(f"set_logs() got an unexpected keyword argument {name!r}")
        if level is not True and level is not False and level not in logging._levelToName:
            raise ValueError(f"Unrecognized log level for log {name}: {level}, valid level values are: "
                f"{','.join(map(str, logging._levelToName))}")
        if level is not False:
            levels[LOGS.get(name, name)] = logging.DEBUG if level is True else level
    _apply(levels)


def _init_logs() -> None:
    """Follow ``TORCH_LOGS``: names with commas between, ``+`` before one for DEBUG, ``-`` for ERROR, else INFO."""
    settings = os.environ.get("TORCH_LOGS")
    if settings is None:
        _apply(_levels)
        return
    levels: dict[str, int] = {}
    for word in re.sub(r"\s+", "", settings).split(","):
        name = word.lstrip("+-")
        if not word or name in _SILENT:
            continue
        known = "torch" if name == "all" else name
        if known not in LOGS and "." not in known:
            raise ValueError(f"Invalid log settings: {settings}, must be a comma separated list of fully qualified "
                f"module names or of {sorted(LOGS)}")
        levels[LOGS.get(known, known)] = {"+": logging.DEBUG, "-": logging.ERROR}.get(word[0], logging.INFO)
    _apply(levels)


def _apply(levels: dict[str, int]) -> None:
    global _levels
    for name, handler in _handlers.items():
        logger = logging.getLogger(name)
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
        logger.propagate = True
    _handlers.clear()
    _levels = levels
    for name, level in levels.items():
        logger, handler = logging.getLogger(name), logging.StreamHandler()
        handler.setFormatter(_Format())
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
        _handlers[name] = handler
    engine.listener = _attend if _log.getEffectiveLevel() <= logging.DEBUG else None


class _Format(logging.Formatter):
    """``V1121 15:57:21.477000 25425 graph.py:955] message``."""

    def format(self, record: logging.LogRecord) -> str:
        letter = {"DEBUG": "V", "INFO": "I", "WARNING": "W", "ERROR": "E", "CRITICAL": "C"}.get(record.levelname,
            record.levelname)
        when = f"{self.formatTime(record, '%m%d %H:%M:%S')}.{int(record.msecs * 1000):06d}"
        head = f"{letter}{when} {record.process} {record.name.replace('.', '/')}.py:{record.lineno}]"
        return "\n".join(f"{head} {line}" for line in record.getMessage().split("\n"))


def _attend(roots: list[tuple[Any, Any]]) -> Callable[[], None]:
    """Have every node below the roots say when it runs; gives what ends that."""
    def log(node: Any, grads: Any) -> None:
        _log.debug("Executing: %s with grad_outputs: [%s]", node, ",".join(map(_brief, grads)))

    nodes = engine.reachable_nodes(edge for edge, _ in roots)
    handles = [node.register_prehook(partial(log, node)) for node in nodes]

    def end() -> None:
        for handle in handles:
            handle.remove()

    return end


def _brief(t: Any) -> str:
    """A gradient in short, ``f32[2, 3]``."""
    if t is None:
        return "None"
    word, bits = re.fullmatch(r"torch\.([a-z]+)(\w*)", str(t.dtype)).groups()  # type: ignore[union-attr]
    return f"{_SHORT.get(word, word[0])}{bits or '8'}[{', '.join(map(str, t.shape))}]"


@cache
def warning_once(logger: logging.Logger, *args: Any, **kwargs: Any) -> None:
    """``logger.warning`` for the first of equal calls."""
    logger.warning(*args, **kwargs)
