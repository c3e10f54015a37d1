"""``wengert run``: a program written for PyTorch, unchanged, on wengert.

Everything a program can see is as with ``python``: ``__main__``, ``__file__``, ``sys.argv``, ``sys.path[0]``, standard
input, exit codes, and tracebacks without this file's frames. Only ``import torch`` gives wengert (see ``alias``).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from . import alias, explained, ranks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType, TracebackType

USAGE = """\
usage: wengert run [OPTIONS] SCRIPT [ARGS...]
       wengert run [OPTIONS] -m MODULE [ARGS...]
       wengert run [OPTIONS] - [ARGS...]

Run a Python program with `import torch` (and every torch.* module) giving wengert.

  SCRIPT      a file, a directory or a zip file with a __main__.py, or - for standard input
  -m MODULE   a module, as with `python -m`
  ARGS        go to the program

""" + explained.OPTIONS


class _StartError(Exception):
    """There is no such program; the message is the one that ``python`` shows, after its own name."""

    def __init__(self, message: str, code: int = 1):
        super().__init__(message)
        self.code = code


def main(args: Sequence[str]) -> int | str | None:
    """Run the program and return its exit code; ``SystemExit`` passes through."""
    if not args or args[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if args else sys.stderr)
        return 0 if args else 2
    try:
        options, args = explained.parse(args)
        if not args:
            raise explained.UsageError("no program")
    except explained.UsageError as error:
        print(f"wengert run: {error}\n\n{USAGE}", end="", file=sys.stderr)
        return 2
    program, *rest = args
    if program == "-m":
        if not rest:
            print("wengert run: -m needs the name of a module", file=sys.stderr)
            return 2
        program, *rest = rest
        load = _load_module
    elif program == "-":
        load = _load_stdin
    elif program.startswith("-"):
        print(f"wengert run: no option {program!r}\n\n{USAGE}", end="", file=sys.stderr)
        return 2
    else:
        load = _load_file

    ranks.prepare()
    alias.install()
    if options.cuda:
        from . import cuda_as_cpu

        cuda_as_cpu.install()
        print(cuda_as_cpu.LINE, file=sys.stderr)
    module = _new_main()
    try:
        code = load(program, rest, module)
    except _StartError as error:
        print(f"{sys.executable}: {error}", file=sys.stderr)
        return error.code
    except (SyntaxError, ValueError) as error:  # what compile() raises
        return _report(error)
    return _execute(code, module, options)


def _new_main() -> ModuleType:
    import builtins
    from types import ModuleType

    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __annotations__={}, __package__=None, __cached__=None)
    # It stays there when the program has ended: threads and exit handlers may still look for it.
    sys.modules["__main__"] = module
    return module


def _set_argv(program: str, rest: Sequence[str], path: str) -> None:
    sys.argv[:] = [program, *rest]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = path  # where python has put the directory of this command


def _load_file(program: str, rest: Sequence[str], module: ModuleType) -> CodeType:
    from importlib.machinery import SourceFileLoader

    filename = os.path.join(os.getcwd(), program)
    if os.path.isdir(program) or _is_zip(program):
        return _load_container(program, rest, module)
    try:
        with open(program, "rb") as file:
            source = file.read()
    except OSError as error:
        raise _StartError(f"can't open file {filename!r}: [Errno {error.errno}] {error.strerror}", 2) from error
    _set_argv(program, rest, os.path.dirname(os.path.realpath(program)))
    module.__file__ = filename
    module.__loader__ = SourceFileLoader("__main__", filename)
    return compile(source, filename, "exec", dont_inherit=True)


def _is_zip(path: str) -> bool:
    if path.endswith((".py", ".pyw")) or not os.path.isfile(path):
        return False
    from zipfile import is_zipfile

    return is_zipfile(path)


def _load_container(program: str, rest: Sequence[str], module: ModuleType) -> CodeType:
    """A directory or zip file with a ``__main__.py`` in it."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("__main__", [program])
    if spec is None:
        raise _StartError(f"can't find '__main__' module in {os.path.abspath(program)!r}")
    _set_argv(program, rest, program)
    return _take_on(spec, module)


def _load_module(program: str, rest: Sequence[str], module: ModuleType) -> CodeType:
    from importlib.util import find_spec

    if program.startswith("."):
        raise _StartError("Relative module names not supported")
    _set_argv("-m", rest, os.getcwd())
    try:
        spec = find_spec(program)
        if spec is not None and spec.submodule_search_locations is not None:
            package, spec = spec, find_spec(f"{program}.__main__")
            if spec is None:
                raise _StartError(f"No module named {program}.__main__; {package.name!r} is a package and cannot be "
                    "directly executed")
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise _StartError(f"Error while finding module specification for {program!r} ({type(error).__name__}: "
            f"{error})") from error
    if spec is None:
        raise _StartError(f"No module named {program}")
    code = _take_on(spec, module)
    sys.argv[0] = spec.origin or program
    if program == "pytest":
        from .pytest_alias import follow

        follow()
    return code


def _load_stdin(program: str, rest: Sequence[str], module: ModuleType) -> CodeType:
    _set_argv(program, rest, "")
    return compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True)


def _take_on(spec: Any, module: ModuleType) -> CodeType:
    """Give the module the attributes that its spec promises, and return its code."""
    get_code = getattr(spec.loader, "get_code", None)
    code: CodeType | None = get_code(spec.name) if get_code else None
    if code is None:
        raise _StartError(f"No code object available for {spec.name}")
    module.__spec__ = spec
    module.__loader__ = spec.loader
    module.__package__ = spec.parent
    if spec.has_location:
        module.__file__ = spec.origin
        module.__dict__["__cached__"] = spec.cached
    return code


def _execute(code: CodeType, module: ModuleType, options: explained.Options) -> int | str | None:
    if options.explain:
        return explained.run(lambda: exec(code, module.__dict__), options, _report)
    try:
        exec(code, module.__dict__)
    except SystemExit as end:
        ranks.ends(end.code)
        raise
    except BaseException as error:
        shown = _report(error)
        ranks.fails(error)
        return shown
    return 0


def _without_our_frames(trace: TracebackType | None) -> TracebackType | None:
    """Cut off the frames from which the program was started, and the alias's, where an import failed."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in (__name__, explained.__name__):
        trace = trace.tb_next
    step, last = trace, None
    while step is not None:
        if step.tb_frame.f_globals is not vars(alias):
            last = step
        step = step.tb_next
    if last is not None:
        last.tb_next = None
    return trace


def _report(error: BaseException) -> int:
    """Show an uncaught exception as ``python`` shows it, and return the exit code 1."""
    alias.explain(error)
    trace = error.__traceback__ = _without_our_frames(error.__traceback__)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    sys.stdout.flush()
    try:
        sys.excepthook(type(error), error, trace)
    except BaseException as second:
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(second), second, second.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, trace)
    if isinstance(error, KeyboardInterrupt):
        # The interpreter ends such a program by the signal itself. It has been shown; let it only end.
        sys.excepthook = lambda *exc_info: None
        raise error
    return 1
