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

/* A line of the cache, and how far ahead the next ones are fetched: rows that are widened in turn are pages of their own, where the
 * processor's own prefetching starts anew. */
enum { NARROW_LINE = 32, NARROW_AHEAD = 2048 };

static void widen_half_loop(float *to, const uint16_t *from, size n)
{
    size i = 0;
#ifdef HALVES
#if VECTOR_BYTES == 32
    for (; i + NARROW_LINE <= n; i += NARROW_LINE) {
        __builtin_prefetch(from + i + NARROW_AHEAD, 0, 2);
        for (int k = 0; k < NARROW_LINE; k += HALVES) PUT_WIDE(to + i + k, WIDEN(from + i + k));
    }
#endif
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

#if VECTOR_BYTES == 32
/* Sixteen numbers of two vectors, rounded to nearest even; NaN stays one. */
static inline __m256i brains_of(__m256 low, __m256 high)
{
    const __m256i half = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1), quiet = _mm256_set1_epi32(0x40);
    __m256i part[2];
    const __m256 from[2] = {low, high};
    for (int k = 0; k < 2; k++) {
        const __m256i bits = _mm256_castps_si256(from[k]), top = _mm256_srli_epi32(bits, 16);
        const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, half), _mm256_and_si256(top, one)), 16);
        const __m256i odd = _mm256_castps_si256(_mm256_cmp_ps(from[k], from[k], _CMP_UNORD_Q));
        part[k] = _mm256_blendv_epi8(rounded, _mm256_or_si256(top, quiet), odd);
    }
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(part[0], part[1]), 0xd8);
}
static inline __m256 wide_numbers(const uint16_t *from, int brain)
{
    const __m128i bits = _mm_loadu_si128((const __m128i *)from);
    return brain ? _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)) : _mm256_cvtph_ps(bits);
}
static inline void put_narrow(uint16_t *to, __m256 low, __m256 high, int brain)
{
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
    const __m256i numbers = brain ? brains_of(low, high) : _mm256_set_m128i(_mm256_cvtps_ph(high, NEAREST), _mm256_cvtps_ph(low, NEAREST));
    _mm256_storeu_si256((__m256i *)to, numbers);
}
#endif

static void widen_brain_loop(float *restrict to, const uint16_t *restrict from, size n)
{
    size i = 0;
#if VECTOR_BYTES == 32
    for (; i + NARROW_LINE <= n; i += NARROW_LINE) {
        __builtin_prefetch(from + i + NARROW_AHEAD, 0, 2);
        for (size k = i; k < i + NARROW_LINE; k++) to[k] = float_of_brain(from[k]);
    }
#endif
    for (; i < n; i++) to[i] = float_of_brain(from[i]);
}

static void narrow_brain_loop(uint16_t *restrict to, const float *restrict from, size n)
{
    size i = 0;
#if VECTOR_BYTES == 32
    for (; i + 16 <= n; i += 16) put_narrow(to + i, _mm256_loadu_ps(from + i), _mm256_loadu_ps(from + i + 8), 1);
#endif
    for (; i < n; i++) to[i] = brain_of_float(from[i]);
}

enum { NARROW_BLOCK = 512 };

static inline void widen_numbers(float *to, const uint16_t *from, size n, int brain)
{
    if (brain) widen_brain_loop(to, from, n);
    else widen_half_loop(to, from, n);
}

/* One rounded operation on numbers of 16 bits, where AVX2 has it from vector to vector; else, and at the end, by blocks. */
#define COMBINE(name, OPERATOR, VECTOR)                                                                                            \
    static inline __attribute__((always_inline)) void name##_narrow(int brain, uint16_t *out, const uint16_t *a, const uint16_t *b, size n) \
    {                                                                                                                              \
        float x[NARROW_BLOCK], y[NARROW_BLOCK];                                                                                    \
        size i = 0;                                                                                                                \
        VECTOR(OPERATOR)                                                                                                           \
        for (size count; i < n; i += count) {                                                                                      \
            count = n - i < NARROW_BLOCK ? n - i : NARROW_BLOCK;                                                                   \
            widen_numbers(x, a + i, count, brain);                                                                                 \
            widen_numbers(y, b + i, count, brain);                                                                                 \
            for (size k = 0; k < count; k++) x[k] = x[k] OPERATOR y[k];                                                            \
            if (brain) narrow_brain_loop(out + i, x, count);                                                                       \
            else narrow_half_loop(out + i, x, count);                                                                              \
        }                                                                                                                          \
    }
#if VECTOR_BYTES == 32
#define BY_VECTORS(OPERATOR)                                                                                                       \
    for (; i + 16 <= n; i += 16)                                                                                                   \
        put_narrow(out + i, wide_numbers(a + i, brain) OPERATOR wide_numbers(b + i, brain),                                        \
                   wide_numbers(a + i + 8, brain) OPERATOR wide_numbers(b + i + 8, brain), brain);
#else
#define BY_VECTORS(OPERATOR)
#endif
COMBINE(add, +, BY_VECTORS)
COMBINE(subtract, -, BY_VECTORS)
COMBINE(multiply, *, BY_VECTORS)
COMBINE(divide, /, BY_VECTORS)
#undef COMBINE
#undef BY_VECTORS

static void combine_narrow_loop(int operation, int brain, uint16_t *out, const uint16_t *a, const uint16_t *b, size n)
{
#define EITHER(name)                               \
    if (brain) name##_narrow(1, out, a, b, n);     \
    else name##_narrow(0, out, a, b, n)
    if (operation == ROWS_ADD) { EITHER(add); }
    else if (operation == ROWS_SUBTRACT) { EITHER(subtract); }
    else if (operation == ROWS_MULTIPLY) { EITHER(multiply); }
    else { EITHER(divide); }
#undef EITHER
}

/* Sums in float32 of at most so many numbers, which are added up in double precision. */
enum { NARROW_SUM = 2048, NARROW_LANES = 32 };

static inline __attribute__((always_inline)) float sum_of_narrow(const uint16_t *x, size n, int brain)
{
    float lanes[NARROW_LANES] = {0};
    size i = 0;
#if VECTOR_BYTES == 32
    __m256 part[4];
    for (int k = 0; k < 4; k++) part[k] = _mm256_setzero_ps();
    for (; i + NARROW_LANES <= n; i += NARROW_LANES)
        for (int k = 0; k < 4; k++) part[k] = _mm256_add_ps(part[k], wide_numbers(x + i + 8 * k, brain));
    for (int k = 0; k < 4; k++) _mm256_storeu_ps(lanes + 8 * k, part[k]);
#endif
    float wide[NARROW_BLOCK];
    for (size count; i < n; i += count) {
        count = n - i < NARROW_BLOCK ? n - i : NARROW_BLOCK;
        widen_numbers(wide, x + i, count, brain);
        size at = 0;
        for (; at + NARROW_LANES <= count; at += NARROW_LANES)
            for (size k = 0; k < NARROW_LANES; k++) lanes[k] += wide[at + k];
        for (size k = 0; at < count; at++, k++) lanes[k] += wide[at];
    }
    for (size width = NARROW_LANES / 2; width > 0; width /= 2)
        for (size k = 0; k < width; k++) lanes[k] += lanes[k + width];
    return lanes[0];
}

static void sum_narrow_loop(double *out, int brain, const uint16_t *x, size n)
{
    double sum = 0;
    for (size at = 0; at < n; at += NARROW_SUM) {
        const size count = n - at < NARROW_SUM ? n - at : NARROW_SUM;
        sum += brain ? sum_of_narrow(x + at, count, 1) : sum_of_narrow(x + at, count, 0);
    }
    *out = sum;
}
