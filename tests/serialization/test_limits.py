"""Files that ask for more than they have: work, memory, depth. They are refused, quickly, in one family of errors."""

from __future__ import annotations

import io
import json
import pickle
import resource
import struct
import sys
import time
import zipfile
import zlib

import numpy as np
import pytest

import wengert as torch
from wengert.serialization import EndOfFileError, LoadError, load, safe_globals, save

MAGIC = b"".join(pickle.dumps(x, 2) for x in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))


def archive(pickled, records=(), **options):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as z:
        z.writestr("archive/data.pkl", pickled)
        for name, data in dict(records).items():
            z.writestr(f"archive/data/{name}", data)
    return file.getvalue()


def text(x):
    return b"X" + struct.pack("<I", len(x)) + x.encode()


def called(name, *args):
    """A pickle of the call of ``name``, whose arguments are opcodes."""
    return b"\x80\x02c" + name.replace(" ", "\n").encode() + b"\n(" + b"".join(args) + b"tR."


def storage(numel, key="0"):
    return b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(key) + text("cpu") + numel + b"tQ"


def number(x):
    data = pickle.encode_long(x)
    return b"\x8b" + struct.pack("<i", len(data)) + data


SAME = [(2**61 - 1) * i for i in range(1, 20_001)]  # the hash of each is 0
ALIKE = [number(x) for x in SAME]
PLANAR = [
    b"c__builtin__\ncomplex\nG" + struct.pack(">d", -sys.hash_info.imag * i) + b"G" + struct.pack(">d", i) + b"\x86RN"
    for i in range(20_000)
]
TWINS = [number(x) + b"\x85" for x in SAME]  # and these tuples have one hash, too
DEEP = b"K\x01" + b"\x85" * 200_000
DOUBLED = b"K\x01" + b"".join(b"q%ch%c\x86" % (i, i) for i in range(40))  # (x, x), forty times
DOUBLED_LIST = b"]K\x01a" + b"".join(b"q%c](h%ch%ce" % (i, i, i) for i in range(40))
BIG = b"\x8a\x07" + (10**15).to_bytes(7, "little")
DTYPE = b"cnumpy\ndtype\n(X\x02\x00\x00\x00f8\x89\x88tR"
COPY = b"c__builtin__\nbytearray\nh\x00" + text("latin1") + b"\x86R"
ASKS = {
    "a deep key": b"\x80\x02}" + DEEP + b"K\x01s.",
    "a deep item": b"\x80\x04\x8f(" + DEEP + b"\x90.",
    "a deep frozenset": b"\x80\x04(" + DEEP + b"\x91.",
    "a deep key of a literal": b"\x80\x02(" + DEEP + b"K\x01d.",
    "a doubled key": b"\x80\x02}" + DOUBLED + b"K\x01s.",
    "a doubled key among others": b"\x80\x02}(K\x01K\x02" + DOUBLED + b"K\x01u.",
    "a doubled item": b"\x80\x04\x8f(" + DOUBLED + b"\x90.",
    "a doubled frozenset": b"\x80\x04(" + DOUBLED + b"\x91.",
    "a set of a doubled tuple": called("__builtin__ set", b"](" + DOUBLED + b"e"),
    "a dictionary of a doubled tuple": called("collections OrderedDict", b"](](" + DOUBLED + b"K\x01ee"),
    "a doubled layout": called("torch.serialization _get_layout", DOUBLED),
    "a doubled list as a size": called("torch._utils _rebuild_tensor_v2", storage(b"K\x00"), b"K\x00", DOUBLED_LIST,
        b"K\x01\x85",
    b"\x89}"),
    "a doubled list as an identifier": b"\x80\x02(" + text("storage") + DOUBLED_LIST + b"tQ.",
    "a doubled list as a function": b"\x80\x02" + DOUBLED_LIST + b")R.",
    "a doubled list as a type": called("numpy dtype", DOUBLED_LIST),
    "a doubled list as text": called("__builtin__ str", DOUBLED_LIST),
    "bytes": called("__builtin__ bytearray", BIG),
    "constant bytes": b"\x80\x03cbuiltins\nbytes\n" + BIG + b"\x85R.",
    "new bytes": b"\x80\x03cbuiltins\nbytes\n" + BIG + b"\x85\x81.",
    "a tensor": called("torch Tensor", BIG),
    "a long text": b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"abc",
    "long bytes": b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"abc",
    "a long bytearray": b"\x80\x05\x96" + struct.pack("<Q", 2**62) + b"abc",
    "a long frame": b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"abc",
    "a long number": b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1) + b"abc",
    "a storage": b"\x80\x02" + storage(BIG) + b".",
    "an array": called("numpy.core.multiarray _reconstruct", b"cnumpy\nndarray\n", BIG + b"\x85", text("b")),
    "an array's state": called("numpy.core.multiarray _reconstruct", b"cnumpy\nndarray\n", b"K\x00\x85", text("b"))[:-1]
    + b"(K\x01" + BIG + b"\x85" + DTYPE + b"\x89" + text("") + b"tb.",
    "an array itself": called("numpy ndarray", BIG),
    "a scalar": called("numpy.core.multiarray scalar", called("numpy dtype", text("V999999999"))[2:-1]),
    "a fraction": called("fractions Fraction", text("1e999999999")),
    "keys of one hash": b"\x80\x02}(" + b"N".join(ALIKE) + b"Nu.",
    "keys of one hash, one by one": b"\x80\x02}" + b"Ns".join(ALIKE) + b"Ns.",
    "tuples of one hash": b"\x80\x02}(" + b"N".join(TWINS) + b"Nu.",
    "items of one hash": b"\x80\x04\x8f(" + b"".join(ALIKE) + b"\x90.",
    "a frozenset of one hash": b"\x80\x04(" + b"".join(TWINS) + b"\x91.",
    "a set made of one hash": called("__builtin__ set", b"](" + b"".join(ALIKE) + b"e"),
    "a set made anew of one hash": b"\x80\x02c__builtin__\nset\n](" + b"".join(ALIKE) + b"e\x85\x81.",
    "a counter of one hash": called("collections Counter", b"](" + b"".join(TWINS) + b"e"),
    "a dictionary of pairs of one hash": called(
        "collections OrderedDict", b"](" + b"".join(x + b"N\x86" for x in ALIKE) + b"e"
    ),
    "complex keys of one hash": b"\x80\x02}(" + b"".join(PLANAR) + b"u.",
    "a fraction of long numbers": called("fractions Fraction", number(3**100_000), number(7**100_000)),
    "copies of one text": b"\x80\x02" + text("a" * 10**6) + b"q\x000](" + COPY * 10**4 + b"e.",
    "sets of one list": b"\x80\x02](" + b"K\x01" * 10**5 + b"eq\x000](" + b"c__builtin__\nset\nh\x00\x85R" * 10**4
    + b"e.",
}


