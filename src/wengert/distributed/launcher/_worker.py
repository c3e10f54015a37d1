"""A worker of ``elastic_launch``: calls the function, and leaves its result in the folder that the argument names."""

from __future__ import annotations

import os
import pickle
import sys
from multiprocessing import spawn


def main(folder: str) -> None:
    """Call the function of the file ``call``; its result goes to the file ``resultRANK``."""
    with open(os.path.join(folder, "call"), "rb") as file:
        spawn.prepare(pickle.load(file))  # type: ignore[attr-defined]
        function, args = pickle.load(file)
    result = function(*args)
    with open(os.path.join(folder, f"result{os.environ['RANK']}"), "wb") as out:
        pickle.dump(result, out)


if __name__ == "__main__":
    main(sys.argv[1])
