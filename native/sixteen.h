/* Vectors of 16 bytes by name: left to itself, GCC keeps sums of many lanes in memory. */
#ifndef WENGERT_SIXTEEN_H
#define WENGERT_SIXTEEN_H

#include <stdint.h>

#ifdef __GNUC__
typedef float vector_f32 __attribute__((vector_size(16), may_alias));
typedef double vector_f64 __attribute__((vector_size(16), may_alias));
typedef int32_t mask_f32 __attribute__((vector_size(16), may_alias));
typedef int64_t mask_f64 __attribute__((vector_size(16), may_alias));
#define PICK(S, mask, a, b) ((vector_##S)(((mask_##S)(mask) & (mask_##S)(a)) | (~(mask_##S)(mask) & (mask_##S)(b))))
#define SPREAD(S, x) ((vector_##S){0} + (x))
/* The same of 32 bytes, for functions WITH_AVX2. */
typedef float vector_wide32 __attribute__((vector_size(32), may_alias));
typedef double vector_wide64 __attribute__((vector_size(32), may_alias));
typedef int32_t mask_wide32 __attribute__((vector_size(32), may_alias));
typedef int64_t mask_wide64 __attribute__((vector_size(32), may_alias));
/* Amounts, and the larger of two amounts or what is no number: as whole numbers they have the same order. */
#define AMOUNT(S, x) ((vector_##S)((mask_##S)(x) & ~(mask_##S)-(vector_##S){0}))
#define LARGER(S, a, b) PICK(S, (mask_##S)(a) > (mask_##S)(b), a, b)
#else
typedef float vector_f32;
typedef double vector_f64;
#define PICK(S, mask, a, b) ((mask) ? (a) : (b))
#define SPREAD(S, x) (x)
#define AMOUNT(S, x) ((x) < 0 ? -(x) : (x))
#define LARGER(S, a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#endif

/* Functions that are there twice, the second time WITH_AVX2 where the compiler can: WIDER chooses by the processor. */
#if defined(WENGERT_X86_LEVELS) && defined(__GNUC__)
#define WITH_AVX2 __attribute__((target("avx2")))
#define WIDER(wide, narrow) (strcmp(kernels->name, "baseline") ? (wide) : (narrow))
#else
#define WIDER(wide, narrow) (narrow)
#endif

#endif
