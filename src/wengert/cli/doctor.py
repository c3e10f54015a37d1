"""``wengert doctor``: what is installed and in use, what is missing, and the extra that brings it."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

USAGE = """\
usage: wengert doctor

Say which versions, BLAS, threads and instruction set are in use, what is missing, and the extra that brings it.
The exit code is 1 if something needs attention (a line that begins with "!"), 0 otherwise.
"""
# Extras for those who work on wengert itself.
_OURS = ("test", "parity", "bench", "dev", "docs")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "WENGERT_NUM_THREADS")
_HELD = ("WENGERT_NATIVE", "WENGERT_ISA", "OPENBLAS_CORETYPE")


class Line(NamedTuple):
    """A fact; ``mark`` is "!" if something should be done, "-" if an optional part is not there, else a space."""

    mark: str
    what: str
    text: str


def main(args: Sequence[str]) -> int:
    """Print the facts."""
    if args:
        known = args[0] in ("-h", "--help")
        print(USAGE if known else f"wengert doctor: no argument {args[0]!r}\n\n{USAGE}", end="",
            file=sys.stdout if known else sys.stderr)
        return 0 if known else 2
    lines = [*_versions(), *_computing(), *_extras(), *_beside()]
    width = max(len(line.what) for line in lines)
    for line in lines:
        print(f"{line.mark} {line.what:<{width}}  {line.text}".rstrip())
    return int(any(line.mark == "!" for line in lines))


def _versions() -> Iterator[Line]:
    from .._version import __version__
    from ..version import __version__ as surface

    package = Path(__file__).resolve().parent.parent
    yield Line(" ", "wengert", f"{__version__} (PyTorch surface {surface.partition('+')[0]}) in {package}")
    yield Line(" ", "Python", f"{platform.python_version()} ({platform.system()} {platform.machine()})")
    for name, needed in _requirements():
        version = _version(name)
        least = re.search(r">=\s*([\d.]+)", needed)
        if version is None:
            yield Line("!", name, f"is missing: pip install '{name}{needed}'")
        elif least and _numbers(version) < _numbers(least[1]):
            yield Line("!", name, f"{version} is too old: pip install '{name}{needed}'")
        else:
            yield Line(" ", name, version)


def _computing() -> Iterator[Line]:
    from ..arrays import kernels, threads

    yield Line(" ", "BLAS", _blas())
    if kernels.available:
        from ..arrays import native

        yield Line(" ", "native extension", f"instruction set {native.instruction_set}, "
            f"{threads.get()} of {os.cpu_count()} processors")
    elif os.environ.get("WENGERT_NATIVE") == "0":
        yield Line("-", "native extension", "switched off by WENGERT_NATIVE=0; NumPy does its work, slower")
    else:
        built = util.find_spec("wengert.arrays._kernels") is not None
        yield Line("!", "native extension", "cannot be used as it was built: install again" if built else
            "was not built: install a C compiler, then wengert again; until then NumPy does its work, slower")
    held = [f"{name}={os.environ[name]}" for name in (*_THREADS, *_HELD) if name in os.environ]
    if held:
        yield Line(" ", "environment", " ".join(held))


def _blas() -> str:
    """NumPy's BLAS, the kernels that it has chosen, and its threads."""
    import numpy as np

    found = (np.show_config(mode="dicts") or {}).get("Build Dependencies", {}).get("blas", {})
    parts = [f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()]
    for path in _libraries():
        parts += _openblas(str(path))
    return ", ".join(parts)


def _libraries() -> list[Path]:
    """The OpenBLAS that NumPy's wheel has brought: beside the package, or in it on macOS."""
    import numpy as np

    package = Path(np.__file__).parent
    return sorted((*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")))


def _openblas(path: str) -> list[str]:
    """What an OpenBLAS that NumPy has loaded says of itself; it has other names in each build."""
    import ctypes

    try:
        library = ctypes.CDLL(path)
    except OSError:
        return []
    for prefix in ("scipy_openblas_", "openblas_"):
        for suffix in ("64_", ""):
            count, core = (getattr(library, f"{prefix}{name}{suffix}", None) for name in (
                "get_num_threads", "get_corename"))
            if count is not None and core is not None:
                core.restype = ctypes.c_char_p
                threads = count()
                return [f"kernels for {core().decode()}", f"{threads} thread{'s' * (threads != 1)}"]
    return []


def _extras() -> Iterator[Line]:
    by_extra: dict[str, list[str]] = {}
    for name, _, extra in _all_requirements():
        if extra and extra not in _OURS:
            by_extra.setdefault(extra, []).append(name)
    for extra, names in by_extra.items():
        versions = {name: _version(name) for name in names}
        missing = [name for name, version in versions.items() if version is None]
        if missing:
            yield Line("-", extra, f"{', '.join(missing)} missing: pip install 'wengert[{extra}]'")
        else:
            yield Line(" ", extra, ", ".join(f"{name} {version}" for name, version in versions.items()))


def _beside() -> Iterator[Line]:
    theirs = _version("torch")
    if theirs is not None:
        yield Line(" ", "PyTorch", f"{theirs} is installed, too: `python` runs scripts on it, `wengert run` on wengert")


def _requirements() -> list[tuple[str, str]]:
    """What the package cannot do without, and the versions of it."""
    found = [(name, needed) for name, needed, extra in _all_requirements() if not extra]
    return found or [("numpy", ""), ("ml_dtypes", "")]  # a source tree that is not installed


def _all_requirements() -> list[tuple[str, str, str]]:
    """Name, versions and extra of each requirement in the metadata of the installed package."""
    try:
        rows = metadata.requires("wengert") or []
    except metadata.PackageNotFoundError:
        return []
    found = []
    for row in rows:
        parts = re.fullmatch(r"([\w.-]+)(?:\[[\w,]*\])?\s*([^;]*?)\s*(?:;.*extra\s*==\s*['\"](\w+)['\"].*)?", row)
        if parts:
            found.append((parts[1], parts[2], parts[3] or ""))
    return found


def _version(name: str) -> str | None:
    """The version of an installed distribution; None if it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
