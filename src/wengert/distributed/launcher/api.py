"""``elastic_launch``: call a function in several processes, which are watched as ``torchrun`` watches its workers."""

from __future__ import annotations

import os
import pickle
import tempfile
from dataclasses import dataclass, field
from multiprocessing import spawn
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from ..elastic.multiprocessing.errors import ChildFailedError
from ..run import get_args_parser, run

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


@dataclass
class LaunchConfig:
    """How the processes are started; the fields are the options of ``torchrun``. Unnamed ones change nothing here.

    >>> from wengert.distributed.launcher.api import LaunchConfig
    >>> LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2).max_restarts
    3
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int = 30

    def options(self) -> list[str]:
        """The same as options of ``torchrun``."""
        settings = {k: v for k, v in self.rdzv_configs.items() if k != "rank"}
        if self.rdzv_timeout > 0:
            settings["timeout"] = self.rdzv_timeout
        row = [f"--nnodes={self.min_nodes}:{self.max_nodes}", f"--nproc-per-node={self.nproc_per_node}",
            f"--max-restarts={self.max_restarts}", f"--role={self.role}", f"--rdzv-id={self.run_id or 'none'}",
            f"--rdzv-conf={','.join(f'{k}={v}' for k, v in settings.items())}",
            f"--node-rank={self.rdzv_configs.get('rank', 0)}"]
        if self.max_nodes == 1 and (not self.rdzv_endpoint or self.rdzv_endpoint.endswith(":0")):
            return [*row, "--standalone"]
        backend = self.rdzv_backend if self.rdzv_backend == "static" else "c10d"
        return [*row, f"--rdzv-backend={backend}", f"--rdzv-endpoint={self.rdzv_endpoint}"]


class elastic_launch:
    """``elastic_launch(config, function)(*args)``: the results of the processes on this node, by their ranks.

    The function stands at the top level of a module or of the program. A command (a string) is started instead, with
    the arguments; it has no results. ``ChildFailedError`` says which ranks have failed.

    >>> from wengert.distributed.launcher.api import LaunchConfig, elastic_launch
    >>> callable(elastic_launch(LaunchConfig(1, 1, 2), max))
    True
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: list[Any]) -> dict[int, Any]:
    """What ``elastic_launch`` calls."""
    parser = get_args_parser()
    if isinstance(entrypoint, str):
        run(parser.parse_args([*config.options(), "--no-python", entrypoint, *map(str, args)]))
        return {}
    if entrypoint is None:
        raise ValueError("launch_agent() needs a function or a command")
    with tempfile.TemporaryDirectory(prefix="wengert-launch-") as folder:
        _write(folder, entrypoint, args)
        options = [*config.options(), "-m", f"{__package__}._worker", folder]
        return _called(parser.parse_args(options), folder, getattr(entrypoint, "__qualname__", str(entrypoint)))


def _write(folder: str, function: Callable[..., Any], args: list[Any]) -> None:
    """What a worker needs: how to find the program's functions, as ``multiprocessing`` says it, then the call."""
    preparation = spawn.get_preparation_data("worker")
    preparation.pop("authkey", None)  # which is not for files
    with open(os.path.join(folder, "call"), "wb") as file:
        for part in (preparation, (function, tuple(args))):
            file.write(ForkingPickler.dumps(part))


def _called(args: argparse.Namespace, folder: str, name: str) -> dict[int, Any]:
    try:
        run(args)
    except ChildFailedError as error:
        raise ChildFailedError(name, error.failures) from None
    found: dict[int, Any] = {}
    for file in os.listdir(folder):
        if file.startswith("result"):
            with open(os.path.join(folder, file), "rb") as stream:
                found[int(file.removeprefix("result"))] = pickle.load(stream)
    return dict(sorted(found.items()))
