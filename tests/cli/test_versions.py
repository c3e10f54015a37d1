"""Questions about versions are answered so that a library takes the branch of PyTorch 2.13 on a CPU: the same program
prints the same on PyTorch.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Each line is a question as a library asks it.
QUESTIONS = '''
torch.__version__ > "1.8", torch.__version__ >= "2.0.0", torch.__version__ < "2.14", torch.__version__ >= "2.13"
torch.__version__ >= (2, 4), torch.__version__ < (2, 13, 1), torch.__version__ == "2.13.0", "1.10" < torch.__version__
torch.__version__ >= "2.13.0.dev20260101", torch.__version__ > "2.13.0rc1", torch.__version__ > "2.9.1+cu121"
parse(torch.__version__) >= parse("2.6"), parse(torch.__version__).release, parse(torch.__version__).base_version
parse(torch.__version__).is_prerelease, parse(torch.__version__).is_devrelease, parse(torch.__version__).post
parse(parse(torch.__version__).base_version) >= parse("2.13"), Version(Version(torch.__version__).base_version).minor
Version(torch.__version__) in SpecifierSet(">=1.9,<3"), SpecifierSet("~=2.13.0").contains(torch.__version__)
parse(metadata.version("torch")) >= parse("1.10"), metadata.version("torch") == torch.__version__
metadata.metadata("torch")["Name"], metadata.distribution("torch").version == torch.__version__
metadata.version("Torch") == metadata.distribution("torch").version, util.find_spec("torch") is not None
[int(v) for v in torch.__version__.split("+")[0].split(".")[:2]], torch.__version__.split("+")[0]
tuple(map(int, re.match(r"(\\d+)\\.(\\d+)\\.(\\d+)", torch.__version__).groups())), torch.__version__[:4]
torch.__version__.startswith("2."), "dev" in torch.__version__, "rocm" in torch.__version__, "cu" in torch.__version__
int(torch.__version__.split(".")[0]) >= 1, torch.__version__.split(".")[:2], "parrots" in torch.__version__
isinstance(torch.__version__, str), type(torch.__version__).__name__, TorchVersion("1.10.0") < "1.9.1"
isinstance(torch.__version__, TorchVersion), TorchVersion("2.0") == "2.0.0", TorchVersion("2.0") != (2, 0)
torch.version.__version__ == torch.__version__, torch.torch_version.__version__ == torch.__version__
torch.version.cuda is None, torch.version.hip is None, torch.version.xpu is None, torch.version.debug
getattr(torch.version, "rocm", "nothing"), getattr(torch.version, "musa", 0), hasattr(torch.version, "git_version")
torch.cuda.is_available(), torch.cuda.device_count(), torch.backends.mps.is_available(), torch.xpu.is_available()
torch.backends.cudnn.version(), torch.backends.cuda.is_built(), torch.cuda.is_bf16_supported()
torch.distributed.is_initialized(), hasattr(torch, "compile"), hasattr(torch, "vmap"), hasattr(torch, "_assert")
hasattr(torch.nn.functional, "scaled_dot_product_attention"), hasattr(torch.nn.functional, "rms_norm")
torch.has_cuda, torch.has_cudnn, torch.has_mps, torch.is_vulkan_available(), torch.backends.mkldnn.is_acl_available()
hasattr(torch, "amp"), hasattr(torch.amp, "GradScaler"), hasattr(torch.Tensor, "untyped_storage"), hasattr(torch, "npu")
bool(pkg_resources_like(">=2.0")), pkg_resources_like("<2.13"), str(torch.__version__) == torch.__version__
'''.strip().splitlines()
PROGRAM = f"""
import re, sys
from importlib import metadata, util
import torch, torch.torch_version
from packaging.specifiers import SpecifierSet
from packaging.version import Version, parse
from torch.torch_version import TorchVersion

def pkg_resources_like(specifier):
    return metadata.version("torch") in SpecifierSet(specifier)

for question in {QUESTIONS!r}:
    try:
        print(question, eval(question))
    except Exception as error:
        print(question, type(error).__name__)
"""


@pytest.mark.parity
def test_every_question_has_pytorchs_answer():
    pytest.importorskip("packaging")
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    theirs, ours = (subprocess.run([sys.executable, "-P", *how, "-"], input=PROGRAM, capture_output=True, text=True,
        env=environment, check=True).stdout.splitlines() for how in ((), ("-m", "wengert", "run")))
    assert [line.startswith(question) for line, question in zip(theirs, QUESTIONS)] == [True] * len(QUESTIONS)
    assert ours == theirs


def test_under_the_alias_in_a_program_of_its_own():
    program = """
import sys
import wengert as torch
from importlib import metadata
assert torch.__version__ != "2.13.0+wengert" and torch.version.__version__ == "2.13.0+wengert"
sys.modules["torch"] = torch
import torch.nn
assert torch.__version__ >= "2.13" and metadata.version("torch") == torch.__version__ == "2.13.0+wengert"
"""
    subprocess.run([sys.executable, "-P", "-c", program], check=True)
