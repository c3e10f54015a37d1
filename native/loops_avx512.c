/* The kernels for x86 processors with AVX512. */
#include "kernels.h"

#ifdef WENGERT_X86_LEVELS
/* System headers come before the target changes: they may define inline functions of their own. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2")
#pragma GCC target("prefer-vector-width=512")
#endif

#define ISA avx512
#define VECTOR_BYTES 64
#define GEMM_ROWS 8
#include "loops.inc.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nothing_here;
#endif
