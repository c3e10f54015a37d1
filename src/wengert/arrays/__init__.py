"""The array vocabulary. NumPy arrays, native kernels, random streams; nothing here knows of gradients."""
