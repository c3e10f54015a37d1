"""Where things are from, and whole objects in files: what one library writes, the other reads."""

from __future__ import annotations

import collections
import inspect
import io
import pickle

import pytest

import wengert
from wengert.names.homes import find, their_module

pytorch = pytest.importorskip("torch")
LIBRARIES = {"torch": pytorch, "wengert": wengert}
ROOMS = (
    "nn", "optim", "optim.lr_scheduler", "optim.swa_utils", "distributions", "distributions.constraints", "utils.data",
    "amp", "autograd.function", "autograd.graph",
)


def room(library, path):
    for part in path.split("."):
        library = getattr(library, part)
    return library


@pytest.mark.parametrize("path", ROOMS)
def test_classes_are_from_pytorchs_modules(path):
    for name in dir(room(pytorch, path)):
        theirs, ours = getattr(room(pytorch, path), name), getattr(room(wengert, path), name, None)
        if (name.startswith("_") or not inspect.isclass(theirs) or not inspect.isclass(ours)
                or not ours.__module__.startswith("wengert")):
            continue
        if not theirs.__module__.startswith("torch"):
            continue
        module = their_module(ours.__module__, ours.__qualname__)
        assert module == theirs.__module__, name
        assert find(module, ours.__qualname__) is ours, name


LAYERS = {
    "Linear": (2, 2), "Conv2d": (1, 1, 1), "MultiheadAttention": (2, 1), "LSTM": (2, 2), "GRU": (2, 2),
    "LSTMCell": (2, 2), "BatchNorm1d": (2,), "LayerNorm": (2,), "Embedding": (2, 2), "GELU": (),
    "TransformerEncoderLayer": (2, 1, 2), "CrossEntropyLoss": (), "LazyLinear": (2,),
    "AdaptiveLogSoftmaxWithLoss": (4, 6, [2]), "Unflatten": (1, (1, 2)), "ZeroPad2d": (1,),
}
SCHEDULES = {"StepLR": (1,), "ReduceLROnPlateau": (), "CyclicLR": (0.1, 0.2), "CosineAnnealingLR": (3,)}


def objects(torch):
    nn, d, one = torch.nn, torch.distributions, torch.ones(1)
    found = {name: getattr(nn, name)(*args) for name, args in LAYERS.items()}
    optimizers = {name: getattr(torch.optim, name)([nn.Parameter(torch.ones(2))], lr=0.1)
        for name in ("SGD", "Adam", "Adafactor", "LBFGS")}
    schedules = {name: getattr(torch.optim.lr_scheduler, name)(optimizers["SGD"], *args)
        for name, args in SCHEDULES.items()}
    functions = [torch.add, torch.tanh, torch.zeros, torch.einsum, nn.functional.relu, nn.functional.gelu,
        torch.linalg.norm, torch.special.erf]
    return found | optimizers | schedules | {
        "Sequential": nn.Sequential(collections.OrderedDict(a=nn.Linear(2, 2), b=nn.Tanh())),
        "Normal": d.Normal(one, one), "RelaxedBernoulli": d.RelaxedBernoulli(one, one / 2),
        "Affine": d.transforms.AffineTransform(0, 1), "spectral": nn.utils.spectral_norm(nn.Linear(2, 2)),
        "packed": nn.utils.rnn.pack_sequence([torch.ones(2)]), "data": torch.utils.data.TensorDataset(torch.ones(2)),
        "Generator": torch.Generator().manual_seed(5), "max": torch.max(torch.ones(2, 2), 0), "functions": functions,
        "dtype": [torch.float32, torch.device("cpu"), torch.Size([1])],
        "average": torch.optim.swa_utils.AveragedModel(nn.Linear(2, 2)),
    }


@pytest.mark.parametrize("writer", LIBRARIES)
@pytest.mark.parametrize("reader", LIBRARIES)
@pytest.mark.filterwarnings("ignore")
def test_whole_objects_travel(writer, reader):
    expected = objects(LIBRARIES[reader])
    for name, thing in objects(LIBRARIES[writer]).items():
        file = io.BytesIO()
        LIBRARIES[writer].save(thing, file)
        file.seek(0)
        found = LIBRARIES[reader].load(file, weights_only=False)
        assert type(found) is type(expected[name]), name
        repr(found)
        if name == "functions":
            assert all(f is g for f, g in zip(found, expected[name]))
        if name in ("Linear", "LSTM", "GRU", "Sequential", "spectral"):
            found(LIBRARIES[reader].ones(1, 2))
        if name == "Generator":
            assert (found.initial_seed() == 5
                and LIBRARIES[reader].rand(1, generator=found) == LIBRARIES[reader].rand(1, generator=expected[name]))


def test_plain_pickles_of_functions():
    for f in (wengert.zeros, wengert.add, wengert.linalg.norm, wengert.fft.fft, wengert.special.erf, wengert.split,
            wengert.manual_seed):
        assert pickle.loads(pickle.dumps(f)) is f
