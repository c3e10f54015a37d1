"""Files in both directions: what wengert writes, torch reads (``weights_only=True``), and the other way round."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

import wengert
from wengert.functions.parameter import Parameter
from wengert.functions.storage import window
from wengert.serialization import load, save

torch = pytest.importorskip("torch")

PARAMETER = {torch: torch.nn.Parameter, wengert: Parameter}
DTYPES = "float16 bfloat16 float32 float64 complex64 complex128 uint8 uint16 uint32 uint64 int8 int16 int32 int64 bool"
LEGACY_TOO = [name for name in DTYPES.split() if name not in ("uint16", "uint32", "uint64")]  # nor can torch read those


def ours(obj, **options):
    """An object that went through a file, from wengert to torch."""
    file = io.BytesIO()
    save(obj, file, **options)
    file.seek(0)
    return torch.load(file, weights_only=True)


def theirs(obj, **options):
    """An object that went through a file, from torch to wengert."""
    file = io.BytesIO()
    torch.save(obj, file, **options)
    file.seek(0)
    return load(file)


def bits(t):
    """Type, shape, strides, flags and bytes of a tensor of either library."""
    if isinstance(t, torch.Tensor):
        d = t.detach()
        raw = d.contiguous().flatten().view(torch.uint8).numpy().tobytes() if d.numel() else b""
        kind = torch.nn.Parameter
    else:
        d, raw, kind = t, t._wg_data.tobytes(), Parameter
    return str(t.dtype), tuple(t.shape), d.stride() if d.numel() else None, t.requires_grad, isinstance(t, kind), raw


def same(a, b):
    if isinstance(a, (torch.Tensor, wengert.Tensor)):
        assert bits(a) == bits(b)
    elif isinstance(a, dict):
        assert (type(a), list(a)) == (type(b), list(b))
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert type(a).__name__ == type(b).__name__ and len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif type(a).__module__ in ("torch", "wengert.arrays.dtypes", "wengert.tensor.types"):
        assert repr(a) == repr(b)
    else:
        assert a == b and type(a) is type(b)


def example(lib, dtype="float32"):
    """The same nest of objects for either library."""
    x = lib.arange(24.0).reshape(2, 3, 4).to(getattr(lib, dtype))
    floating = x.is_floating_point() or x.is_complex()
    return OrderedDict(
        whole=x, part=x[:, 1:, ::2], turned=x.transpose(0, 2), wide=x[0].expand(5, 3, 4),
        zero_d=x.view(24)[1:2].view(()), none=lib.zeros(0, 3),
        parameter=PARAMETER[lib](x[0].clone()) if floating else 0,
        frozen=PARAMETER[lib](x[1].clone(), requires_grad=False), leaf=x.clone().requires_grad_(floating),
        size=x.shape, dtype=x.dtype, device=x.device, layout=lib.strided,
        plain=[None, True, 3, -3, 2**70, 2.5, "text", "ü", (1, [2, {"a": {}}]), 4j, {1, 2}, b"by", bytearray(b"ab")],
    )


@pytest.mark.parametrize("name", DTYPES.split())
def test_to_torch_and_back(name):
    same(ours(example(wengert, name)), example(torch, name))
    same(theirs(example(torch, name)), example(wengert, name))


@pytest.mark.parametrize("name", LEGACY_TOO)
def test_the_format_before_zip_files(name):
    options = {"_use_new_zipfile_serialization": False}
    same(ours(example(wengert, name), **options), example(torch, name))
    same(theirs(example(torch, name), **options), example(wengert, name))


@pytest.mark.parametrize("name", DTYPES.split())
def test_the_pickle_is_byte_for_byte_torchs(name):
    def data(lib, write):
        file = io.BytesIO()
        obj = example(lib, name)
        del obj["device"]  # "cpu" is one object here and two in torch
        write(obj, file)
        z = zipfile.ZipFile(file)
        end = z.getinfo("archive/.data/serialization_id").header_offset
        return z.read("archive/data.pkl"), file.getvalue()[:end], z.namelist()

    assert data(wengert, save) == data(torch, torch.save)


def test_protocols():
    obj = example(wengert)
    for protocol in (3, 4, 5):
        file = io.BytesIO()
        save(obj, file, pickle_protocol=protocol)
        file.seek(0)
        same(torch.load(file, weights_only=False), example(torch))
        file = io.BytesIO()
        torch.save(example(torch), file, pickle_protocol=protocol)
        file.seek(0)
        same(load(file), obj)


def test_shared_memory_stays_shared():
    for lib, through in ((wengert, ours), (torch, theirs)):
        base = lib.arange(12.0)
        m, row, column, flat = through([base.view(3, 4), base[4:8], base.view(3, 4)[:, 1], base])
        flat.mul_(2)
        assert (m[1].tolist(), row.tolist(), column.tolist()) == ([8, 10, 12, 14], [8, 10, 12, 14], [2, 10, 18])


def test_mmap(tmp_path):
    save(example(wengert), tmp_path / "ours.pt")
    torch.save(example(torch), tmp_path / "theirs.pt")
    same(torch.load(tmp_path / "ours.pt", mmap=True, weights_only=True), example(torch))
    same(load(tmp_path / "theirs.pt", mmap=True), example(wengert))
    from torch.utils.serialization import config

    before = config.load.calculate_storage_offsets
    try:
        config.load.calculate_storage_offsets = True
        same(torch.load(tmp_path / "ours.pt", mmap=True, weights_only=True), example(torch))
    finally:
        config.load.calculate_storage_offsets = before


@pytest.mark.parametrize("name", ["plain", "a.pt", "b.tar.gz", "with space.pt", "ü.pt"])
def test_folders_in_archives_are_named_alike(tmp_path, name):
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    save(wengert.ones(1), tmp_path / "ours" / name)
    torch.save(torch.ones(1), tmp_path / "theirs" / name)
    found = [zipfile.ZipFile(tmp_path / lib / name).namelist() for lib in ("ours", "theirs")]
    assert found[0] == found[1]


def test_conjugates_and_negatives():
    x = torch.tensor([1 + 2j, 3 - 4j])
    assert [t.tolist() for t in theirs([x.conj(), x])] == [[1 - 2j, 3 + 4j], [1 + 2j, 3 - 4j]]
    assert theirs(x.conj().imag).tolist() == [-2, 4]


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_storages_themselves():
    x = wengert.arange(3.0)
    storage, tensor = ours([window(x._wg_data)[0], x.to(wengert.uint8)])
    assert (bytes(storage.tolist()), tensor.tolist()) == (x._wg_data.tobytes(), [0, 1, 2])
    found = theirs(torch.arange(3.0).untyped_storage())
    assert bytes(found.tolist()) == x._wg_data.tobytes()


def test_attributes():
    x, y = torch.ones(2), wengert.ones(2)
    x.unit = y.unit = "m/s"
    p, q = PARAMETER[torch](torch.ones(1)), Parameter(wengert.ones(1))
    p.tag = q.tag = [1]
    assert theirs(x).unit == ours(y).unit == "m/s"
    assert theirs(p).tag == ours(q).tag == [1]


def test_damage_that_torch_also_survives():
    file = io.BytesIO()
    torch.save(torch.arange(64.0), file)
    data = bytearray(file.getvalue())
    data[data.find(np.arange(64, dtype="f4").tobytes()) + 7] ^= 1
    same(load(io.BytesIO(data)), wengert.from_numpy(torch.load(io.BytesIO(data)).numpy()))


def test_files_without_checksums():
    torch.serialization.set_crc32_options(False)
    try:
        same(theirs(example(torch)), example(wengert))
    finally:
        torch.serialization.set_crc32_options(True)


REFUSED = [pickle.UnpicklingError("x"), range(3), slice(1), io.StringIO, np.float64(1), np.ones(2)]


@pytest.mark.parametrize("obj", REFUSED, ids=repr)
def test_both_refuse(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    messages = []
    for read in (torch.load, load):
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError, match="^Weights only load failed") as error:
            read(file)
        messages.append(str(error.value).partition("Unsupported global: ")[2].partition("\n")[0])
    assert messages[0] == messages[1] != ""


@pytest.mark.parametrize("attempt", [
    lambda lib, load, save: load([1]),
    lambda lib, load, save: load("/nowhere/x.pt"),
    lambda lib, load, save: load(io.BytesIO()),
    lambda lib, load, save: load(io.BytesIO(pickle.dumps(3, 2))),
    lambda lib, load, save: load(file_of(save, lib), mmap=True),
    lambda lib, load, save: load(file_of(save, lib), map_location="cuda"),
    lambda lib, load, save: load(file_of(save, lib), map_location={"cpu": "cuda:1"}),
    lambda lib, load, save: load(file_of(save, lib), map_location="tape"),
    lambda lib, load, save: load(file_of(save, lib), map_location=3),
    lambda lib, load, save: load(file_of(save, lib), weights_only=True, pickle_module=pickle),
    lambda lib, load, save: save(1, 3),
    lambda lib, load, save: save(1, "/nowhere/x.pt"),
    lambda lib, load, save: save([t := lib.ones(2, dtype=lib.complex64), lib.view_as_real(t)], io.BytesIO()),
])
def test_errors_are_torchs(attempt):
    caught = []
    for lib, read, write in ((torch, torch.load, torch.save), (wengert, load, save)):
        with pytest.raises(Exception) as error:
            attempt(lib, read, write)
        caught.append(error.value)
    theirs, ours = caught
    assert isinstance(ours, type(theirs)) and str(theirs) in str(ours)


def file_of(save, lib):
    file = io.BytesIO()
    save(lib.ones(2), file)
    file.seek(0)
    return file


# -- training ---------------------------------------------------------------------------------------------------------


def network(lib):
    return lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4), lib.nn.GELU(), lib.nn.Linear(4, 4, bias=False),
        lib.nn.LayerNorm(4))


def test_state_dicts():
    a, b = network(torch), network(wengert)
    b.load_state_dict(theirs(a.state_dict()))
    x = np.random.default_rng(0).standard_normal((5, 3)).astype("f4")
    want, got = a.eval()(torch.from_numpy(x)), b.eval()(wengert.from_numpy(x))
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), atol=1e-6)
    c = network(torch)
    c.load_state_dict(ours(b.state_dict()))
    same(OrderedDict(c.state_dict()), OrderedDict(b.state_dict()))


OPTIMIZERS = "SGD Adam AdamW RMSprop Adagrad Adadelta NAdam RAdam Adamax ASGD Rprop"


@pytest.mark.parametrize("name", OPTIMIZERS.split())
def test_optimizer_states(name):
    options = {"lr": 0.1, "momentum": 0.9} if name == "SGD" else {}
    made = {}
    for lib in (torch, wengert):
        model = lib.nn.Linear(3, 2)
        optimizer = getattr(lib.optim, name)(model.parameters(), **options)
        for _ in range(2):
            model(lib.ones(4, 3)).sum().backward()
            optimizer.step()
        made[lib] = optimizer
    there, back = ours(made[wengert].state_dict()), theirs(made[torch].state_dict())
    made[torch].load_state_dict(there)
    made[wengert].load_state_dict(back)
    assert set(there["param_groups"][0]) == set(back["param_groups"][0])
    assert {k: set(v) for k, v in there["state"].items()} == {k: set(v) for k, v in back["state"].items()}


def test_whole_models():
    x = np.ones((2, 3), "f4")
    file = io.BytesIO()
    model = network(torch).eval()
    torch.save(model, file)
    file.seek(0)
    found, want = load(file, weights_only=False)(wengert.from_numpy(x)), model(torch.from_numpy(x))
    np.testing.assert_allclose(found.detach().numpy(), want.detach().numpy(), atol=1e-6)
