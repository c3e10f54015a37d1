"""A file is data: it cannot make us run code, leave its storages, or name what nobody allowed."""

from __future__ import annotations

import dataclasses
import enum
import io
import os
import pickle
import subprocess
import sys
import zipfile
from collections import OrderedDict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import wengert as torch
from wengert import serialization
from wengert.functions.parameter import Parameter
from wengert.serialization import load, save


@pytest.fixture(autouse=True)
def nothing_allowed():
    yield
    serialization.clear_safe_globals()


def written(obj, **options):
    file = io.BytesIO()
    save(obj, file, **options)
    file.seek(0)
    return file


def again(obj, **options):
    return load(written(obj), **options)


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


class Attack:
    """Pickles as a call of ``function(*args)``."""

    def __init__(self, function, *args):
        self.call = (function, args)

    def __reduce__(self):
        return self.call


ATTACKS = [
    Attack(os.system, "exit 1"), Attack(eval, "1/0"), Attack(exec, "raise SystemExit"), Attack(open, os.devnull),
    Attack(getattr, "text", "upper"), Attack(__import__, "os"), Attack(type, "X", (), {}), Attack(range, 1, 2),
    Attack(np.array, [1]), Attack(map, len, [[1]]),
]


@pytest.mark.parametrize("weights_only", [None, True, False])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.call[0].__name__)
@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
def test_calls_are_refused(attack, weights_only, protocol):
    pickled = pickle.dumps(attack, protocol)
    legacy = b"".join(pickle.dumps(x, 2) for x in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})) + pickled
    name = attack.call[0].__name__
    for file in (archive(pickled), io.BytesIO(legacy)):
        with pytest.raises(pickle.UnpicklingError, match="^Weights only load failed. wengert never runs code") as error:
            load(file, weights_only=weights_only)
        assert name in str(error.value)


def test_the_message_says_what_to_do():
    with pytest.raises(pickle.UnpicklingError) as error:
        again(Fraction(1, 2))
    text = str(error.value)
    assert "Unsupported global: GLOBAL fractions.Fraction was not an allowed global by default." in text
    assert "torch.serialization.add_safe_globals([fractions.Fraction])" in text
    assert "torch.serialization.safe_globals([fractions.Fraction])" in text
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False does not change that"):
        again(range(2), weights_only=False)


def op(text):
    """A pickle from opcodes: ``'cbuiltins\\nlist\\n ) R .'`` without the spaces between."""
    return b"\x80\x02" + text


