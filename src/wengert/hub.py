"""``torch.hub``: models from a folder with a ``hubconf.py``, and weights from an address.

Code is not fetched from the network. A repository is loaded from a folder (``source="local"``), or from where PyTorch
keeps it, ``get_dir()/OWNER_NAME_REF``, if it is there. Weights are fetched, by ``file://`` and by whatever else
``urllib`` knows, and kept; a hash that the file's name ends in can be checked.

>>> import tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "hubconf.py").write_text("from wengert.nn import Linear as line")
>>> torch.hub.list(folder, source="local"), torch.hub.load(folder, "line", 1, 3, source="local")
(['line'], Linear(in_features=1, out_features=3, bias=True))
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import tempfile
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from .names.missing import missing_from
from .serialization import load as _load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

try:
    from tqdm import tqdm
except ImportError:

    class tqdm:  # type: ignore[no-redef]
        """A line on standard error that says how much of a file is here, where the package tqdm is not installed."""

        def __init__(self, total: int | None = None, disable: bool = False, **kwargs: Any) -> None:
            self.total, self.disable, self.n = total, disable, 0

        def update(self, n: int) -> None:
            """``n`` more bytes have come."""
            self.n += n
            if not self.disable:
                share = f"{100 * self.n / self.total:.1f}%" if self.total else f"{self.n} bytes"
                sys.stderr.write(f"\r{share}")

        def __enter__(self) -> tqdm:
            return self

        def __exit__(self, *error: object) -> None:
            if not self.disable:
                sys.stderr.write("\n")


__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024
MODULE_HUBCONF, VAR_DEPENDENCY = "hubconf.py", "dependencies"
_hub_dir: str | None = None


# -- folders ----------------------------------------------------------------------------------------------------------


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of repositories and weights: what :func:`set_dir` was given, else ``hub`` in ``$TORCH_HOME``.

    ``$TORCH_HOME`` is by default ``$XDG_CACHE_HOME/torch``, and that is in ``~/.cache``.
    """
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Let :func:`get_dir` be ``d``; ``~`` is the home folder.

    >>> before = torch.hub.get_dir()
    >>> torch.hub.set_dir("/tmp/models")
    >>> torch.hub.get_dir()
    '/tmp/models'
    >>> torch.hub.set_dir(before)
    """
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


# -- repositories -----------------------------------------------------------------------------------------------------


def _folder(repo: Any, source: str) -> str:
    """Where the files of a repository are."""
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "local":
        return os.fspath(repo)
    owner, slash, name = str(repo).partition("/")
    name, _, ref = name.partition(":")
    if not (slash and owner and name):
        raise ValueError(f"a repository is written OWNER/NAME or OWNER/NAME:REF, got {repo!r}; a folder needs "
            'source="local"')
    places = [os.path.join(get_dir(), f"{owner}_{name}_{r.replace('/', '_')}") for r in (ref and [ref]) or (
        "main", "master")]
    for place in places:
        if os.path.isdir(place):
            return place
    raise RuntimeError(f"torch.hub: code is not fetched from the network. Unpack {repo} to {places[0]}, or give the "
        'folder where it is, with source="local"')


@contextmanager
def _importable(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _import_module(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def _hubconf(folder: str) -> Iterator[ModuleType]:
    """The repository's ``hubconf.py``; inside, modules beside it can be imported."""
    with _importable(folder):
        yield _import_module(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))


