/* float16 and bfloat16 to float32 and back, for one instruction set: by the processor's own instructions where it has
 * them, else in integers (half.h). */
#include "half.h"

#if VECTOR_BYTES == 64
#define HALVES 16
#define WIDEN(from) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from)))
#define NARROW(from) _mm512_cvtps_ph(_mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define PUT_WIDE _mm512_storeu_ps
#define PUT_NARROW(to, value) _mm256_storeu_si256((__m256i *)(to), value)
#elif VECTOR_BYTES == 32
#define HALVES 8
#define WIDEN(from) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from)))
#define NARROW(from) _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define PUT_WIDE _mm256_storeu_ps
#define PUT_NARROW(to, value) _mm_storeu_si128((__m128i *)(to), value)
#endif

static void widen_half_loop(float *to, const uint16_t *from, size n)
{
    size i = 0;
#ifdef HALVES
    for (; i + HALVES <= n; i += HALVES) PUT_WIDE(to + i, WIDEN(from + i));
#endif
    for (; i < n; i++) to[i] = float_of_half(from[i]);
}

static void narrow_half_loop(uint16_t *to, const float *from, size n)
{
    size i = 0;
#ifdef HALVES
    for (; i + HALVES <= n; i += HALVES) PUT_NARROW(to + i, NARROW(from + i));
#endif
    for (; i < n; i++) to[i] = half_of_float(from[i]);
}

static void widen_brain_loop(float *restrict to, const uint16_t *restrict from, size n)
{
    for (size i = 0; i < n; i++) to[i] = float_of_brain(from[i]);
}

static void narrow_brain_loop(uint16_t *restrict to, const float *restrict from, size n)
{
    for (size i = 0; i < n; i++) to[i] = brain_of_float(from[i]);
}
