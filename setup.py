"""Build the native kernels, or install without them where no C compiler works; put the examples into the package."""

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

NATIVE = Path("native")
EXAMPLES = Path("examples")


class OptionalBuildExt(build_ext):
    """Leave the extension out when it cannot be built.

    pip shows what a build prints only with ``-v``, so what the person who installs sees is the line that the package
    writes when it is imported without its extension.
    """

    def build_extension(self, ext: Extension) -> None:
        """Build one extension, or say that it is left out."""
        import numpy

        unix = self.compiler.compiler_type != "msvc"
        ext.include_dirs = [numpy.get_include(), str(NATIVE)]
        # Safe optimisations only: -ffast-math would break NaN and infinity, and flush subnormals in the whole process.
        optimise = ["-O3", "-fno-math-errno", "-fno-trapping-math"]
        ext.extra_compile_args = (
            [*optimise, "-std=gnu11", "-g0", "-fvisibility=hidden", "-pthread"] if unix else ["/O2", "/std:c11"])
        ext.extra_link_args = ["-pthread"] if unix and platform.system() == "Linux" else []
        try:
            if unix:
                self._compile_side_by_side()
            super().build_extension(ext)
        except Exception as error:
            missing = "No such file" in str(error) or "not found" in str(error) or "Unable to find" in str(error)
            reason = "no C compiler found" if missing else "the C compiler failed"
            print(f"wengert: {reason}; installing without native kernels (pure NumPy, slower)", file=sys.stderr,
                flush=True)


    def _compile_side_by_side(self) -> None:
        """Have the compiler object compile the sources of an extension on all processors."""
        compile_some, processors = self.compiler.compile, os.cpu_count() or 1
        if hasattr(os, "sched_getaffinity"):
            processors = len(os.sched_getaffinity(0))

        def compile_all(sources: list[str], *args: object, **options: object) -> list[str]:
            longest_first = sorted(sources, key=lambda source: "loops_" not in source)  # a minute each
            with ThreadPoolExecutor(processors) as pool:
                jobs = {source: pool.submit(compile_some, [source], *args, **options) for source in longest_first}
            return [name for source in sources for name in jobs[source].result()]

        self.compiler.compile = compile_all


class BuildPyWithExamples(build_py):
    """Copy ``examples`` to where ``wengert examples`` looks for them; an editable install has them in the tree."""

    def run(self) -> None:
        """Copy the package, then the examples."""
        super().run()
        if not self.editable_mode:
            for source, target in self._examples():
                self.mkpath(str(target.parent))
                self.copy_file(str(source), str(target))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """All files that are written."""
        examples = [] if self.editable_mode else [str(target) for _, target in self._examples()]
        return [*super().get_outputs(include_bytecode), *examples]

    def _examples(self) -> list[tuple[Path, Path]]:
        to = Path(self.build_lib) / "wengert" / "cli" / "examples"
        return [(path, to / path.name) for path in sorted(EXAMPLES.glob("*.py"))]


setup(
    ext_modules=[
        Extension(
            "wengert.arrays._kernels",
            sources=sorted(str(path) for path in NATIVE.glob("*.c")),
            depends=sorted(str(path) for path in NATIVE.glob("*.h")),
            optional=True,
        )
    ],
    cmdclass={"build_ext": OptionalBuildExt, "build_py": BuildPyWithExamples},
)
