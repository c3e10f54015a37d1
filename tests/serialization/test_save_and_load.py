"""Saving and loading: what comes back, what is shared, and that a file cannot make us run code."""

from __future__ import annotations

import importlib
import io
import pickle
import pickletools
import struct
import sys
import zipfile
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import wengert as torch
from wengert import serialization
from wengert.functions.parameter import Parameter
from wengert.functions.storage import UntypedStorage, look_at, window
from wengert.serialization import load, save
from wengert.serialization.plain import reduce_tensor
from wengert.tensor import Tensor, wrap

DTYPES = "float16 bfloat16 float32 float64 complex64 complex128 uint8 uint16 uint32 uint64 int8 int16 int32 int64 bool"
FORMATS = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])


@pytest.fixture(autouse=True)
def nothing_allowed():
    yield
    serialization.clear_safe_globals()


def written(obj, **options):
    file = io.BytesIO()
    save(obj, file, **options)
    file.seek(0)
    return file


def again(obj, zipped=True, **options):
    return load(written(obj, _use_new_zipfile_serialization=zipped), **options)


def archive(pickled, records=None):
    """A file with this pickle, and these storages."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("archive/data.pkl", pickled)
        z.writestr("archive/byteorder", "little")
        for name, data in (records or {}).items():
            z.writestr(f"archive/data/{name}", data)
    file.seek(0)
    return file


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, Tensor):
        assert (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad)
        assert a._wg_data.tobytes() == b._wg_data.tobytes()
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert a == b


@pytest.mark.parametrize("name", DTYPES.split())
@FORMATS
def test_every_type(name, zipped):
    dtype = getattr(torch, name)
    for shape in ((), (3,), (2, 3), (0,), (0, 3), (1, 1)):
        tensor = wrap(np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype.np)))
        same(again(tensor, zipped), tensor)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@FORMATS
def test_containers(protocol, zipped):
    x = torch.arange(6.0).reshape(2, 3)
    obj = OrderedDict(
        numbers=[1, -5, 2**40, -(2**80), 2.5, float("inf"), True, False, None, 3 + 4j],
        text=["", "käse", "x" * 300, b"", b"\x00\xff", bytearray(b"ab")],
        sets=[{1, 2}, frozenset([3])],
        mappings=[{1: "a", (2, "b"): []}, Counter("aab"), defaultdict(list, {"k": [1]})],
        torch=[x.shape, torch.float32, torch.bfloat16, torch.device("cpu"), torch.device("cuda", 1), torch.strided],
        tensors=(x, {"deep": [x[0], (x.t(),)]}),
    )
    file = written(obj, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    same(load(file), obj)


def test_one_object_met_twice_is_one_object():
    inner, x = [1], torch.ones(2)
    a, b, c, d = again([inner, inner, x, x])
    assert a is b
    assert c is d


def test_an_object_that_contains_itself():
    loop = []
    loop.append(loop)
    found = again(loop)
    assert found[0] is found


@FORMATS
def test_parameters_and_flags(zipped):
    p = Parameter(torch.ones(2, 2))
    found = again({"p": p, "frozen": Parameter(torch.ones(1), requires_grad=False)}, zipped)
    same(found["p"], p)
    assert found["p"].is_leaf and not found["frozen"].requires_grad
    leaf = torch.ones(2, requires_grad=True)
    result = again(leaf * 2, zipped)
    assert result.requires_grad and result.is_leaf
    assert not again(leaf.detach(), zipped).requires_grad


class Labelled(Tensor):
    pass


def test_attributes_and_subclasses():
    x, p = torch.ones(2), Parameter(torch.ones(1))
    x.unit, p.tags = "m/s", ["a"]
    assert again(x).unit == "m/s"
    assert again(p).tags == ["a"]
    assert type(again(p)) is Parameter
    y = torch.ones(2).as_subclass(Labelled)
    with pytest.raises(pickle.UnpicklingError, match="Labelled"):
        again(y)
    with serialization.safe_globals([Labelled]):
        assert type(again(y)) is Labelled


def test_hooks_are_left_out_with_a_warning():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="will not be serialized"):
        written(x)


# -- memory -----------------------------------------------------------------------------------------------------------


@FORMATS
def test_shared_memory_stays_shared(zipped):
    base = torch.arange(12.0)
    m, row, column, flat = again([base.view(3, 4), base[4:8], base.view(3, 4)[:, 1], base], zipped)
    m.zero_()
    assert row.tolist() == [0] * 4 and column.tolist() == [0] * 3 and flat.tolist() == [0] * 12
    flat.copy_(base)
    assert m[1].tolist() == row.tolist() == [4, 5, 6, 7] and column.tolist() == [1, 5, 9]


def test_shared_memory_is_written_once():
    base = torch.zeros(1000)
    alone, many = (len(written(x).getvalue()) for x in (base, [base, base[1:], base.view(10, 100).t()]))
    assert many < alone + 1000
    names = zipfile.ZipFile(written([base, base[1:], torch.zeros(2)])).namelist()
    assert [n for n in names if n.startswith("archive/data/")] == ["archive/data/0", "archive/data/1"]


@FORMATS
def test_strides_come_back(zipped):
    x = torch.arange(24.0).view(2, 3, 4)
    for view in (x.transpose(0, 2), x[:, ::2], x.expand(5, 2, 3, 4), x[0, 1], x.permute(1, 2, 0)):
        found = again(view, zipped)
        same(found, view)
        assert found._wg_data.strides == view._wg_data.strides


def test_what_numpy_can_do_and_storages_cannot_is_copied():
    backwards = wrap(np.arange(4.0)[::-1])
    same(again(backwards), backwards)
    record = np.zeros(3, [("a", "u1"), ("b", "f4")])
    record["b"] = [1, 2, 3]
    assert again(wrap(record["b"])).tolist() == [1, 2, 3]


def test_windows_and_back():
    base = np.arange(24, dtype=np.float32)
    cube = base.reshape(2, 3, 4)
    for array in (base, cube, cube.T, cube[1, ::2], cube[:, 1:2], np.asfortranarray(cube), cube[1, 2, 3:].reshape(()),
                  cube[:0], np.lib.stride_tricks.as_strided(base, (3, 3), (4, 8)), np.broadcast_to(base, (2, 24)),
                  np.frombuffer(base.tobytes(), np.float32), base.view(np.uint8)[4:].view(np.float32)):
        storage, offset, stride = window(array)
        found = look_at(storage, offset, array.shape, stride)
        assert np.array_equal(found, array)
        assert array.size == 0 or found.ctypes.data == array.ctypes.data


def test_the_same_memory_as_two_types_is_refused():
    x = torch.ones(4, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view the same data as diff"):
        written([x, wrap(x._wg_data.view(np.float32))])


# -- files ------------------------------------------------------------------------------------------------------------


def test_layout_of_the_archive():
    file = written({"a": torch.arange(5.0), "b": torch.zeros(0), "c": torch.zeros(3, dtype=torch.int64)})
    data = file.getvalue()
    z = zipfile.ZipFile(file)
    assert z.testzip() is None
    assert z.namelist() == [
        "archive/data.pkl", "archive/.format_version", "archive/.storage_alignment", "archive/byteorder",
        "archive/data/0", "archive/data/1", "archive/data/2", "archive/version", "archive/.data/serialization_id",
    ]
    for info in z.infolist():
        n, extra = struct.unpack_from("<HH", data, info.header_offset + 26)
        assert (info.header_offset + 30 + n + extra) % 64 == 0
        assert info.compress_type == 0
    assert z.read("archive/byteorder").decode() == sys.byteorder
    assert (z.read("archive/version"), z.read("archive/.storage_alignment")) == (b"3\n", b"64")
    identifier = z.read("archive/.data/serialization_id")
    assert len(identifier) == 40 and identifier.isdigit()
    assert zipfile.ZipFile(written(torch.ones(2))).read("archive/.data/serialization_id") != identifier


def test_pickles_speak_pytorchs_names():
    x, p = torch.ones(2), Parameter(torch.ones(2))
    x.note = p.note = 1
    obj = [x, p, Parameter(x), torch.float32, torch.Size([1]), torch.device("cpu"), torch.ones(1, dtype=torch.uint16)]
    pickled = zipfile.ZipFile(written([*obj, torch.strided])).read("archive/data.pkl")
    assert {arg for op, arg, _ in pickletools.genops(pickled) if op.name == "GLOBAL"} == {
        "collections OrderedDict", "torch FloatStorage", "torch Size", "torch Tensor", "torch device", "torch float32",
        "torch uint16", "torch.storage UntypedStorage", "torch._tensor _rebuild_from_type_v2",
        "torch._utils _rebuild_parameter", "torch._utils _rebuild_parameter_with_state",
        "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor_v3", "torch.serialization _get_layout",
    }


def test_paths(tmp_path):
    x = torch.ones(2)
    for path in (tmp_path / "a.pt", str(tmp_path / "b.c.pt"), tmp_path / "plain", tmp_path / "ключ.pt"):
        save(x, path)
        same(load(path), x)
    first = [zipfile.ZipFile(tmp_path / name).namelist()[0] for name in ("a.pt", "b.c.pt", "plain", "ключ.pt")]
    assert first == ["a/data.pkl", "b.c/data.pkl", "plain/data.pkl", "archive/data.pkl"]
    with open(tmp_path / "file.pt", "wb") as file:
        save(x, file)
    with open(tmp_path / "file.pt", "rb") as file:
        same(load(file), x)


def test_what_cannot_be_saved_leaves_the_file_alone(tmp_path):
    path = tmp_path / "kept.pt"
    save(1, path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        save([torch.ones(1), lambda: None], path)
    assert load(path) == 1


def test_bad_targets(tmp_path):
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object with a 'write'"):
        save(1, 3)
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        save(1, tmp_path / "nowhere" / "x.pt")
    with pytest.raises(ValueError, match="pickle_module"):
        save(1, io.BytesIO(), pickle_module=zipfile)


def test_bad_sources(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.pt")
    with pytest.raises(AttributeError, match="You can only torch.load from a file that is seekable"):
        load([1])
    with pytest.raises(EOFError):
        load(io.BytesIO())
    with pytest.raises(RuntimeError, match="Invalid magic number; corrupt file"):
        load(io.BytesIO(pickle.dumps(3, 2)))
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        load(written(1), pickle_module=pickle, weights_only=True)
    assert load(written(1), pickle_module=pickle) == 1


def test_damaged_files():
    data = written(torch.arange(100.0)).getvalue()
    for n in range(0, len(data), 97):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            load(io.BytesIO(data[:n]))
    data = written(torch.arange(100.0), _use_new_zipfile_serialization=False).getvalue()
    for n in range(0, len(data), 17):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            load(io.BytesIO(data[:n]))


def test_mmap(tmp_path):
    path = tmp_path / "x.pt"
    base = torch.arange(6.0)
    save({"a": base, "b": base[2:], "h": torch.ones(3, dtype=torch.bfloat16), "e": torch.zeros(0)}, path)
    before = path.read_bytes()
    found = load(path, mmap=True)
    assert (found["a"].tolist(), found["h"].tolist(), found["e"].tolist()) == ([0, 1, 2, 3, 4, 5], [1, 1, 1], [])
    found["a"].add_(1)
    found["h"].zero_()
    assert found["b"].tolist() == [3, 4, 5, 6]
    assert path.read_bytes() == before
    assert len(written(found["b"]).getvalue()) < 2000
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        load(io.BytesIO(before), mmap=True)
    save(base, path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        load(path, mmap=True)


def test_map_location():
    x = torch.ones(3)
    for place in ("cpu", b"cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda s, at: None, lambda s, at: s.cpu()):
        same(load(written(x), map_location=place), x)
    for place in ("cuda", "cuda:0", torch.device("cuda", 0), {"cpu": "cuda:0"}):
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device but torch.cuda"):
            load(written(x), map_location=place)
    with pytest.raises(RuntimeError, match="don't know how to restore data location of .* \\(tagged with tape\\)"):
        load(written(x), map_location="tape")
    seen = []
    load(written([x, x[1:]]), map_location=lambda storage, at: seen.append((type(storage), storage.nbytes(), at)))
    assert seen == [(UntypedStorage, 12, "cpu")]


def test_files_from_elsewhere_need_a_map():
    pickled = zipfile.ZipFile(written(torch.ones(2))).read("archive/data.pkl")
    pickled = pickled.replace(b"X\3\0\0\0cpu", b"X\6\0\0\0cuda:1")
    values = {"0": np.ones(2, "f4").tobytes()}
    with pytest.raises(RuntimeError, match="map_location=torch.device\\('cpu'\\)"):
        load(archive(pickled, values))
    assert load(archive(pickled, values), map_location="cpu").tolist() == [1, 1]
    assert load(archive(pickled, values), map_location={"cuda:1": "cpu"}).tolist() == [1, 1]


@pytest.mark.parametrize("name", ["float32", "complex64", "int16", "bool", "bfloat16"])
def test_byte_order(name):
    x = torch.ones(3, dtype=getattr(torch, name))
    z = zipfile.ZipFile(written(x))
    part = x._wg_data.view("f4") if name == "complex64" else x._wg_data.view(f"u{x._wg_data.itemsize}")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as other:
        other.writestr("archive/data.pkl", z.read("archive/data.pkl"))
        other.writestr("archive/data/0", part.byteswap().tobytes())
    other_order = "big" if sys.byteorder == "little" else "little"
    marked = io.BytesIO(file.getvalue())
    with zipfile.ZipFile(marked, "a") as z:
        z.writestr("archive/byteorder", other_order)
    marked.seek(0)
    same(load(marked), x)
    file.seek(0)
    orders = serialization.LoadEndianness
    try:
        serialization.set_default_load_endianness(orders[other_order.upper()])
        same(load(file), x)
        file.seek(0)
        serialization.set_default_load_endianness(orders.NATIVE)
        assert load(file)._wg_data.tobytes() == part.byteswap().tobytes()
    finally:
        serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="Invalid argument type in function set_default_load_endianness"):
        serialization.set_default_load_endianness("big")


def test_without_checksums():
    x = torch.arange(3.0)
    try:
        serialization.set_crc32_options(False)
        file = written(x)
    finally:
        serialization.set_crc32_options(True)
    assert zipfile.ZipFile(io.BytesIO(file.getvalue())).infolist()[0].CRC == 0
    same(load(file), x)


def test_python_2_text():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("archive/data.pkl", b"\x80\x02U\x04k\xc3\xa4s.")
    data = file.getvalue()
    assert load(io.BytesIO(data)) == "käs"
    assert load(io.BytesIO(data), weights_only=False, encoding="bytes") == "käs".encode()
    with pytest.warns(UserWarning, match="pickle_load_args only works"):
        load(io.BytesIO(data), weights_only=True, encoding="bytes")


# -- plain pickle -----------------------------------------------------------------------------------------------------


class PlainPickler(pickle.Pickler):
    def reducer_override(self, obj):
        return reduce_tensor(obj) if isinstance(obj, Tensor) else NotImplemented


def through_pickle(obj, protocol):
    file = io.BytesIO()
    PlainPickler(file, protocol).dump(obj)
    return pickle.loads(file.getvalue())


@pytest.mark.parametrize("protocol", range(2, 6))
def test_plain_pickles(protocol):
    base, p = torch.arange(12.0), Parameter(torch.ones(2))
    p.note = "n"
    half = torch.ones(3, dtype=torch.bfloat16)
    leaf = torch.ones(2, requires_grad=True)
    obj = [base, base[4:8], base.view(3, 4).t(), half, half[1:], p, leaf, torch.zeros(0, 3), torch.ones(())]
    found = through_pickle(obj, protocol)
    same(found, obj)
    found[0].zero_()
    found[3].zero_()
    assert (found[1].tolist(), found[2].sum().item(), found[4].tolist()) == ([0] * 4, 0, [0, 0])
    assert found[5].note == "n"
    assert type(through_pickle(base.as_subclass(Labelled), protocol)) is Labelled


def test_one_storage_per_memory():
    x = np.arange(4.0)
    a, b = window(x)[0], window(x[1:])[0]
    assert a is b
    assert window(x.copy())[0] is not a


def test_damaged_beginnings():
    for data in (b"garbage!!", b"\x80\x02"):
        for weights_only in (True, False):
            with pytest.raises((pickle.UnpicklingError, EOFError)):
                load(io.BytesIO(data), weights_only=weights_only)
    with pytest.raises(EOFError):
        load(io.BytesIO(b""))
    legacy = written(torch.ones(100), _use_new_zipfile_serialization=False).getvalue()
    with pytest.raises(RuntimeError, match="unexpected EOF, expected 30 more bytes. The file might be corrupted"):
        load(io.BytesIO(legacy[:-30]))
    with pytest.raises(RuntimeError,
            match="PytorchStreamReader failed reading zip archive: failed finding central directory"):
        load(io.BytesIO(written(torch.ones(100)).getvalue()[:300]))


def test_mmap_can_be_shared(tmp_path):
    import mmap

    path = tmp_path / "x.pt"
    save(torch.ones(2), path)
    load(path, mmap=True).add_(1)
    assert load(path).tolist() == [1, 1] and serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert serialization.get_default_mmap_options() == mmap.MAP_SHARED
        load(path, mmap=True).add_(1)
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE and load(path).tolist() == [2, 2]
    with pytest.raises(ValueError, match="expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got 99"):
        serialization.set_default_mmap_options(99)


def test_storages_of_files(tmp_path):
    path = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(path)
    assert torch.UntypedStorage.from_file(str(path), False, 4).tolist() == [0, 0, 0, 0]
    shared = torch.UntypedStorage.from_file(str(path), True, 20)
    shared[0] = 7
    assert path.read_bytes()[0] == 7 and path.stat().st_size == 20


def test_hooks_are_warned_of_once():
    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="will not be serialized") as seen:
        save(x, io.BytesIO())
    assert len(seen) == 1


def test_saved_without_data(torch, tmp_path):
    serialization = importlib.import_module(f"{torch.__name__}.serialization")
    with serialization.skip_data():
        torch.save({"a": torch.ones(3), "b": torch.arange(2)}, tmp_path / "empty.pt")
    found = torch.load(tmp_path / "empty.pt")
    assert found["a"].tolist() == [0, 0, 0]
    assert found["b"].tolist() == [0, 0]