REFUSED = {
    "call of a tensor": (op(b"}R."), "Trying to call reduce for unrecognized function|pickle is damaged"),
    "call of a list": (op(b"])R."), "Trying to call reduce for unrecognized function"),
    "call without a tuple": (op(b"c__builtin__\nset\n]R."), "Trying to call reduce"),
    "instance of a function": (op(b"ctorch._utils\n_rebuild_tensor_v2\n)\x81."), "Can only create new object for"),
    "state of a class": (op(b"ctorch\nTensor\n}U\x01aK\x01sb."), "Can only build Tensor, Parameter, OrderedDict"),
    "state of a function": (op(b"ctorch._utils\n_rebuild_tensor_v2\n}b."), "Can only build"),
    "state of a list": (op(b"]}b."), "Can only build"),
    "append to a dict": (op(b"}K\x01a."), "Can only append to lists"),
    "extend a dict": (op(b"}(K\x01e."), "Can only extend lists"),
    "item of a list": (op(b"]K\x01K\x02s."), "Can only SETITEM for dict"),
    "items of a class": (op(b"ctorch\nTensor\n(K\x01K\x02u."), "Can only SETITEMS for dict"),
    "add to a list": (op(b"](K\x01\x90."), "Can only ADDITEMS for sets"),
    "extension registry": (op(b"\x82\x01."), "Unsupported operand 130"),
    "old instance": (op(b"(ios\nsystem\n."), "Unsupported operand"),
    "textual persistent id": (op(b"Pstorage\n."), "Unsupported operand 80"),
    "id of something else": (op(b"X\x06\x00\x00\x00module\x85Q."), "Only persistent_load of storage is allowed"),
    "id that is no tuple": (op(b"K\x01Q."), "persistent_load id must be tuple or int"),
    "blocked module": (op(b"cos\nsystem\n."), "GLOBAL os.system whose module os is blocked"),
    "dotted name": (b"\x80\x04\x8c\x05torch\x8c\x11Tensor.__module__\x93.", "was not an allowed global"),
    "private name": (op(b"ctorch._utils\n_import_dotted_name\n."), "was not an allowed global"),
    "module": (op(b"cwengert.serialization\nload\n."), "was not an allowed global"),
    "empty stack": (op(b"."), "pickle is damaged"),
    "unknown memo": (op(b"h\x07."), "Memo value not found"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("weights_only", [True, False])
def test_instructions_are_refused(name, weights_only):
    pickled, message = REFUSED[name]
    with pytest.raises(pickle.UnpicklingError, match=f"(?s)^Weights only load failed.*({message})"):
        load(archive(pickled), weights_only=weights_only)


def test_nothing_of_ours_changed_hands():
    for pickled in (b"ctorch\nTensor\nN}U\x05shapeK\x01s\x86b.", b"ccollections\nOrderedDict\n}U\x01aK\x01sb."):
        with pytest.raises(pickle.UnpicklingError):
            load(archive(op(pickled)))
    assert torch.ones(2).shape == (2,)
    assert not hasattr(OrderedDict, "a")


def tensor_pickle(storage=b"K\x02", offset=b"K\x00", size=b"K\x02\x85", stride=b"K\x01\x85", flags=b"\x89"):
    """A pickle of one tensor, from the opcodes of its parts."""
    return op(
        b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000"
        b"X\x03\x00\x00\x00cpu" + storage + b"tQ" + offset + size + stride + flags + b"}tR."
    )


TWO = {"0": np.arange(2, dtype="f4").tobytes()}
MINUS_ONE = b"J\xff\xff\xff\xff"
WRONG = {
    "size": (dict(size=b"K\x03\x85"), r"setStorage: sizes \[3\], strides \[1\], .* out of bounds for storage of size"),
    "offset": (dict(offset=b"K\x01"), "out of bounds"),
    "stride": (dict(stride=b"K\x09\x85"), "out of bounds"),
    "huge stride": (dict(stride=b"\x8a\x09" + b"\xff" * 8 + b"\x00\x85"), "out of bounds"),
    "negative stride": (dict(stride=MINUS_ONE + b"\x85", offset=b"K\x01"), "negative"),
    "negative offset": (dict(offset=MINUS_ONE), "negative"),
    "negative size": (dict(size=MINUS_ONE + b"\x85"), "negative dimension"),
    "float size": (dict(size=b"G?\xf0\0\0\0\0\0\0\x85"), "must be integers"),
    "more strides than sizes": (dict(stride=b"K\x01K\x01\x86"), "must be integers"),
    "larger storage": (dict(storage=b"K\x03"), "holds 8 bytes, but its tensors need 12"),
    "negative storage": (dict(storage=MINUS_ONE), "not the identifier of a storage"),
}


@pytest.mark.parametrize("name", WRONG)
def test_tensors_stay_inside_their_storage(name):
    assert load(archive(tensor_pickle(), TWO)).tolist() == [0, 1]
    parts, message = WRONG[name]
    with pytest.raises(RuntimeError, match=message):
        load(archive(tensor_pickle(**parts), TWO))


def test_a_missing_storage():
    with pytest.raises(RuntimeError, match="failed locating file data/0: file not found"):
        load(archive(tensor_pickle()))


def test_scripted_programs_are_refused():
    file = archive(pickle.dumps(1, 2))
    with zipfile.ZipFile(file, "a") as z:
        z.writestr("archive/constants.pkl", b"")
    file.seek(0)
    with pytest.raises(RuntimeError, match="TorchScript archives"):
        load(file)


# -- what the user allows ---------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Config:
    width: int
    weights: object = None


class Slotted:
    __slots__ = ("a",)


class Custom:
    def __setstate__(self, state):
        self.seen = state

    def __getstate__(self):
        return {"x": 1}


class Colour(enum.Enum):
    RED = 1


class Table(dict):
    pass


def test_plain_classes_can_be_allowed():
    slotted = Slotted()
    slotted.a = 5
    obj = [Config(3, torch.ones(2)), slotted, Custom(), Colour.RED, Fraction(1, 3), Table(a=1)]
    kinds = [Config, Slotted, Custom, Colour, Fraction, Table]
    for thing, kind in zip(obj, kinds):
        with pytest.raises(pickle.UnpicklingError, match=kind.__name__):
            again(thing)
    serialization.add_safe_globals(kinds)
    for weights_only in (True, False):
        config, slotted, custom, colour, third, table = again(obj, weights_only=weights_only)
        assert (config.width, config.weights.tolist()) == (3, [1, 1])
        assert (slotted.a, custom.seen, colour, third, table) == (5, {"x": 1}, Colour.RED, Fraction(1, 3), {"a": 1})
        assert type(table) is Table


def test_the_list_of_what_is_allowed():
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([Config])
    with serialization.safe_globals([Config, Fraction]):
        assert set(serialization.get_safe_globals()) == {Config, Fraction}
    assert serialization.get_safe_globals() == [Config]
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def test_allowed_under_another_name():
    with serialization.safe_globals([(Fraction, "old.place.Ratio")]):
        assert load(archive(op(b"cold.place\nRatio\nK\x01K\x02\x86R."))) == Fraction(1, 2)
    for wrong, error, message in (
        ((Fraction, "a", "b"), ValueError, "Expected tuple of length 2"),
        ((Fraction, 3), TypeError, "Expected second item in tuple to be str"),
    ):
        with serialization.safe_globals([wrong]), pytest.raises(error, match=message):
            again(1)


def test_some_modules_cannot_be_allowed():
    with (
        serialization.safe_globals([(os.system, "os.system")]),
        pytest.raises(pickle.UnpicklingError, match="whose module os is blocked"),
    ):
        load(archive(op(b"cos\nsystem\nX\x04\x00\x00\x00true\x85R.")))


@pytest.mark.parametrize("protocol", [2, 4])
def test_unsafe_globals_are_listed(protocol):
    file = written([torch.ones(2), Config(1), Fraction(1, 2), {1}], pickle_protocol=protocol)
    assert serialization.get_unsafe_globals_in_checkpoint(file) == sorted([f"{__name__}.Config", "fractions.Fraction"])
    file.seek(0)
    with serialization.safe_globals([Config]):
        assert serialization.get_unsafe_globals_in_checkpoint(file) == ["fractions.Fraction"]
    with pytest.raises(ValueError, match="Expected input to be a checkpoint returned by torch.save"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"text"))


def test_whole_models():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    with pytest.raises(pickle.UnpicklingError, match="torch.nn.modules.container.Sequential"):
        again(model)
    x = torch.ones(1, 2)
    kinds = [torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU]
    for found in (again(model, weights_only=False), allowing(kinds, model)):
        assert found(x).tolist() == model(x).tolist()
        assert isinstance(found[0].weight, Parameter)


def allowing(kinds, model):
    with serialization.safe_globals(kinds):
        return again(model)


def test_an_activation_that_a_layer_holds_is_named_but_never_called():
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, activation="gelu")
    assert again(layer, weights_only=False).activation is torch.nn.functional.gelu
    with pytest.raises(pickle.UnpicklingError):
        again(layer)

    class Calls:
        def __reduce__(self):
            return torch.nn.functional.relu, (torch.ones(1),)

    with pytest.raises(pickle.UnpicklingError):
        again(Calls(), weights_only=False)


