"""Speed and memory of wengert beside PyTorch: ``python -m benchmarks``."""