@pytest.fixture
def frugal():
    """Fails the test if it takes more than 300 MB on top, or five seconds of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024
    assert time.process_time() - start < 5


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", ASKS)
def test_what_asks_for_too_much(name, weights_only, frugal):
    for data in (archive(ASKS[name]), MAGIC + ASKS[name]):
        with pytest.raises(LoadError):
            load(io.BytesIO(data), weights_only=weights_only)


@pytest.mark.parametrize("kind", ["defaultdict", "deque", "array"])
def test_nests_that_crash_when_they_are_freed(kind, frugal):
    n = 20_000
    if kind == "defaultdict":
        pickled = b"\x80\x02" + b"ccollections\ndefaultdict\nN\x85RK\x01" * n + b"N" + b"s" * n + b"."
    elif kind == "deque":
        pickled = b"\x80\x02" + b"ccollections\ndeque\n)R" * n + b"K\x01" + b"a" * n + b"."
    else:
        array = called("numpy.core.multiarray _reconstruct", b"cnumpy\nndarray\n", b"K\x00\x85", text("b"))[2:-1]
        state = b"(K\x01K\x01\x85" + called("numpy dtype", text("O8"))[2:-1] + b"\x89]"
        pickled = b"\x80\x02" + (array + state) * n + b"K\x01" + b"atb" * n + b"."
    with pytest.raises(LoadError, match="nested more than 1000 deep"):
        load(io.BytesIO(archive(pickled)), weights_only=False)


def test_keys_that_occur_again_and_again():
    """Equal keys in many dictionaries are not keys of one hash."""
    many = [{(0, 1): 1, (2, 3): 2, 2**70: 3, 1.5: 4, frozenset([(1, 2)]): 5} for _ in range(5000)]
    assert load(io.BytesIO(archive(pickle.dumps(many, 4)))) == many
    few = dict.fromkeys(SAME[:100])
    assert load(io.BytesIO(archive(pickle.dumps([few, set(SAME[:100])], 2)))) == [few, set(SAME[:100])]


def test_nests_of_an_ordinary_depth():
    nest = key = ("a",)
    for i in range(100):
        nest, key = [{i: nest}], (key, i)
    found = load(io.BytesIO(archive(pickle.dumps([nest, {key: 1, (1, (2, 3)): 2}], 2))))
    assert found == [nest, {key: 1, (1, (2, 3)): 2}]
    many = {(i, (i, str(i))): frozenset([i]) for i in range(50_000)}
    assert load(io.BytesIO(archive(pickle.dumps(many, 2)))) == many


def test_compressed_records_grow_within_bounds(frugal):
    tensor = torch.zeros(1000, 1000)
    file = io.BytesIO()
    save(tensor, file)
    z = zipfile.ZipFile(file)
    pickled, data = z.read("archive/data.pkl"), z.read("archive/data/0")
    assert load(io.BytesIO(archive(pickled, {"0": data}, compression=zipfile.ZIP_DEFLATED))).shape == (1000, 1000)
    bomb = archive(
        pickled.replace(struct.pack("<i", 10**6), struct.pack("<i", 3 * 10**7)), {"0": bytes(12 * 10**7)},
        compression=zipfile.ZIP_DEFLATED
    )
    with pytest.raises(LoadError, match="unpacked it is larger than the .* bytes that are read from a file of"):
        load(io.BytesIO(bomb))
    with pytest.raises(LoadError, match="unpacked it is larger"):
        load(io.BytesIO(archive(b"\x80\x02" + text("a" * 10**8) + b".", compression=zipfile.ZIP_DEFLATED)))
    with pytest.raises(LoadError, match="compression method 12 is not supported"):
        load(io.BytesIO(archive(pickled, {"0": data}, compression=zipfile.ZIP_BZIP2)))


def test_a_record_that_says_it_is_smaller_than_it_unpacks():
    data = bytearray(archive(b"\x80\x02K\x01.", compression=zipfile.ZIP_DEFLATED))
    at = data.rfind(b"PK\1\2")
    for size in (2, 10**6):
        data[at + 24 : at + 28] = struct.pack("<I", size)
        with pytest.raises(LoadError):
            load(io.BytesIO(data))


def test_records_that_lie_in_each_other(frugal):
    """A thousand entries of the directory for one megabyte: storages of a gigabyte from a file of one."""
    pickled = b"\x80\x02](" + b"".join(storage(b"J" + struct.pack("<i", 250_000), str(i)) for i in range(1000)) + b"e."
    data = archive(pickled, {str(i): b"" for i in range(1000)} | {"big": bytes(10**6)})
    z = zipfile.ZipFile(io.BytesIO(data))
    big = z.getinfo("archive/data/big")
    data = bytearray(data)
    at = data.find(b"PK\1\2")
    while data[at : at + 4] == b"PK\1\2":
        n, m, k = struct.unpack_from("<HHH", data, at + 28)
        if bytes(data[at + 46 : at + 46 + n]) not in (b"archive/data.pkl", b"archive/data/big"):
            struct.pack_into("<III", data, at + 16, big.CRC, 10**6, 10**6)
            struct.pack_into("<I", data, at + 42, big.header_offset)
        at += 46 + n + m + k
    with pytest.raises(LoadError, match="records lie in each other"):
        load(io.BytesIO(data))


# -- damage -----------------------------------------------------------------------------------------------------------


def example():
    return {"a": torch.arange(6.0).view(2, 3), "b": [torch.ones(2, dtype=torch.int64), ("text", 2.5)],
        "p": torch.nn.Parameter(torch.ones(2))}


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_files_cut_off_at_every_length(zipped, named, tmp_path):
    path = tmp_path / "cut off.pt"
    save(example(), path, _use_new_zipfile_serialization=zipped)
    data = path.read_bytes()
    for n in range(0, len(data), 5 if named else 1):
        if named:
            path.write_bytes(data[:n])
        with pytest.raises(LoadError) as error:
            load(path if named else io.BytesIO(data[:n]))
        assert (str(path) in str(error.value)) == named
    with pytest.raises(EndOfFileError, match="Ran out of input"):
        load(io.BytesIO())


def test_the_family():
    assert issubclass(LoadError, RuntimeError) and issubclass(LoadError, pickle.UnpicklingError)
    assert issubclass(EndOfFileError, LoadError) and issubclass(EndOfFileError, EOFError)
    assert torch.serialization.LoadError is LoadError


def test_open_files_are_named(tmp_path):
    path = tmp_path / "broken.pt"
    path.write_bytes(b"no file")
    with open(path, "rb") as file, pytest.raises(LoadError, match=r"File: .*broken\.pt"):
        load(file)


class Refusal(Exception):
    """Of the program."""


class Refuses:
    def __setstate__(self, state):
        raise Refusal("not this one")


def test_errors_of_others_pass():
    file = io.BytesIO()
    thing = Refuses()
    thing.x = 1
    save(thing, file)
    with pytest.raises(Refusal, match="not this one"):
        load(io.BytesIO(file.getvalue()), weights_only=False)

    def place(storage, at):
        raise KeyError(at)

    file = io.BytesIO()
    save(torch.ones(1), file)
    with pytest.raises(KeyError, match="cpu"):
        load(io.BytesIO(file.getvalue()), map_location=place)

    class Disk(io.BytesIO):
        def read(self, n=-1):
            if self.tell() > 10:
                raise OSError(5, "Input/output error")
            return super().read(n)

    old = io.BytesIO()
    save(torch.ones(1), old, _use_new_zipfile_serialization=False)
    with pytest.raises(OSError, match="Input/output error"):
        load(Disk(old.getvalue()))


def test_sparse_tensors_are_looked_at():
    indices, values = torch.tensor([[0, 7], [1, 1]]), torch.ones(2)
    for zipped in (True, False):
        coo = torch.sparse_coo_tensor(indices, values, (2, 3), check_invariants=False)
        rows = torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 9]), values, (2, 3),
            check_invariants=False)
        for tensor in (coo, rows):
            file = io.BytesIO()
            save(tensor, file, _use_new_zipfile_serialization=zipped)
            with pytest.raises(LoadError):
                load(io.BytesIO(file.getvalue()))


def test_storages_that_the_old_format_leaves_out():
    file = io.BytesIO()
    save([torch.ones(2), torch.zeros(3)], file, _use_new_zipfile_serialization=False)
    keys = pickle.dumps(["0", "1"], 2)
    data = file.getvalue()
    assert data.count(keys) == 1
    for other in (["0"], ["0", "1", "2"], ["0", 1], "01", [("0",)], ["0", "0"]):
        with pytest.raises(LoadError, match="storage key .* not found among|keys are missing"):
            load(io.BytesIO(data.replace(keys, pickle.dumps(other, 2))))


# -- safetensors ------------------------------------------------------------------------------------------------------


def safetensors(header, data):
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


TENSOR = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}


def test_safetensors(tmp_path):
    path = tmp_path / "x.safetensors"
    header = {"__metadata__": {"format": "pt"}, "half": {"dtype": "BF16", "shape": [1], "data_offsets": [16, 18]},
        "w": TENSOR,
              "none": {"dtype": "I64", "shape": [0, 3], "data_offsets": [18, 18]},
              "flag": {"dtype": "BOOL", "shape": [], "data_offsets": [18, 19]}}
    data = np.arange(4, dtype="<f4").tobytes() + b"\x80\x3f" + b"\x01"
    path.write_bytes(safetensors(header, data))
    found = load(path)
    assert list(found) == ["half", "w", "none", "flag"]
    assert (found["w"].tolist() == [[0, 1], [2, 3]] and found["half"].tolist() == [1]
        and found["half"].dtype is torch.bfloat16)
    assert found["none"].shape == (0, 3) and found["flag"].item() is True
    assert load(str(path), map_location="cpu")["w"].device.type == "cpu"
    for wrong in ({"cpu": "cpu"}, lambda storage, at: storage):
        with pytest.raises(RuntimeError, match="map_location is not supported. Use a device string"):
            load(path, map_location=wrong)
    whole = path.read_bytes()
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        with pytest.raises(LoadError, match="x.safetensors"):
            load(path)


WRONG = {
    "a huge header": struct.pack("<Q", 2**60) + b"{}",
    "no text": safetensors(b"\xff\xff", b""),
    "no table": safetensors([1], b""),
    "a deep header": safetensors(b"[" * 10**5, b""),
    "a name twice": safetensors(b'{"a": 1, "a": 2}', b""),
    "an unknown type": safetensors({"w": TENSOR | {"dtype": "F3"}}, bytes(16)),
    "a huge shape": safetensors({"w": TENSOR | {"shape": [2**62, 2**62]}}, bytes(16)),
    "a negative shape": safetensors({"w": TENSOR | {"shape": [-2, -2]}}, bytes(16)),
    "a fraction": safetensors({"w": TENSOR | {"shape": [2.0, 2.0]}}, bytes(16)),
    "another size": safetensors({"w": TENSOR | {"shape": [2, 3]}}, bytes(24)),
    "bytes beyond": safetensors({"w": TENSOR}, bytes(15)),
    "bytes left": safetensors({"w": TENSOR}, bytes(17)),
    "two in one place": safetensors({"v": TENSOR, "w": TENSOR}, bytes(16)),
    "a gap": safetensors({"w": TENSOR | {"data_offsets": [4, 20]}}, bytes(20)),
    "no place": safetensors({"w": {"dtype": "F32", "shape": [1]}}, bytes(4)),
}


@pytest.mark.parametrize("name", WRONG)
def test_damaged_safetensors(name, tmp_path, frugal):
    path = tmp_path / "x.safetensors"
    path.write_bytes(WRONG[name])
    with pytest.raises(LoadError, match="x.safetensors"):
        load(path)


def test_loads_of_allowed_things_are_checked_too():
    bomb = archive(called("fractions Fraction", text("1e999999999")))
    with safe_globals([__import__("fractions").Fraction]), pytest.raises(LoadError,
            match="Fraction is not called with"):
        load(io.BytesIO(bomb))


def test_damaged_deflate_streams():
    data = bytearray(archive(pickle.dumps(list(range(1000)), 2), compression=zipfile.ZIP_DEFLATED))
    for at in range(45, len(data) - 100, 20):
        damaged = bytearray(data)
        damaged[at] ^= 0x55
        with pytest.raises(LoadError):
            load(io.BytesIO(damaged))
    assert zlib.error  # what zlib raises is never seen
