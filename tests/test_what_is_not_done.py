"""What programs ask for and do not get is refused, or said once: torch.compile, torch.jit, settings of precision."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import warnings

import pytest

import wengert as torch
from wengert.arrays import errors


@pytest.fixture
def told(monkeypatch):
    """The warnings of a call, where nothing has been warned of before."""
    monkeypatch.setattr(errors, "_warned", set())

    def told(call):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert all(w.filename == __file__ for w in caught)
        return [str(w.message) for w in caught]

    return told


def backend(graph, inputs):
    raise AssertionError("it is not called")


IGNORED = {
    "fullgraph=True": {"fullgraph": True},
    "dynamic=False": {"dynamic": False},
    "mode='max-autotune'": {"mode": "max-autotune"},
    "options={'epilogue_fusion': True}": {"options": {"epilogue_fusion": True}},
    "backend='inductor'": {"backend": "inductor"},
    "backend='aot_eager'": {"backend": "aot_eager"},
    "backend=backend; the backend is not called": {"backend": backend},
}


@pytest.mark.parametrize("text", IGNORED)
def test_settings_of_compile_that_have_no_effect_are_said_once(told, text):
    model = torch.nn.Linear(1, 1)
    for compile in (lambda: torch.compile(model, **IGNORED[text]), lambda: torch.compile(**IGNORED[text])(model)):
        errors._warned.clear()
        (message,) = told(compile)
        assert message.startswith(
            "torch.compile: nothing is compiled here, the model runs eagerly"
        ) and message.endswith(f"without effect: {text}")
        assert told(compile) == []
    assert told(lambda: torch.compile(model, disable=True, **IGNORED[text])) == []


def test_compile_alone_is_quiet(told):
    model = torch.nn.Linear(1, 1)
    for given in (
        {},
        {"backend": "eager"},
        {"mode": "default"},
        {"fullgraph": False},
        {"options": {}},
        {"dynamic": None},
    ):
        assert told(lambda given=given: torch.compile(model, **given)(torch.ones(1, 1))) == []


def test_compile_refuses(told):
    from wengert.compat._dynamo.exc import InvalidBackend

    def f(x):
        return x

    with pytest.raises(
        InvalidBackend,
        match=re.escape("Invalid backend: 'nope', see `torch._dynamo.list_backends()` for available backends."),
    ):
        torch.compile(f, backend="nope")
    with pytest.raises(InvalidBackend):
        torch.compile(f, backend="nope", disable=True)
    with pytest.raises(TypeError, match="'backend' must be str or a function, not int"):
        torch.compile(f, backend=3)
    with pytest.raises(TypeError, match="'options' must be dict, not str"):
        torch.compile(f, options="fast")
    with pytest.raises(TypeError, match="unexpected keyword argument 'fulgraph'"):
        torch.compile(f, fulgraph=True)
    assert "eager" in torch._dynamo.list_backends(exclude_tags=()) and torch._dynamo.list_backends() == [
        "cudagraphs",
        "inductor",
        "openxla",
        "tvm",
    ]
    for name in torch._dynamo.list_backends(exclude_tags=()):
        told(lambda name=name: torch.compile(f, backend=name))


def test_modules_compile_with_the_same_settings(told):
    model = torch.nn.Linear(1, 1)
    assert told(lambda: model.compile()) == [] and model.compile(name="a", disable=True, backend="tvm") is None
    (message,) = told(lambda: model.compile(dynamic=True, fullgraph=True, options={"a": 1}))
    assert "without effect: dynamic=True, fullgraph=True, options={'a': 1}" in message
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="nope"):
        model.compile(backend="nope")
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        model.compile(mode="fast")
    with pytest.raises(TypeError, match="unexpected keyword argument 'fulgraph'"):
        model.compile(fulgraph=True)


def test_the_compiler_of_before_is_one(told):
    assert torch._dynamo.optimize()(len)([1]) == 1
    assert told(lambda: torch._dynamo.optimize("aot_eager", nopython=True)(len))[0].endswith(
        "without effect: fullgraph=True, backend='aot_eager'"
    )
    with pytest.raises(RuntimeError, match="Invalid backend"):
        torch._dynamo.optimize("nope")(len)


def scripted_twice(x):
    return x * 2


scripted = None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripted_functions():
    global scripted
    f = scripted = torch.jit.script(scripted_twice)
    assert f(3) == 6 and f.__name__ == f.name == "scripted_twice" and isinstance(f, torch.jit.ScriptFunction)
    assert not isinstance(scripted_twice, torch.jit.ScriptFunction)
    traced = torch.jit.trace(scripted_twice, torch.ones(2))
    for name in ("save", "graph", "code", "inlined_graph", "graph_for", "schema"):
        for g in (f, traced):
            assert not hasattr(g, name)
            with pytest.raises(
                AttributeError,
                match=f"'ScriptFunction' object has no attribute '{name}': .* save the module's state_dict with",
            ):
                getattr(g, name)
    with pytest.raises(AttributeError, match="'function' object has no attribute 'nothing'"):
        f.nothing
    model = torch.nn.Linear(1, 1)
    model.act = f
    assert copy.deepcopy(model).act(1) == 2 and pickle.loads(pickle.dumps(f))(2) == 4 and "scripted_twice" in repr(f)


@torch.jit.script_method
def decorated(x):
    return x + 1


decorated = torch.jit.ScriptFunction(decorated)


def test_a_decorated_function_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripted_modules_are_the_modules():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3))
    for got in (torch.jit.script(model), torch.jit.trace(model, torch.ones(1, 2)), torch.jit.freeze(model)):
        assert got is model and len(list(got.parameters())) == 2 and list(got.state_dict()) == ["0.weight", "0.bias"]
        for name in ("save", "graph", "code"):
            assert not hasattr(got, name)
            text = (
                f"'Sequential' object has no attribute '{name}': torch.jit.script and .* save the module's state_dict"
            )
            with pytest.raises(AttributeError, match=text):
                getattr(got, name)
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'nothing'$"):
        model.nothing
    with pytest.raises(TypeError, match="save its state_dict with torch.save"):
        torch.jit.save(model, "nowhere")


def test_modules_that_are_written_to_be_scripted():
    class Own(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 1)

        @torch.jit.script_method
        def forward(self, x):
            return self.linear(x)

    own = Own()
    assert isinstance(own, torch.nn.Module) and isinstance(own, torch.ScriptModule) and len(list(own.parameters())) == 2
    own(torch.ones(1, 2)).sum().backward()
    assert own.linear.weight.grad is not None
    assert not isinstance(torch.nn.Linear(1, 1), torch.jit.ScriptModule) and not isinstance(
        own, torch.jit.RecursiveScriptModule
    )


SETTINGS = """
import sys, warnings
warnings.simplefilter("error")
torch = __import__(sys.argv[1])
found = [torch.get_float32_matmul_precision()]
for word in ("high", "medium", "highest"):
    torch.set_float32_matmul_precision(word)
    found += [torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32]