def _entry(hubconf: ModuleType, name: Any) -> Any:
    """What the repository offers as ``name``, after a look whether it can run."""
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    needed = getattr(hubconf, VAR_DEPENDENCY, None) or ()
    gone = [package for package in needed if importlib.util.find_spec(package) is None]
    if gone:
        raise RuntimeError(f"Missing dependencies: {', '.join(gone)}")
    found = getattr(hubconf, name, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def _load_local(hubconf_dir: str, model: str, *args: Any, **kwargs: Any) -> Any:
    with _hubconf(hubconf_dir) as hubconf:
        return _entry(hubconf, model)(*args, **kwargs)


def load(repo_or_dir: Any, model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
        force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any) -> Any:
    """What the function ``model`` of a repository's ``hubconf.py`` makes of the further arguments.

    ``source="local"``: ``repo_or_dir`` is a folder; otherwise it is ``OWNER/NAME[:REF]`` and was unpacked before (see
    above). ``trust_repo``, ``force_reload``, ``verbose`` and ``skip_validation`` are about fetching: without effect.
    """
    return _load_local(_folder(repo_or_dir, source), model, *args, **kwargs)


def list(github: Any, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check",
        verbose: bool = True, *, source: str = "github") -> Any:
    """The names of what a repository offers; arguments as of :func:`load`."""
    with _hubconf(_folder(github, source)) as hubconf:
        return [name for name in dir(hubconf) if callable(getattr(hubconf, name)) and not name.startswith("_")]


def help(github: Any, model: str, force_reload: bool = False, skip_validation: bool = False,
        trust_repo: Any = "check", *, source: str = "github") -> str | None:
    """The docstring of what a repository offers as ``model``; arguments as of :func:`load`."""
    with _hubconf(_folder(github, source)) as hubconf:
        return _entry(hubconf, model).__doc__


# -- weights ----------------------------------------------------------------------------------------------------------


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Write what is at ``url`` to the file ``dst``, which appears when it is complete.

    ``hash_prefix``: what the SHA-256 of the content has to begin with, or ``RuntimeError``. ``progress``: show on
    standard error how much is here.
    """
    dst = os.path.expanduser(dst)
    sha, part = hashlib.sha256(), None
    try:
        with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as answer:
            length = answer.headers.get("Content-Length")
            with (tempfile.NamedTemporaryFile(dir=os.path.dirname(dst) or ".", suffix=".partial", delete=False) as file,
                    tqdm(total=int(length) if length else None, disable=not progress, unit="B", unit_scale=True,
                        unit_divisor=1024) as bar):
                part = file.name
                while chunk := answer.read(READ_DATA_CHUNK):
                    file.write(chunk)
                    sha.update(chunk)
                    bar.update(len(chunk))
        found = sha.hexdigest()
        if hash_prefix is not None and not found.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
        os.chmod(part, 0o666 & ~_umask())  # a temporary file is its owner's alone
        os.replace(part, dst)
    finally:
        if part is not None and os.path.exists(part):
            os.remove(part)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
        check_hash: bool = False, file_name: str | None = None, weights_only: bool = False) -> dict[str, Any]:
    """What the file at ``url`` holds; it is fetched once, and kept in ``model_dir`` (``get_dir()/checkpoints``).

    ``check_hash``: the file's name ends in the first digits of its SHA-256 (``resnet18-f37072fd.pth``), which are
    compared. ``file_name``: what it is called here, by default as in ``url``.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> torch.save({"weight": torch.ones(2)}, folder / "line.pth")
    >>> torch.hub.load_state_dict_from_url((folder / "line.pth").as_uri(), folder / "kept", progress=False)
    ... # doctest: +ELLIPSIS
    Downloading: "file://...line.pth" to ...line.pth
    {'weight': tensor([1., 1.])}
    """
    folder = Path(model_dir if model_dir is not None else os.path.join(get_dir(), "checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = folder / name
    if not path.exists():
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        digits = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, str(path), digits[1] if digits else None, progress)
    if _is_legacy_zip_format(path):
        with zipfile.ZipFile(path) as archive:
            path = Path(archive.extract(archive.infolist()[0], folder))
    return _load(path, map_location=map_location, weights_only=weights_only)


def _is_legacy_zip_format(path: Any) -> bool:
    """Whether the file is an archive around another one, as early weights were."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return len(archive.infolist()) == 1 and not archive.infolist()[0].is_dir()


__getattr__ = missing_from(__name__)
