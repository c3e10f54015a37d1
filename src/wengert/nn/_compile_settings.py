"""The settings of ``torch.compile`` and ``Module.compile``: which are refused, and which have no effect."""

from __future__ import annotations

from typing import Any

from ..arrays.errors import warn_once

BACKENDS = ("cudagraphs", "inductor", "openxla", "tvm")
DEBUG_BACKENDS = ("aot_eager", "aot_eager_decomp_partition", "aot_eager_default_partitioner", "aot_ts", "eager",
    "eager_debug", "eager_noexcept", "onnxrt", "pre_dispatch_eager", "ts")
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
# What each setting is here, so that nothing is said of it; and those that are about compiling alone.
_HERE: dict[str, Any] = {"fullgraph": False, "dynamic": None, "mode": "default", "options": {}, "backend": "eager"}
_QUIET = ("name", "disable", "recompile_limit", "isolate_recompiles", "shapes_spec")


def check_settings(**settings: Any) -> None:
    """Refuse what PyTorch refuses; see ``torch.compile``."""
    for name in settings:
        if name not in _HERE and name not in _QUIET:
            raise TypeError(f"compile() got an unexpected keyword argument '{name}'")
    backend, mode, options = (settings.get(name) for name in ("backend", "mode", "options"))
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if isinstance(backend, str) and backend not in BACKENDS + DEBUG_BACKENDS:
        from ..compat._dynamo.exc import InvalidBackend

        raise InvalidBackend(backend)
    if not (backend is None or isinstance(backend, str) or callable(backend)):
        raise TypeError(f"compile(): argument 'backend' must be str or a function, not {type(backend).__name__}")
    if not (options is None or isinstance(options, dict)):
        raise TypeError(f"compile(): argument 'options' must be dict, not {type(options).__name__}")


def say_what_is_ignored(**settings: Any) -> None:
    """Warn of the settings that were given, once for each choice of them: nothing is compiled."""
    given = {k: v for k, v in settings.items() if k in _HERE and v is not None and v != _HERE[k]}
    if given:
        shown = ", ".join(f"{name}={getattr(value, '__name__', repr(value))}" for name, value in given.items())
        backend = "; the backend is not called" if callable(given.get("backend")) else ""
        warn_once("torch.compile: nothing is compiled here, the model runs eagerly and computes the same; without "
            f"effect: {shown}{backend}", key=f"torch.compile: {sorted(given)}{backend}")
