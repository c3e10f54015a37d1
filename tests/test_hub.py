"""``torch.hub`` and ``utils.model_zoo``: folders with a ``hubconf.py``, and files that are fetched once and checked."""

from __future__ import annotations

import hashlib
import http.server
import importlib
import os
import subprocess
import sys
import threading
import zipfile

import pytest

import wengert

HUBCONF = '''
from helper_of_hubconf import WIDTH

dependencies = ["math"]


def square(x=WIDTH, *, plus=0):
    """The square."""
    return x * x + plus


def _hidden():
    """Not offered."""


also_callable = dict
number = 3
'''


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "helper_of_hubconf.py").write_text("WIDTH = 5\n")
    yield folder
    sys.modules.pop("helper_of_hubconf", None)


@pytest.fixture
def hub(torch, tmp_path):
    hub = importlib.import_module(f"{torch.__name__}.hub")
    before = hub._hub_dir
    hub.set_dir(str(tmp_path / "hub"))
    yield hub
    hub._hub_dir = before


@pytest.fixture
def weights(torch, tmp_path):
    """A file of weights that is named after its hash."""
    path = tmp_path / "model.pth"
    torch.save({"weight": torch.arange(3.0)}, path)
    return path.rename(tmp_path / f"model-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.pth")


def test_a_folder_is_loaded(hub, repository):
    path = list(sys.path)
    assert hub.load(str(repository), "square", source="local") == 25
    assert hub.load(str(repository), "square", 3, source="local", plus=1) == 10
    assert sys.path == path
    for name in ("gone", "number", "_also"):
        with pytest.raises(RuntimeError, match=f"Cannot find callable {name} in hubconf"):
            hub.load(str(repository), name, source="local")
    with pytest.raises(ValueError, match="model should be a string of function name"):
        hub.load(str(repository), 3, source="local")
    with pytest.raises(ValueError, match='Unknown source: "elsewhere". Allowed values: "github" | "local".'):
        hub.load(str(repository), "square", source="elsewhere")
    (repository / "hubconf.py").write_text("dependencies = ['no_such_package_1', 'math', 'no_such_package_2']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package_1, no_such_package_2"):
        hub.load(str(repository), "square", source="local")


def test_what_a_folder_offers(repository):
    from wengert import hub

    assert hub.list(repository, source="local") == ["also_callable", "square"]
    assert hub.help(repository, "square", source="local") == "The square."


def test_repositories_that_are_there_already(tmp_path, repository, monkeypatch):
    from wengert import hub

    monkeypatch.setattr(hub, "_hub_dir", str(tmp_path / "hub"))
    with pytest.raises(RuntimeError, match=r"not fetched from the network. Unpack owner/name to .*owner_name_main"):
        hub.load("owner/name", "square")
    with pytest.raises(ValueError, match="OWNER/NAME"):
        hub.load("name", "square")
    (tmp_path / "hub").mkdir()
    repository.rename(tmp_path / "hub" / "owner_name_v1_2")
    assert hub.load("owner/name:v1/2", "square", plus=2) == 27
    assert hub.list("owner/name:v1/2") == ["also_callable", "square"]


def test_folders(hub, monkeypatch, tmp_path):
    assert hub.get_dir() == str(tmp_path / "hub")
    hub.set_dir("~/somewhere")
    assert hub.get_dir() == os.path.expanduser("~/somewhere")
    hub._hub_dir = None
    monkeypatch.delenv("TORCH_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/torch/hub" and hub._get_torch_home() == "/cache/torch"
    monkeypatch.setenv("TORCH_HOME", "/home/torch")
    assert hub.get_dir() == "/home/torch/hub"


def test_weights_are_fetched_once_and_checked(hub, weights, tmp_path, capsys):
    kept = tmp_path / "hub" / "checkpoints" / weights.name
    for _ in range(2):
        found = hub.load_state_dict_from_url(weights.as_uri(), check_hash=True, progress=False)
        assert found["weight"].tolist() == [0, 1, 2] and kept.exists()
        weights.write_bytes(b"changed")  # is not read again
    assert capsys.readouterr().out == f'Downloading: "{weights.as_uri()}" to {kept}\n'
    kept.unlink()
    with pytest.raises(RuntimeError, match=r'invalid hash value \(expected "\w{8}", got "\w{64}"\)'):
        hub.load_state_dict_from_url(weights.as_uri(), check_hash=True, progress=False)
    assert os.listdir(kept.parent) == []  # nothing is left of what was not right


def test_a_file_of_another_name_in_another_folder(hub, weights, tmp_path):
    found = hub.load_state_dict_from_url(weights.as_uri(), model_dir=str(tmp_path / "a" / "b"), file_name="mine.pth",
        progress=False, map_location="cpu", weights_only=True)
    assert list(found) == ["weight"] and (tmp_path / "a" / "b" / "mine.pth").exists()


def test_early_weights_are_in_an_archive(torch, hub, tmp_path):
    torch.save({"weight": torch.ones(2)}, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.write(tmp_path / "old.pth", "old.pth")
    found = hub.load_state_dict_from_url((tmp_path / "old.zip").as_uri(), progress=False)
    assert found["weight"].tolist() == [1, 1]


def test_progress_over_http(hub, weights, tmp_path, capsys):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(weights.parent))

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/{weights.name}"
        found = hub.load_state_dict_from_url(address, check_hash=True)
        assert found["weight"].tolist() == [0, 1, 2]
        hub.download_url_to_file(address, str(tmp_path / "copy"), progress=False)
        with pytest.raises(OSError, match="404"):
            hub.download_url_to_file(f"{address}.gone", str(tmp_path / "gone"), progress=False)
        server.shutdown()
    assert (tmp_path / "copy").read_bytes() == weights.read_bytes() and not (tmp_path / "gone").exists()
    assert "100%" in capsys.readouterr().err.replace("100.0%", "100%")


def test_the_older_name(torch, hub, weights):
    zoo = importlib.import_module(f"{torch.__name__}.utils.model_zoo")
    assert zoo.load_url is hub.load_state_dict_from_url and zoo.tqdm is hub.tqdm


def test_without_tqdm():
    code = ("import sys; sys.modules['tqdm'] = None\nfrom wengert.hub import tqdm\n"
        "with tqdm(total=4) as bar:\n    bar.update(1)\n    bar.update(3)\nwith tqdm() as bar:\n    bar.update(7)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert done.stderr == b"\r25.0%\r100.0%\n\r7 bytes\n"


def test_the_module_is_imported_at_its_first_use():
    code = "import sys, wengert; assert 'wengert.hub' not in sys.modules; wengert.hub.get_dir()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert wengert.hub.__all__ == ["download_url_to_file", "get_dir", "help", "list", "load",
        "load_state_dict_from_url", "set_dir"]
