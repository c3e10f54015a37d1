"""Programs that are run by ``test_corpus.py``: none of them is a test, whatever its name."""

collect_ignore_glob = ["*/*"]
