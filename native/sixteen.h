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
#else
typedef float vector_f32;
typedef double vector_f64;
#define PICK(S, mask, a, b) ((mask) ? (a) : (b))
#define SPREAD(S, x) (x)
#endif

#endif