class Runs:
    def __init__(self, command="nothing"):
        Runs.ran = True

    @staticmethod
    def helper(x):
        return x


def of_the_program(x):
    return x


def test_objects_of_the_program():
    Runs.ran = False
    made = Runs()
    made.layer, made.function, made.inner, made.method = (torch.nn.Linear(1, 1), of_the_program, Runs.helper,
        torch.nn.Linear(1, 1).forward)
    made.values = [Fraction(1, 3), Path("a"), Colour.RED, np.ones(2), np.float64(2.0), Table(a=1),
        torch.max(torch.ones(1, 1), 0)]
    Runs.ran = False
    found = again(made, weights_only=False)
    assert type(found) is Runs and not Runs.ran  # its state, without a call
    assert (found.function is of_the_program and found.inner is Runs.helper
        and found.method(torch.ones(1, 1)).shape == (1, 1))
    assert (found.values[:3] == made.values[:3] and found.values[3].tolist() == [1, 1] and found.values[4] == 2
        and found.values[5] == {"a": 1})
    with pytest.raises(pickle.UnpicklingError, match="was not an allowed global"):
        again(made)


def calling(thing, *args):
    class Calls:
        def __reduce__(self):
            return thing, args

    return Calls()


@pytest.mark.parametrize(
    "obj",
    [
        calling(Runs, "something"), calling(of_the_program, 1), calling(torch.nn.functional.relu, 1),
        calling(torch.save, {}, "path"), calling(getattr, subprocess, "run"),
        calling(getattr, torch.ones, "__globals__"), calling(eval, "1"), calling(torch.load, "path"), subprocess.run,
        subprocess.Popen, torch.save, torch.load, calling(map, of_the_program, [1]),
    ],
    ids=lambda obj: None,
)
def test_the_program_is_not_called(obj):
    Runs.ran = False
    with pytest.raises((pickle.UnpicklingError, TypeError)):  # the latter where it cannot even be written
        again(obj, weights_only=False)
    assert not Runs.ran


ELSEWHERE = [
    b"wengert.__main__\nmain",
    b"torch.cli.run\nmain",
    b"antigravity\nfly",
    b"torch.utils.data.worker\nos.system",
    b"subprocess\nPopen",
]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_nothing_is_imported_for_a_file(name):
    before = set(sys.modules)
    with pytest.raises(pickle.UnpicklingError):
        load(archive(op(b"c" + name + b"\n.")), weights_only=False)
    assert not {"antigravity", "wengert.__main__", "wengert.cli.run"} & (set(sys.modules) - before)
