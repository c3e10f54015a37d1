"""Build the native kernels, or install without them where no C compiler works."""

import platform
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = Path("native")


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
            super().build_extension(ext)
        except Exception as error:
            missing = "No such file" in str(error) or "not found" in str(error) or "Unable to find" in str(error)
            reason = "no C compiler found" if missing else "the C compiler failed"
            print(f"wengert: {reason}; installing without native kernels (pure NumPy, slower)", file=sys.stderr,
                flush=True)


setup(
    ext_modules=[
        Extension(
            "wengert.arrays._kernels",
            sources=sorted(str(path) for path in NATIVE.glob("*.c")),
            depends=sorted(str(path) for path in NATIVE.glob("*.h")),
            optional=True,
        )
    ],
    cmdclass={"build_ext": OptionalBuildExt},
)