for truth in (True, False):
    torch.backends.cuda.matmul.allow_tf32 = truth
    found += [torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32]
def refused(call):
    try:
        call()
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}".partition(";")[0])
    else:
        found.append("taken")
refused(lambda: torch.set_float32_matmul_precision("bogus"))
refused(lambda: torch.set_float32_matmul_precision(3))
for place, name, value in (
    (torch.backends.cuda.matmul, "allow_tf32", "x"), (torch.backends.cuda.matmul, "fp32_precision", "bogus"),
    (torch.backends.cuda.matmul, "fp32_precision", "ieee"), (torch.backends.cuda.matmul, "nothing", 1),
    (torch.backends.cuda.matmul, "allow_fp16_accumulation", True), (torch.backends.cudnn, "benchmark_limit", 3),
    (torch.backends.cuda.matmul, "allow_bf16_reduced_precision_reduction", 1), (torch.backends.cudnn, "enabled", "x"),
    (torch.backends.cudnn, "benchmark", 1), (torch.backends.cudnn, "benchmark", True),
    (torch.backends.cudnn, "deterministic", True), (torch.backends.cudnn, "allow_tf32", None),
    (torch.backends.mkldnn, "enabled", False),
):
    refused(lambda: setattr(place, name, value))
    try:
        found.append(getattr(place, name))
    except AttributeError as error:
        found.append(str(error))
for n in (0, "x", True, 3):
    refused(lambda: torch.set_num_interop_threads(n))
found.append(torch.get_num_interop_threads())
print(*found, sep="\\n")
"""


@pytest.mark.parity
def test_settings_read_back_as_they_were_set():
    answers = []
    for name in ("torch", "wengert"):
        done = subprocess.run([sys.executable, "-c", SETTINGS, name], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout.splitlines())
    assert answers[0] == answers[1]


def test_settings_of_precision():
    assert torch.get_float32_matmul_precision() == "highest"
    try:
        torch.set_float32_matmul_precision("high")
        assert torch.get_float32_matmul_precision() == "high" and torch.backends.cuda.matmul.allow_tf32 is True
        with pytest.warns(UserWarning, match="bogus is not one of 'highest', 'high', or 'medium'"):
            torch.set_float32_matmul_precision("bogus")
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_texts_about_cards_say_what_is_missing():
    for use in (
        lambda: torch.ones(1).cuda(),
        lambda: torch.ones(1, device="cuda"),
        lambda: torch.nn.Linear(1, 1).cuda(),
    ):
        with pytest.raises(
            AssertionError, match="Torch not compiled with CUDA enabled: wengert computes on the CPU alone"
        ) as caught:
            use()
        assert "CuPy, which is not installed: pip install 'wengert[cuda]'" in str(caught.value)
