"""NumPy's arrays, numbers and types in files, and what ``add_safe_globals`` makes of them and of the standard library's
values.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import importlib
import io
import ipaddress
import pathlib
import pickle
import types
import uuid
import zipfile

import numpy as np
import pytest

import wengert as torch
from wengert.serialization import LoadError, get_unsafe_globals_in_checkpoint, load, safe_globals, save

try:
    import torch as pytorch
except ImportError:
    pytorch = None
WRITERS = (
    [pytest.param(save, id="ours")] + (
        [pytest.param(pytorch.save, id="torch's")] if pytorch is not None and pytorch is not torch else []))


class Colour(enum.Enum):
    RED = 1


class Flags(enum.IntFlag):
    A = 1
    B = 2


@dataclasses.dataclass(frozen=True)
class Point:
    x: int


Pair = collections.namedtuple("Pair", "a b")

ARRAYS = {
    **{f"array of {code}": np.arange(6).reshape(2, 3).astype(code) for code in "?bBhHiIlLqQefdgFDG"},
    "other byte order": np.arange(3, dtype=">f4"), "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "view": np.arange(10)[::-2], "three dimensions": np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
    "zero dimensions": np.array(3.5), "empty": np.zeros((0, 3)), "text": np.array(["a", "bcd", ""]),
    "bytes": np.array([b"a", b"bc"]), "void": np.array([b"abcd"], "V4"),
    "dates": np.array(["2020-01-01", "NaT"], "M8[D]"), "durations": np.array([1, 2], ">m8[3s]"),
    "no unit": np.array([1], "m8"), "structured": np.array([(1, 2.5, "x")], [("a", "i4"), ("b", ">f8"), ("c", "U3")]),
    "nested": np.zeros(2, [("p", [("x", "f4"), ("y", "f4", (2, 2))])]),
    "aligned": np.zeros(2, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    "titles": np.zeros(1, [(("title", "a"), "i4")]),
    "gaps": np.zeros(1, np.dtype({"names": ["a"], "formats": ["i4"], "offsets": [4], "itemsize": 12})),
    "records": np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "objects": np.array([1, "a", None, (2, [3])], object), "arrays of objects": np.array([np.ones(2), None], object),
    "objects in fields": np.array([(1, [2])], [("a", "i4"), ("b", "O")]), "matrix": np.asmatrix(np.ones((1, 2))),
    "float64": np.float64(1.5), "bool": np.bool_(True), "complex64": np.complex64(1j),
    "date": np.datetime64("2020-01-01"), "str": np.str_("a"), "bytes_": np.bytes_(b"a"),
    "record": np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")])[0],
    "record of objects": np.array([([1],)], [("a", "O")])[0], "dtype": np.dtype("f4"),
    "structured dtype": np.dtype([("a", "i4"), ("b", "f4", (2,))]), "sub-array dtype": np.dtype(("i4", (2,))),
    "metadata": np.dtype("f4", metadata={"unit": "m"}), "class of numbers": np.float32,
    "repeated": [np.ones(2), np.ones(3)] * 2,
}
if hasattr(np.dtypes, "StringDType"):
    ARRAYS["strings"] = np.array(["a", "long " * 20], np.dtypes.StringDType())
    ARRAYS["missing strings"] = np.array(["a", None], np.dtypes.StringDType(na_object=None))
VALUES = {
    "OrderedDict": collections.OrderedDict(a=1), "Counter": collections.Counter("aab"),
    "deque": collections.deque([1, 2], 3), "defaultdict": collections.defaultdict(list, a=[1]),
    "date": datetime.date(2020, 1, 2),
    "datetime": datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1), "x")),
    "timedelta": datetime.timedelta(3), "time": datetime.time(3), "Decimal": decimal.Decimal("1.5"),
    "Fraction": fractions.Fraction(-1, 3), "Path": pathlib.Path("a/b"), "PurePosixPath": pathlib.PurePosixPath("a/b"),
    "PureWindowsPath": pathlib.PureWindowsPath("a/b"), "UUID": uuid.UUID(int=5), "Enum": Colour.RED,
    "IntFlag": Flags.A | Flags.B, "dataclass": Point(3),
    "a key": {Point(1): 2}, "namedtuple": Pair(1, 2), "SimpleNamespace": types.SimpleNamespace(a=1),
    "Namespace": argparse.Namespace(a=1), "frozenset": frozenset([1]), "complex": 2j, "bytearray": bytearray(b"a"),
}
ALLOWED = {
    "range": range(3),
    "slice": slice(1, 2),
    "ChainMap": collections.ChainMap({1: 2}),
    "UserDict": collections.UserDict(a=1),
    "address": ipaddress.ip_address("1.2.3.4"),
}
if hasattr(np.ma.core, "_mareconstruct"):
    ALLOWED["masked"] = np.ma.array([1, 2], mask=[0, 1])


def described(x):
    """All of an object that a file should keep."""
    if isinstance(x, np.ma.MaskedArray):
        return x.tolist()
    if isinstance(x, np.ndarray):
        held = [described(i) for i in x.ravel().tolist()] if x.dtype.hasobject or x.dtype.kind == "T" else x.tobytes()
        return type(x), x.dtype, x.shape, x.flags.f_contiguous, held
    if isinstance(x, np.generic):
        return type(x), x.dtype, x.tolist()
    if isinstance(x, np.dtype):
        return type(x), x, x.alignment, x.fields, x.metadata and dict(x.metadata), x.isalignedstruct
    if isinstance(x, (list, tuple)):
        return type(x), [described(i) for i in x]
    return type(x), x


def pickled(obj, protocol):
    """What Python's own reader makes of it: NumPy turns the bytes of numbers into the machine's order, for one."""
    return pickle.loads(pickle.dumps(obj, protocol))


def file_of(write, obj, **options):
    file = io.BytesIO()
    write(obj, file, **options)
    return file.getvalue()


def resolved(name):
    """The object of this full name."""
    module, _, rest = name.rpartition(".")
    while True:
        try:
            found = importlib.import_module(module)
            break
        except ImportError:
            module, _, part = module.rpartition(".")
            rest = f"{part}.{rest}"
    for part in rest.split("."):
        found = getattr(found, part)
    return found


def renamed(data, old, new):
    """The file with other names of modules in its pickle."""
    z = zipfile.ZipFile(io.BytesIO(data))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as other:
        for name in z.namelist():
            content = z.read(name)
            other.writestr(name, content.replace(old, new) if name.endswith("data.pkl") else content)
    return file.getvalue()


@pytest.mark.filterwarnings("ignore:metadata on a dtype:UserWarning")
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("write", WRITERS)
def test_arrays_and_values_make_no_calls(write, protocol, zipped):
    for name, obj in (ARRAYS | VALUES).items():
        data = file_of(write, [obj, torch.ones(2) if write is save else 0], pickle_protocol=protocol,
            _use_new_zipfile_serialization=zipped)
        found = load(io.BytesIO(data), weights_only=False)[0]
        assert described(found) == described(pickled(obj, protocol)), name
        if isinstance(found, np.ndarray) and found.dtype.kind in "iuf":
            assert found.size == obj.size and found.sum() == obj.sum()


@pytest.mark.parametrize("write", WRITERS)
def test_the_environment_allows_arrays(write, monkeypatch):
    data = file_of(write, np.arange(3.0))
    with pytest.raises(LoadError, match=r"numpy\._?core\.multiarray\._reconstruct was not an allowed global"):
        load(io.BytesIO(data))
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected"):
        assert load(io.BytesIO(data)).tolist() == [0, 1, 2]
    with pytest.raises(LoadError):
        load(io.BytesIO(data), weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(RuntimeError, match="Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or"):
        load(io.BytesIO(data))
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(LoadError):
        load(io.BytesIO(data), weights_only=False)
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module"):
        load(io.BytesIO(data), pickle_module=pickle)


OTHERS = [(b"numpy._core", b"numpy.core"), (b"numpy.core", b"numpy._core"), (b"pathlib", b"pathlib._local")]


@pytest.mark.parametrize(("old", "new"), OTHERS)
def test_names_of_other_versions(old, new):
    objs = [np.ones(2), np.float64(2.0), np.array(["a"]), pathlib.PurePosixPath("a")]
    data = renamed(file_of(save, objs), old, new)
    assert described(load(io.BytesIO(data), weights_only=False)) == described(objs)
    core = np._core if hasattr(np, "_core") else np.core
    with safe_globals(
            [np.ndarray, np.dtype, core.multiarray._reconstruct, core.multiarray.scalar, pathlib.PurePosixPath]):
        assert described(load(io.BytesIO(data), weights_only=True)) == described(objs)


@pytest.mark.filterwarnings("ignore:metadata on a dtype:UserWarning")
@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("write", WRITERS)
def test_what_is_refused_can_be_allowed(write, protocol):
    """The names that a message tells to allow are enough, with the classes of what has a state."""
    for name, obj in (ARRAYS | VALUES | ALLOWED).items():
        data = file_of(write, obj, pickle_protocol=protocol)
        names = get_unsafe_globals_in_checkpoint(io.BytesIO(data))
        if names:
            with pytest.raises(LoadError) as error:
                load(io.BytesIO(data))
            assert any(f"GLOBAL {n.removeprefix('builtins.')} was not an allowed global" in str(error.value)
                for n in names), name
        with safe_globals(
                [resolved(n) for n in names] + ([type(obj)] if names and type(obj).__module__ != "builtins" else [])):
            found = load(io.BytesIO(data), weights_only=True)
        assert described(found) == described(pickled(obj, protocol)) or repr(found) == repr(obj), name


@pytest.mark.parametrize("write", WRITERS)
def test_constants_without_a_module(write):
    obj = [..., NotImplemented]
    data = file_of(write, obj)
    assert load(io.BytesIO(data), weights_only=False) == obj
    with pytest.raises(LoadError, match=r"add_safe_globals\(\[Ellipsis\]\)"):
        load(io.BytesIO(data), weights_only=True)
    with safe_globals([Ellipsis, NotImplemented]):
        assert load(io.BytesIO(data), weights_only=True) == obj


@pytest.mark.skipif(len(WRITERS) == 1, reason="torch is not installed")
def test_what_torch_can_be_told_to_allow_can_be_allowed_here():
    for name, obj in (ARRAYS | VALUES | ALLOWED).items():
        data = file_of(pytorch.save, obj)
        allowed = [resolved(n) for n in pytorch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))]
        allowed += [type(x) for x in (obj, getattr(obj, "dtype", None)) if type(x).__module__ != "builtins"]
        with pytorch.serialization.safe_globals(allowed):
            try:
                expected = pytorch.load(io.BytesIO(data), weights_only=True)
            except pickle.UnpicklingError:
                continue
        with safe_globals(allowed):
            assert described(load(io.BytesIO(data), weights_only=True)) == described(expected), name


# -- arrays that are not what they say --------------------------------------------------------------------------------


class Made:
    """Pickles as a call, and a state for what that gives."""

    def __init__(self, function, args, state=None):
        self.parts = (function, args, state)

    def __reduce__(self):
        return self.parts


def dtype(spec, *state):
    return Made(np.dtype, (spec, False, True), state)


def array(kind, shape, held, start=(0,)):
    return Made(CORE._reconstruct, (np.ndarray, start, b"b"), (1, shape, kind, False, held))


CORE = (np._core if hasattr(np, "_core") else np.core).multiarray
NUMERIC = (np._core if hasattr(np, "_core") else np.core).numeric
F8 = np.dtype("f8")
OBJECT = 63  # the flags of NumPy's type of objects
WRONG = {
    "a field beyond its element": array(dtype("V8", 3, "|", None, ("a",), {"a": (F8, 1000)}, 8, 1, 0), (1,), bytes(8)),
    "a field before its element": array(dtype("V8", 3, "|", None, ("a",), {"a": (F8, -8)}, 8, 1, 0), (1,), bytes(8)),
    "objects under other flags": array(dtype("V8", 3, "|", None, ("a",), {"a": (np.dtype("O"), 0)}, 8, 1, 0), (1,),
        b"\x01" * 8),
    "objects and numbers in one place": array(
        dtype("V8", 3, "|", None, ("a", "b"), {"a": (np.dtype("O"), 0), "b": (F8, 0)}, 8, 1,
    OBJECT), (1,), [(None, 1.0)]),
    "objects as bytes": array(np.dtype("O"), (1,), b"\x01" * 8),
    "numbers as objects": array(F8, (1,), [1.0]),
    "a part that is larger": array(dtype("V4", 3, "|", (F8, (2,)), None, None, 4, 1, 0), (1,), bytes(4)),
    "an element of another size": array(dtype("V4", 3, "|", None, ("a",), {"a": (F8, 0)}, 8, 1, 0), (1,), bytes(4)),
    "too few bytes": array(F8, (3,), bytes(16)),
    "too many bytes": array(F8, (1,), bytes(16)),
    "too few objects": array(np.dtype("O"), (3,), [None]),
    "a huge shape": array(F8, (2**40, 2**40), b""),
    "a negative shape": array(F8, (-1,), b""),
    "a shape of floats": array(F8, (1.0,), bytes(8)),
    "no type": array("f8", (1,), bytes(8)),
    "no tuple": Made(CORE._reconstruct, (np.ndarray, (0,), b"b"), [1]),
    "another beginning": array(F8, (1,), bytes(8), start=(10**12,)),
    "a class that is none": Made(CORE._reconstruct, (dict, (0,), b"b")),
    "a type of a type": Made(np.dtype, ([("a", "f8")],)),
    "a type of words": Made(np.dtype, ("f8, (1000000000, 2)i4",)),
    "a type without order": dtype("f8", 3, "!", None, None, None, -1, -1, 0),
    "a type without state": Made(np.dtype, ("f8", False, True), (3,)),
    "a unit of time": dtype("M8", 4, "<", None, None, None, -1, -1, 0, (None, (b"xyz", 1, 1, 1))),
    "a number of too few bytes": Made(CORE.scalar, (F8, b"1234")),
    "a number of nothing": Made(CORE.scalar, (np.dtype("V1000000000"),)),
    "a record of another type": Made(CORE.scalar, (np.dtype([("a", "O")]), np.ones(()))),
    "a buffer that is too short": Made(NUMERIC._frombuffer, (b"1234", F8, (1,), "C")),
    "a buffer of objects": Made(NUMERIC._frombuffer, (b"12345678", np.dtype("O"), (1,), "C")),
    "a buffer of nothing": Made(NUMERIC._frombuffer, (b"", np.dtype("V0"), (2**60,), "C")),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("allowed", [False, True])
def test_arrays_are_checked_before_they_are_made(name, allowed):
    data = file_of(save, WRONG[name], pickle_protocol=4)
    names = [np.ndarray, np.dtype, CORE._reconstruct, CORE.scalar, NUMERIC._frombuffer]
    with safe_globals(names if allowed else []), pytest.raises(LoadError):
        load(io.BytesIO(data), weights_only=allowed)


def test_numpys_own_types_stay_as_they_are():
    big = dtype("f8", 3, ">", None, None, None, -1, -1, 0)
    # without a copy it would be the one that all arrays share
    big.parts = (np.dtype, ("f8", False, False), big.parts[2])
    assert load(io.BytesIO(file_of(save, big)), weights_only=False).byteorder == ">"
    assert np.dtype("f8").isnative and np.ones(1).dtype.isnative


def test_elements_follow_the_rules():
    import subprocess

    for bad in (Made(subprocess.getoutput, ("true",)), subprocess.Popen, range(3)):
        with pytest.raises(LoadError, match="was not an allowed global"):
            load(io.BytesIO(file_of(save, np.array([bad, None], object))), weights_only=False)


def test_an_array_that_holds_itself():
    array = np.array([None, 1], object)
    array[0] = array
    found = load(io.BytesIO(file_of(save, array)), weights_only=False)
    assert found[0] is found and found[1] == 1
