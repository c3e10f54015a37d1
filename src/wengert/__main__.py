"""``python -m wengert``: the command line."""

from wengert.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
