/* The kernels for x86 processors with AVX2. */
#include "kernels.h"

#ifdef WENGERT_X86_LEVELS
/* System headers come before the target changes: they may define inline functions of their own. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi2"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,bmi2")
#endif

#define ISA avx2
#define VECTOR_BYTES 32
#define GEMM_ROWS 6
#include "loops.inc.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nothing_here;
#endif
