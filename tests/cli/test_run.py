"""``wengert run``: what a program can see is as with ``python``, except that ``import torch`` gives wengert."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import zipfile

import pytest

PYTHON = [sys.executable]
WENGERT = [sys.executable, "-m", "wengert", "run"]


def call(command, *args, cwd=None, stdin="", **environment):
    return subprocess.run(
        [*command, *map(str, args)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


@pytest.fixture
def write(tmp_path):
    def write(name, source):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    return write


@pytest.fixture
def run(tmp_path, write):
    """Run a program and return what it printed; it must not fail."""

    def run(source, *args, **options):
        done = call(WENGERT, write("program.py", source), *args, cwd=tmp_path, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def outcome(done):
    return done.returncode, done.stdout, done.stderr


# What import torch gives


def test_torch_and_its_submodules_are_ours(run):
    program = """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.utils.data
        from torch import optim
        from torch.utils.data import DataLoader, Dataset
        import torch.optim.lr_scheduler
        import torch.backends.cudnn as cudnn
        import wengert, wengert.nn.functional, wengert.utils.data

        assert torch is wengert
        assert nn is wengert.nn and F is wengert.nn.functional and nn.functional is F
        assert optim is wengert.optim and optim.lr_scheduler is torch.optim.lr_scheduler
        assert DataLoader is wengert.utils.data.DataLoader
        assert wengert.nn.__spec__.name == "wengert.nn"
        cudnn.benchmark = True
        print(torch.__name__, F.__name__, torch.backends.cudnn.benchmark)
    """
    assert run(program) == "torch wengert.nn.functional True"


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_alias_made_by_hand(tmp_path, write, when):
    program = """
        import sys
        import wengert
        if "after" in sys.argv:
            import wengert.nn.functional
        sys.modules["torch"] = wengert

        import torch, torch.nn as nn, torch.nn.functional as F
        import torch.autograd.forward_ad as fwAD
        from torch.optim.adamw import AdamW
        from torch.utils.checkpoint import checkpoint

        assert torch is wengert and nn is wengert.nn and F is wengert.nn.functional and AdamW is wengert.optim.AdamW
        assert not {"torch.arrays", "torch.tensor", "torch.ops.operator"} & set(sys.modules)
        try:
            import torch.nothing
        except ModuleNotFoundError as error:
            assert error.name == "torch.nothing"
        x = wengert.ones(2, requires_grad=True)
        with fwAD.dual_level():
            y = fwAD.make_dual(x, x + 1) * 3
            print(fwAD.unpack_dual(y).tangent.tolist(), checkpoint(nn.Linear(2, 1), x, use_reentrant=False).shape)
        print(torch.__name__, torch.__version__)
    """
    done = call(PYTHON, write("program.py", program), when, cwd=tmp_path)
    assert done.stdout.splitlines() == ["[6.0, 6.0] torch.Size([1])",
        "torch 2.13.0+wengert"] and not done.stderr, done.stderr


def test_the_real_torch_is_left_alone(tmp_path, write):
    write("torch/__init__.py", "name = 'real'")
    write("torch/nn.py", "name = 'real.nn'")
    program = ("import wengert, torch, torch.nn; print(torch.name, torch.nn.name, wengert.nn is torch.nn, "
        "wengert.__name__)")
    assert outcome(call(PYTHON, write("program.py", program), cwd=tmp_path)) == (0, "real real.nn False wengert\n", "")


def test_files_that_pytorch_cuts_otherwise(run):
    program = """
        from torch.nn.parameter import Parameter
        from torch.nn.modules.module import Module
        from torch.optim.optimizer import Optimizer
        from torch.optim.adamw import AdamW
        from torch.autograd.function import Function
        from torch.utils.data._utils.collate import default_collate
        from torch.utils.data.dataloader import default_collate as same
        from torch.utils.data.dataset import random_split
        from torch.utils.data.sampler import RandomSampler
        import torch
        print(Parameter is torch.nn.Parameter, Module is torch.nn.Module, Optimizer is torch.optim.Optimizer,
              AdamW is torch.optim.AdamW, Function is torch.autograd.Function, default_collate is same)
    """
    assert run(program) == "True True True True True True"


def test_functorch_of_old(run):
    program = """
        import warnings
        warnings.simplefilter("ignore", FutureWarning)
        import torch
        from torch._functorch.eager_transforms import jacfwd
        import functorch, functorch.experimental, torch._functorch.vmap
        from functorch import combine_state_for_ensemble, grad, make_functional, make_functional_with_buffers, vmap

        assert torch.vmap is torch.func.vmap is torch._functorch.vmap.vmap and vmap.__wrapped__ is torch.vmap
        assert jacfwd is torch.func.jacfwd
        assert functorch.vmap is vmap and functorch.jacfwd.__wrapped__ is jacfwd and grad.__name__ == "grad"
        x = torch.randn(5, 2)

        layer = torch.nn.Linear(2, 3)
        f, (weight, bias) = make_functional(layer)
        assert weight.requires_grad and weight is not layer.weight and f((weight, bias), x).equal(layer(x))
        assert not make_functional(layer, disable_autograd_tracking=True)[1][0].requires_grad
        norm = torch.nn.BatchNorm1d(2).eval()
        f, params, buffers = make_functional_with_buffers(norm)
        assert f(params, buffers, x).equal(norm(x)) and len(params) == 2 and len(buffers) == 3
        try:
            make_functional(norm)
        except RuntimeError as error:
            assert "`model` has buffers" in str(error)

        models = [torch.nn.Linear(2, 3) for _ in range(4)]
        f, params, buffers = combine_state_for_ensemble(models)
        found = vmap(f, in_dims=(0, 0, None))(params, buffers, x)
        assert torch.allclose(found, torch.stack([m(x) for m in models])) and params[0].is_leaf
        print("done")
    """
    assert run(program) == "done"


def test_the_version_can_be_parsed_and_compared(run):
    program = """
        import torch, importlib.metadata
        from torch.version import __version__
        assert torch.__version__ == __version__ == importlib.metadata.version("torch")
        major, minor = map(int, torch.__version__.split("+")[0].split(".")[:2])
        assert (major, minor) == (2, 13) and torch.__version__ >= (2, 0) and torch.__version__ > "1.13.1"
        assert not torch.__version__ < "2.9" and isinstance(torch.__version__, str)
        print(torch.__version__, torch.version.cuda, torch.version.hip)
    """
    assert run(program) == "2.13.0+wengert None None"


def test_questions_about_devices_are_answered(run):
    program = """
        import torch
        print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.memory_allocated(),
              torch.backends.mps.is_available(), torch.backends.cudnn.is_available(), torch.xpu.is_available(),
              torch.accelerator.is_available(), torch.accelerator.current_accelerator(), torch.cpu.is_available())
        torch.cuda.manual_seed_all(1); torch.cuda.empty_cache()
        torch.backends.cudnn.deterministic = True
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            torch.cuda.synchronize()
        except AssertionError as error:
            print(error)
    """
    assert run(program).splitlines() == [
        "False 0 0 False False False False None True",
        "Torch not compiled with CUDA enabled",
    ]


def test_mixed_precision_steps_aside_without_a_card(run):
    program = """
        from torch.cuda.amp import GradScaler, autocast
        import torch
        scaler = GradScaler(enabled=torch.cuda.is_available())
        with autocast(enabled=False):
            print(scaler.scale(2.5), scaler.is_enabled(), torch.cuda.amp.GradScaler is GradScaler)
    """
    assert run(program) == "2.5 False True"


@pytest.mark.parametrize(
    ("statement", "error", "hint"),
    [
        ("import torch; torch.zeross", "AttributeError: module 'torch' has no attribute 'zeross'", "'zeros'"),
        ("import torch; torch.cuda.is_avalable", "AttributeError: module 'torch.cuda' has no", "'is_available'"),
        ("import torch; torch.utils.dat", "AttributeError: module 'torch.utils' has no attribute 'dat'", "'data'"),
        ("import torch; torch.backends.cudn", "AttributeError: module 'torch.backends' has no attribute", "'cudnn'"),
        ("import torch.utils.dataa", "ModuleNotFoundError: No module named 'torch.utils.dataa'", "there is 'data'"),
        ("import torch.nothing_at_all", "ModuleNotFoundError: No module named 'torch.nothing_at_all'", ""),
        ("from torch.utils.data import DataLoadr", "ImportError: cannot import name 'DataLoadr'", "'DataLoader'"),
        ("from torch import no_grd", "ImportError: cannot import name 'no_grd'", "there is 'no_grad'"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(write, statement, error, hint):
    path = write("program.py", f"{statement}\n")
    done = call(WENGERT, path)
    assert done.returncode == 1
    assert error in done.stderr and hint in done.stderr.partition(error)[2]
    assert done.stderr.splitlines()[1] == f'  File "{path}", line 1, in <module>'
    assert done.stderr.count('  File "') <= (3 if "AttributeError" in error else 1)


def test_hasattr_and_guarded_imports_work(run):
    program = """
        import torch
        assert not hasattr(torch, "nothing") and hasattr(torch, "no_grad") and not hasattr(torch.utils, "nothing")
        try:
            import torch.utils.nothing
        except ImportError as error:
            print(error.name)
        try:
            from torch.utils.data import Nothing
        except ImportError:
            print("fallback")
        import importlib.util
        print(importlib.util.find_spec("torch") is not None)
    """
    assert run(program).split() == ["torch.utils.nothing", "fallback", "True"]


# What is as with python


def test_main_argv_path_and_file(write, tmp_path):
    program = """
        import os, sys, helper
        print(__name__, __file__, sys.argv, sys.path[0], __package__, __spec__, __doc__, type(__builtins__).__name__)
        print(sys.modules["__main__"].__dict__ is globals(), sorted(k for k in globals() if k.startswith("_")))
    """
    path = write("deep/program.py", program)
    write("deep/helper.py", "")
    for args in ([path, "a", "--flag", "-m", "run"], ["deep/program.py"], ["./deep/../deep/program.py", "--help"]):
        ours, theirs = (call(command, *args, cwd=tmp_path) for command in (WENGERT, PYTHON))
        assert outcome(ours) == outcome(theirs)
        assert ours.returncode == 0


def test_a_script_behind_a_link_imports_from_where_it_lies(write, tmp_path):
    path = write("real/program.py", "import helper, sys; print(__file__, sys.path[0])")
    write("real/helper.py", "")
    (tmp_path / "link.py").symlink_to(path)
    ours, theirs = (call(command, "link.py", cwd=tmp_path) for command in (WENGERT, PYTHON))
    assert outcome(ours) == outcome(theirs) and ours.returncode == 0


ENDINGS = {
    "nothing": "pass",
    "exit": "import sys; sys.exit()",
    "exit 0": "raise SystemExit(0)",
    "exit 3": "import sys; sys.exit(3)",
    "exit message": "raise SystemExit('goodbye')",
    "exit object": "raise SystemExit([1, 2])",
    "exception": "def f():\n    return 1 / 0\n\nf()",
    "chained": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e",
    "context": "try:\n    {}['a']\nexcept KeyError:\n    raise ValueError('b')",
    "group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    "syntax error": "x = = 1",
    "recursion": "def f(n):\n    f(n + 1)\nf(0)",
    "interrupt": "raise KeyboardInterrupt",
    "output first": "import sys\nprint('out')\nprint('err', file=sys.stderr)\nraise OSError(2, 'gone')",
    "hook": "import sys\nsys.excepthook = lambda k, v, t: print(k, v, t.tb_frame.f_code.co_name, t.tb_lineno)\n1 / 0",
    "exit handler": "import atexit, sys\natexit.register(lambda: print(sys.modules['__main__'].x))\nx = 5\n1 / 0",
    "last": "import atexit, sys\natexit.register(lambda: print(sys.last_type, sys.last_traceback.tb_lineno))\n1 / 0",
    "thread": ("import threading, time\ndef late():\n    time.sleep(0.1)\n    "
        "print(value)\nthreading.Thread(target=late).start()\nvalue = 7"),
    "os exit": "import os; os._exit(9)",
    "abort": "import os; os.abort()",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_ends_as_under_python(write, ending):
    path = write("program.py", ENDINGS[ending])
    ours, theirs = call(WENGERT, path), call(PYTHON, path)
    if ending == "recursion":  # a few frames fewer are left
        assert ours.returncode == 1 and ours.stderr.splitlines()[-1] == theirs.stderr.splitlines()[-1]
    else:
        assert outcome(ours) == outcome(theirs)


@pytest.mark.parametrize("source", ["x = '\0'", "# coding: nonsense\n"])
def test_a_program_that_cannot_be_read(write, source):
    done = call(WENGERT, write("program.py", source))
    assert done.returncode == 1 and "SyntaxError: " in done.stderr.splitlines()[-1]
    assert "wengert" not in done.stderr


def test_a_broken_excepthook_does_not_hide_the_error(write):
    source = "import sys\ndef hook(*a):\n    raise ValueError('hook')\nsys.excepthook = hook\n1 / 0\n"
    path = write("program.py", source)
    done = call(WENGERT, path)
    assert done.returncode == 1
    assert "Error in sys.excepthook:" in done.stderr and "ValueError: hook" in done.stderr
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c(write):
    path = write("program.py", "import time\nprint('ready', flush=True)\ntime.sleep(30)\n")
    listening = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    process = subprocess.Popen([*WENGERT, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=listening)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert errors.splitlines()[1:] == [
        f'  File "{path}", line 3, in <module>',
        "    time.sleep(30)",
        "KeyboardInterrupt",
    ]


def test_standard_input(run):
    assert run("import sys\nprint(input(), sys.stdin.read())", stdin="one\ntwo") == "one two"


def test_a_program_on_standard_input():
    source = "import sys, torch\nprint(sys.argv, torch.__name__, __name__, sys.path[0] == '')\n"
    done = call(WENGERT, "-", "a", stdin=source)
    assert done.stdout == "['-', 'a'] torch __main__ True\n", done.stderr


def test_a_module(write, tmp_path):
    program = """
        import sys
        from . import sibling
        print(__name__, __package__, __spec__.name, __file__, sys.argv, sys.path[0])
    """
    write("package/__init__.py", "import sys; print('init', sys.argv)")
    write("package/sibling.py", "")
    write("package/program.py", program)
    write("package/__main__.py", program)
    for module in ("package", "package.program"):
        ours, theirs = (call([*command, "-m"], module, "a", "-b", cwd=tmp_path) for command in (WENGERT, PYTHON))
        assert outcome(ours) == outcome(theirs)
        assert ours.returncode == 0, ours.stderr


@pytest.mark.parametrize("module", ["no_such_module", "package", "package.nothing", ".relative", "sys"])
def test_a_module_that_cannot_be_run(write, tmp_path, module):
    write("package/__init__.py", "")
    ours, theirs = (call([*command, "-m"], module, cwd=tmp_path) for command in (WENGERT, PYTHON))
    assert outcome(ours) == outcome(theirs)
    assert ours.returncode == 1


def test_a_directory_and_a_zip_file(write, tmp_path):
    path = write("app/__main__.py", "import sys, helper, torch\nprint(sys.argv, __name__, __file__, torch.__name__)\n")
    write("app/helper.py", "")
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.write(path, "__main__.py")
        archive.writestr("helper.py", "")
    for program, file in (("app", "app/__main__.py"), ("app.zip", "app.zip/__main__.py")):
        done = call(WENGERT, program, "a", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split("] ")[1].split() == ["__main__", file, "torch"] or done.stdout.endswith("torch\n")


@pytest.mark.parametrize("program", ["nothing.py", "empty", "no/such/dir/x.py"])
def test_a_program_that_is_not_there(tmp_path, program):
    (tmp_path / "empty").mkdir()
    ours, theirs = (call(command, program, cwd=tmp_path) for command in (WENGERT, PYTHON))
    assert outcome(ours) == outcome(theirs)
    assert ours.returncode != 0


def test_pickles_of_the_programs_own_classes(run):
    program = """
        import pickle
        class Point:
            pass
        print(type(pickle.loads(pickle.dumps(Point()))) is Point, pickle.dumps(Point()).count(b"__main__"))
    """
    assert run(program) == "True 1"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(run, method):
    program = """
        import multiprocessing as mp, sys
        import torch

        def work(queue):
            import torch.utils.data
            queue.put((torch.__name__, torch.__version__, sys.argv[1:]))

        if __name__ == "__main__":
            context = mp.get_context(sys.argv[1])
            queue = context.Queue()
            process = context.Process(target=work, args=(queue,))
            process.start()
            print(*queue.get())
            process.join()
            print(process.exitcode)
    """
    assert run(program, method).splitlines() == [f"torch 2.13.0+wengert ['{method}']", "0"]


def test_loader_workers_of_a_program(run):
    program = """
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Squares(Dataset):
            def __len__(self):
                return 5
            def __getitem__(self, i):
                return i * i

        if __name__ == "__main__":
            for context in ("fork", "spawn"):
                loader = DataLoader(Squares(), batch_size=2, num_workers=2, multiprocessing_context=context)
                print([batch.tolist() for batch in loader])
    """
    assert run(program).splitlines() == ["[[0, 1], [4, 9], [16]]"] * 2


# The command line itself


def test_version_and_help():
    command = [sys.executable, "-m", "wengert"]
    version = call(command, "--version").stdout
    import wengert

    assert version == f"wengert {wengert.__version__} (PyTorch surface 2.13.0)\n"
    for args in ((), ("--help",), ("-h",)):
        done = call(command, *args)
        assert done.returncode == 0 and "usage: wengert COMMAND" in done.stdout and "  run " in done.stdout
    done = call(command, "run", "--help")
    assert done.returncode == 0 and "usage: wengert run [OPTIONS] SCRIPT [ARGS...]" in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["rum"], "no command 'rum'; there is 'run'"),
        (["--what"], "no option '--what'"),
        (["run"], "usage: wengert run"),
        (["run", "-m"], "-m needs the name of a module"),
        (["run", "-x", "a.py"], "no option '-x'"),
    ],
)
def test_a_wrong_command_line(args, message):
    done = call([sys.executable, "-m", "wengert"], *args)
    assert done.returncode == 2 and message in done.stderr and not done.stdout


# In this process


@pytest.fixture
def alias():
    if "torch" in sys.modules:
        pytest.skip("torch is imported in this process")
    from wengert.cli import alias

    alias.install()
    yield alias
    alias.uninstall()


def test_the_alias_comes_and_goes(alias):
    import torch
    import torch.utils.data

    import wengert

    assert torch is wengert and sys.modules["torch.utils.data"] is wengert.utils.data
    assert torch.__version__ == "2.13.0+wengert" and alias.installed()
    alias.install()
    assert sum(type(finder).__name__ == "TorchFinder" for finder in sys.meta_path) == 1
    alias.uninstall()
    assert not alias.installed() and "torch.utils.data" not in sys.modules and "torch" not in sys.modules
    assert wengert.__version__ != "2.13.0+wengert"


def test_the_alias_refuses_to_come_second():
    script = "import sys, types; sys.modules['torch'] = types.ModuleType('torch'); import wengert.cli.alias as a"
    done = call([sys.executable, "-c", f"{script}; a.install()"])
    assert "ImportError: torch is imported already" in done.stderr


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["one process", "workers"])
def test_pytest_and_its_workers(tmp_path, write, workers):
    if workers:
        pytest.importorskip("xdist")
    write("test_who.py", """
        import torch

        def test_who():
            assert "wengert" in torch.__file__
    """)
    done = call([*WENGERT, "-m", "pytest"], "-q", "-p", "no:cacheprovider", *workers, "test_who.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_classes_and_functions_say_that_they_are_pytorchs(run):
    program = """
        import inspect, pickle, sys
        import torch, torch.nn.functional as F
        kinds = [torch.nn.Linear, torch.nn.MultiheadAttention, torch.optim.Adam, torch.optim.lr_scheduler.StepLR,
                 torch.distributions.Normal,
                 torch.Size, torch.device, torch.dtype, torch.no_grad, torch.Generator, torch.nn.Parameter,
                 torch.utils.data.DataLoader,
                 type(torch.ones(2, 2).max(0)), torch.autograd.Function]
        print(*(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds))
        for thing in (*kinds, torch.add, torch.zeros, F.relu, torch.linalg.norm, torch.nn.init.ones_,
                      torch.manual_seed, torch.vmap, torch.save):
            assert pickle.loads(pickle.dumps(thing)) is thing, thing
        assert "class Linear(Module)" in inspect.getsource(torch.nn.Linear)
        wrong = [(name, k, v) for name, module in sys.modules.items() if name.startswith("wengert.nn.modules.")
                 for k, v in vars(module).items()
                 if isinstance(v, type) and v.__module__.startswith("wengert.nn")]
        import typing
        assert "num_heads" in typing.get_type_hints(torch.nn.MultiheadAttention.__init__)
        names = ("nn.modules.linear", "optim.optimizer", "utils.data.dataloader")
        assert all(f"torch.{name}" in sys.modules for name in names)
        print(wrong)
    """
    assert run(program) == (
        "torch.nn.modules.linear.Linear torch.nn.modules.activation.MultiheadAttention torch.optim.adam.Adam "
        "torch.optim.lr_scheduler.StepLR torch.distributions.normal.Normal torch.Size torch.device torch.dtype "
        "torch.autograd.grad_mode.no_grad torch._C.Generator torch.nn.parameter.Parameter "
        "torch.utils.data.dataloader.DataLoader torch.return_types.max torch.autograd.function.Function\n[]"
    )
