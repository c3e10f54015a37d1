"""What the figures depend on besides the code: the processor, and the instructions that the libraries of both sides
use.

``python -m benchmarks.machine`` prints it in one line, ``--identity`` the part that the machine itself decides.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

#: Variables that hold OpenBLAS, MKL and oneDNN, which both libraries leave products to, to fewer instructions than the
#: processor has; and their values for AVX2.
HELD = {"OPENBLAS_CORETYPE": "Haswell", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
#: Others that hold something of theirs, of which a machine's environment may have some.
OTHERS = ("MKL_CBWR", "MKL_DEBUG_CPU_TYPE", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "WENGERT_ISA")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "WENGERT_NUM_THREADS")
BLAS = ("unrestricted", "avx2")


def environment(threads: int, blas: str) -> dict[str, str]:
    """The environment of a measurement: so many threads, and BLAS unrestricted, whatever this one says, or held to
    AVX2.
    """
    kept = {k: v for k, v in os.environ.items() if k not in HELD and k not in OTHERS}
    return {**kept, **dict.fromkeys(THREADS, str(threads)), **(HELD if blas == "avx2" else {})}


def processor() -> str:
    """The name of the processor's model."""
    names = [line.partition(":")[2].strip() for line in _lines() if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.processor() or platform.machine()


def identity() -> str:
    """The processor, the instruction set of the native kernels and the generation: machines that share them have like
    ratios.

    A virtual machine may hide instructions of its processor, and the generation in its name, so that the name alone
    does not tell.
    """
    return f"{processor()}, {_kernels()}{_generation()}"


def describe() -> str:
    """The processor, the instruction set of the native kernels, NumPy's BLAS and PyTorch's, where those tell."""
    import numpy as np

    import wengert

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    parts = [processor(), f"wengert {wengert.__version__} ({_kernels()})"]
    parts.append(f"NumPy {np.__version__} ({blas['name']} {blas['version']}{_architecture()})")
    try:
        import torch
    except ImportError:
        return "; ".join(parts)
    library = "MKL" if torch.backends.mkl.is_available() else "other BLAS"
    return "; ".join([*parts, f"PyTorch {torch.__version__} ({library}, {torch.backends.cpu.get_cpu_capability()})"])


def _generation() -> str:
    """The family and model that the processor gives itself: of one name, one may have twice the units of another."""
    found = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in _lines())}
    return f", family {found['cpu family']} model {found['model']}" if "cpu family" in found else ""


def _lines() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


def _kernels() -> str:
    from wengert.arrays import kernels

    if not kernels.available:
        return "no native kernels"
    from wengert.arrays import native

    return native.instruction_set


def _architecture() -> str:
    """Which kernels NumPy's OpenBLAS has chosen, where threadpoolctl is there to ask."""
    try:
        import threadpoolctl
    except ImportError:
        return ""
    return "".join(f", {pool['architecture']}" for pool in threadpoolctl.threadpool_info()
        if pool.get("internal_api") == "openblas")


def as_measured(threads: int, blas: str, *, only_identity: bool = False) -> str:
    """The description, or only the identity, as the process of a measurement finds it."""
    command = [sys.executable, "-m", "benchmarks.machine", *(["--identity"] if only_identity else [])]
    return subprocess.run(command, env=environment(threads, blas), capture_output=True, text=True,
        check=True).stdout.strip()


if __name__ == "__main__":
    print(identity() if "--identity" in sys.argv else describe())
