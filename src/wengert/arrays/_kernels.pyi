# The compiled extension, where it was built: its functions are typed where they are used, in native.py.
from typing import Any

def __getattr__(name: str) -> Any: ...
