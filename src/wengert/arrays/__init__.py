"""Operations on arrays: NumPy, native kernels, dtypes, memory layouts, random streams. No gradients."""
