/* Elementary functions written without branches, so that loops over them vectorise for whatever instruction set the
 * including file is compiled for. NaN propagates, infinities and subnormals are exact; errors are at most
 * 2 ulp, of the normal distribution's functions in double precision 6 (tests/arrays/test_ulp.py).
 * Each function exists as name_f32 and name_f64. */
#ifndef WENGERT_VECMATH_H
#define WENGERT_VECMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "polynomials.h"

static inline int32_t bits_f32(float x) { int32_t i; memcpy(&i, &x, sizeof i); return i; }
static inline int64_t bits_f64(double x) { int64_t i; memcpy(&i, &x, sizeof i); return i; }
static inline float float_of(int32_t i) { float x; memcpy(&x, &i, sizeof x); return x; }
static inline double double_of(int64_t i) { double x; memcpy(&x, &i, sizeof x); return x; }

static inline float abs_f32(float x) { return float_of(bits_f32(x) & 0x7fffffff); }
static inline double abs_f64(double x) { return double_of(bits_f64(x) & 0x7fffffffffffffff); }
static inline float sign_of_f32(float x, float s)
{
    return float_of((bits_f32(x) & 0x7fffffff) | (int32_t)((uint32_t)bits_f32(s) & 0x80000000u));
}
static inline double sign_of_f64(double x, double s)
{
    return double_of((bits_f64(x) & 0x7fffffffffffffff) | (int64_t)((uint64_t)bits_f64(s) & 0x8000000000000000u));
}

/* exp(x + lo) = p * first * second, where lo is a small correction to x, and |x| is at most 176 (f32) or 1418 (f64). The
 * power of two comes in two factors, so that a product with them goes through the subnormals to zero, and to infinity,
 * by rounding alone; at the lowest x they are zero. Adding the "magic" constant rounds to an integer and leaves it in the
 * low bits. */
static inline float exp_parts_f32(float x, float lo, float *first, float *second)
{
    const float magic = 12582912.0f;
    float t = x * 1.44269504f + magic;
    int32_t k = bits_f32(t) - 0x4b400000;
    float n = t - magic;
    float r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f + lo;
    int32_t a = k >> 1, b = k - a;
    *first = float_of((a + 127) << 23), *second = float_of((b + 127) << 23);
    return r * r * exp_poly_f32(r) + r + 1.0f;
}

static inline double exp_parts_f64(double x, double lo, double *first, double *second)
{
    const double magic = 6755399441055744.0;
    double t = x * 1.4426950408889634 + magic;
    int64_t k = bits_f64(t) - 0x4338000000000000;
    double n = t - magic;
    double r = x - n * 0.693147180369123816490;
    r = r - n * 1.90821492927058770002e-10 + lo;
    /* A logical shift of k + 4096: vector units before AVX-512 have no arithmetic shift of 64 bits. */
    int64_t a = (int64_t)((uint64_t)(k + 4096) >> 1) - 2048, b = k - a;
    *first = double_of((a + 1023) << 52), *second = double_of((b + 1023) << 52);
    return r * r * exp_poly_f64(r) + r + 1.0;
}

#define DEFINE_EXPONENTIALS(REAL, SUFFIX, FAR)                                                                \
    static inline REAL exp_bounded_##SUFFIX(REAL x, REAL lo)                                                  \
    {                                                                                                         \
        REAL first, second, p = exp_parts_##SUFFIX(x, lo, &first, &second);                                   \
        return p * first * second;                                                                            \
    }                                                                                                         \
    /* exp(-a) for a >= 0, and *product = factor * exp(-a), exact where exp(-a) itself is subnormal */        \
    static inline REAL exp_minus_times_##SUFFIX(REAL a, REAL factor, REAL *product)                           \
    {                                                                                                         \
        REAL first, second, p = exp_parts_##SUFFIX(a > (REAL)FAR ? -(REAL)FAR : -a, 0, &first, &second);      \
        *product = factor * p * first * second;                                                               \
        return p * first * second;                                                                            \
    }
DEFINE_EXPONENTIALS(float, f32, 176)
DEFINE_EXPONENTIALS(double, f64, 1418)

/* exp(x) for any x. */
static inline float exp_f32(float x)
{
    x = x < -104.0f ? -104.0f : x;
    return exp_bounded_f32(x > 89.0f ? 89.0f : x, 0);
}
static inline double exp_f64(double x)
{
    x = x < -746.0 ? -746.0 : x;
    return exp_bounded_f64(x > 710.0 ? 710.0 : x, 0);
}

/* 2^x for any x. */
static inline float exp2_f32(float x)
{
    const float magic = 12582912.0f;
    x = x < -151.0f ? -151.0f : x;
    x = x > 129.0f ? 129.0f : x;
    float t = x + magic, r = (x - (t - magic)) * 0.69314718f;
    int32_t k = bits_f32(t) - 0x4b400000, a = k >> 1, b = k - a;
    return (r * r * exp_poly_f32(r) + r + 1.0f) * float_of((a + 127) << 23) * float_of((b + 127) << 23);
}
static inline double exp2_f64(double x)
{
    const double magic = 6755399441055744.0;
    x = x < -1076.0 ? -1076.0 : x;
    x = x > 1025.0 ? 1025.0 : x;
    double t = x + magic, r = (x - (t - magic)) * 0.69314718055994530942;
    int64_t k = bits_f64(t) - 0x4338000000000000;
    int64_t a = (int64_t)((uint64_t)(k + 4096) >> 1) - 2048, b = k - a;
    return (r * r * exp_poly_f64(r) + r + 1.0) * double_of((a + 1023) << 52) * double_of((b + 1023) << 52);
}

/* exp(-a) for a >= 0. */
static inline float exp_minus_f32(float a) { return exp_bounded_f32(a > 104.0f ? -104.0f : -a, 0); }
static inline double exp_minus_f64(double a) { return exp_bounded_f64(a > 746.0 ? -746.0 : -a, 0); }

/* exp(-a) - 1 for a >= 0, relatively exact near zero. */
static inline float expm1_minus_f32(float a)
{
    const float magic = 12582912.0f, x = a > 80.0f ? -80.0f : -a;
    float t = x * 1.44269504f + magic, n = t - magic;
    float r = x - n * 0.693359375f + n * 2.12194440e-4f, scale = float_of((bits_f32(t) - 0x4b400000 + 127) << 23);
    return scale * (r * r * exp_poly_f32(r) + r) + (scale - 1.0f);
}
static inline double expm1_minus_f64(double a)
{
    const double magic = 6755399441055744.0, x = a > 700.0 ? -700.0 : -a;
    double t = x * 1.4426950408889634 + magic, n = t - magic;
    double r = x - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
    double scale = double_of((bits_f64(t) - 0x4338000000000000 + 1023) << 52);
    return scale * (r * r * exp_poly_f64(r) + r) + (scale - 1.0);
}

/* log(x) for positive normal x. */
static inline float log_f32(float x)
{
    int32_t i = bits_f32(x) - 0x3f3504f3;
    int32_t k = i >> 23;
    float f = float_of(bits_f32(x) - (int32_t)((uint32_t)k << 23)) - 1.0f;
    float n = (float)k, square = f * f;
    float tail = n * -2.12194440e-4f + square * f * log_poly_f32(f) - 0.5f * square;
    return n * 0.693359375f + (tail + f);
}

static inline double log_f64(double x)
{
    /* The exponent is made non-negative and turned into a double by its bits: vector units before AVX-512 have neither
     * an arithmetic shift nor a conversion of 64-bit integers. */
    uint64_t biased = ((uint64_t)bits_f64(x) - 0x3fe6a09e667f3bcdu + 0x8000000000000000u) >> 52;
    double n = double_of((int64_t)(biased | 0x4330000000000000u)) - (4503599627370496.0 + 2048.0);
    double f = double_of((int64_t)((uint64_t)bits_f64(x) - ((biased - 2048) << 52))) - 1.0;
    double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double r = z * log_poly_f64(z);
    return n * 0.693147180369123816490 - ((half - (s * (half + r) + n * 1.90821492927058770002e-10)) - f);
}

/* log(x) = *n log(2) + the result */
static inline double log_parts_f64(double x, double *n)
{
    /* The exponent is made non-negative and turned into a double by its bits: vector units before AVX-512 have neither
     * an arithmetic shift nor a conversion of 64-bit integers. */
    uint64_t biased = ((uint64_t)bits_f64(x) - 0x3fe6a09e667f3bcdu + 0x8000000000000000u) >> 52;
    *n = double_of((int64_t)(biased | 0x4330000000000000u)) - (4503599627370496.0 + 2048.0);
    double f = double_of((int64_t)((uint64_t)bits_f64(x) - ((biased - 2048) << 52))) - 1.0;
    double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    return f - (half - s * (half + z * log_poly_f64(z)));
}

/* log(1 + e) for e in [0, 1], relatively exact for small e. */
static inline float log1p_f32(float e)
{
    float y = 1.0f + e;
    return log_f32(y) + (e - (y - 1.0f)) / y;
}
static inline double log1p_f64(double e)
{
    double y = 1.0 + e;
    return log_f64(y) + (e - (y - 1.0)) / y;
}

/* factor * exp(-x^2 scale), scale 1 or 1/2, with the rounding error of the square carried along; the exponent is bounded. */
static inline float exp_minus_square_f32(float x, float scale, float factor)
{
    float head = float_of(bits_f32(x) & (int32_t)0xfffff000);
    float low = (x - head) * (x + head), first, second;
    float p = exp_parts_f32(-scale * (head * head), -scale * low, &first, &second);
    return factor * p * first * second;
}
static inline double exp_minus_square_f64(double x, double scale, double factor)
{
    double head = double_of(bits_f64(x) & (int64_t)0xfffffffff8000000);
    double low = (x - head) * (x + head), first, second;
    double p = exp_parts_f64(-scale * (head * head), -scale * low, &first, &second);
    return factor * p * first * second;
}

/* exp(z^2) erfc(z) for 0 <= z <= 10.2 (f32) or 27.5 (f64), to where erfc(z) rounds to zero. */
static inline float erfcx_bounded_f32(float z)
{
    float inverse = 1.0f / (z + 3.0f);
    return inverse * erfcx_poly_f32((z - 3.0f) * inverse);
}
static inline double erfcx_bounded_f64(double z)
{
    double inverse = 1.0 / (z + 3.75);
    return inverse * erfcx_poly_f64((z - 3.75) * inverse);
}

#define DEFINE_ERROR_FUNCTIONS(REAL, SUFFIX, FAR)                                                             \
    /* erfc(z) for z >= 0 */                                                                                  \
    static inline REAL erfc_positive_##SUFFIX(REAL z)                                                         \
    {                                                                                                         \
        z = z > (REAL)FAR ? (REAL)FAR : z;                                                                    \
        return exp_minus_square_##SUFFIX(z, (REAL)1, erfcx_bounded_##SUFFIX(z));                              \
    }                                                                                                         \
    static inline REAL erfc_##SUFFIX(REAL x)                                                                  \
    {                                                                                                         \
        REAL a = abs_##SUFFIX(x), near = (REAL)1 - (x + x * erf_poly_##SUFFIX(x * x));                        \
        REAL tail = erfc_positive_##SUFFIX(a), far = x < 0 ? (REAL)2 - tail : tail;                           \
        return a < (REAL)0.5 ? near : far;                                                                    \
    }                                                                                                         \
    static inline REAL tanh_##SUFFIX(REAL x)                                                                  \
    {                                                                                                         \
        REAL a = abs_##SUFFIX(x), square = x * x;                                                             \
        REAL near = x + x * square * tanh_poly_##SUFFIX(square);                                              \
        REAL far = sign_of_##SUFFIX((REAL)1 - (REAL)2 / (exp_##SUFFIX((REAL)2 * a) + (REAL)1), x);         \
        return a < (REAL)0.625 ? near : far;                                                                  \
    }                                                                                                         \
    static inline REAL log1p_exp_##SUFFIX(REAL x)                                                             \
    {                                                                                                         \
        REAL small = log1p_##SUFFIX(exp_minus_##SUFFIX(abs_##SUFFIX(x)));                                     \
        return (x < 0 ? (REAL)0 : x) + small;                                                                 \
    }

DEFINE_ERROR_FUNCTIONS(float, f32, 10.2)
DEFINE_ERROR_FUNCTIONS(double, f64, 27.5)

static inline float erf_f32(float x)
{
    float a = abs_f32(x), near = x + x * erf_poly_f32(x * x), far = sign_of_f32(1.0f - erfc_positive_f32(a), x);
    return a < 1.0f ? near : far;
}
static inline double erf_f64(double x)
{
    double a = abs_f64(x), near = x + x * erf_poly_f64(x * x), z = a > 6.0 ? 6.0 : a, inverse = 1.0 / (z + 2.5);
    double tail = exp_bounded_f64(-(z * z), 0) * (inverse * erfcx_poly_short_f64((z - 2.5) * inverse));
    return a < 1.0 ? near : sign_of_f64(1.0 - tail, x);
}

/* 1 / (1 + exp(a)) = *scale / divisor for a >= 0; the scale is a power of two that keeps the divisor finite. The divisor is
 * rounded once: 1 + h, most of the exponential, is split from what rounding lost of it and from the rest of the series. */
static inline float logistic_parts_f32(float a, float *scale)
{
    const float magic = 12582912.0f;
    a = a > 110.0f ? 110.0f : a;
    float t = a * 1.44269504f + magic, n = t - magic;
    int32_t k = bits_f32(t) - 0x4b400000, half = k >> 1;
    float h = a - n * 0.69314575f, c = n * 1.4286068e-06f, r = h - c, p = 1.0f + h;
    float low = (h - (p - 1.0f)) + (r * r * exp_poly_f32(r) - c), first = float_of((half + 127) << 23);
    *scale = float_of((half - k + 127) << 23);
    return first * p + (first * low + *scale);
}
static inline float sigmoid_f32(float x)
{
    float scale, divisor = logistic_parts_f32(abs_f32(x), &scale), small = scale / divisor;
    return x > 0 ? 1.0f - small : small;
}
static inline double sigmoid_f64(double x)
{
    double e = exp_minus_f64(abs_f64(x));
    return (x < 0 ? e : 1.0) / (1.0 + e);
}

/* ---- what follows holds for tame arguments only; NumPy's loops do the others ---- */

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
#define FUSED 1
#else
#define FUSED 0
#endif

/* a = *whole * b + rest, the quotient truncated, *whole being an integer and the rest of the sign of a: both exact where the
 * quotient is not too large and b is finite. The nearest integer comes first; its rest is exact, of single precision in
 * double, of double precision by a fused product. */
static inline float split_f32(float a, float b, float *whole)
{
    double q = ((double)a / b + 6755399441055744.0) - 6755399441055744.0, r = (double)a - q * b;
    const int beyond = a < 0 ? r > 0 : r < 0;
    q = beyond ? q - (q < 0 ? -1.0 : 1.0) : q;
    r = beyond ? r + (a < 0 ? -fabs(b) : fabs(b)) : r;
    *whole = (float)q;
    return sign_of_f32((float)r, a);
}
static inline double split_f64(double a, double b, double *whole)
{
    double q = (a / b + 6755399441055744.0) - 6755399441055744.0, r = FUSED ? fma(-q, b, a) : a - q * b;
    const int beyond = a < 0 ? r > 0 : r < 0;
    q = beyond ? q - (q < 0 ? -1.0 : 1.0) : q;
    r = beyond ? r + (a < 0 ? -fabs(b) : fabs(b)) : r;
    *whole = q;
    return sign_of_f64(r, a);
}
static inline int tame_quotient_f32(float a, float b)
{
    return (fabsf(a / b) < 8388608.0f) & (fabsf(b) < INFINITY);
}
static inline int tame_quotient_f64(double a, double b)
{
    return FUSED & (fabs(a / b) < 4503599627370496.0 / 16) & (fabs(b) < INFINITY);
}

/* The sine and cosine of x by the nearest multiple of pi/2, taken off in three parts (Cody and Waite), with what the
 * second rounding lost in `low`; polynomials of fdlibm (LICENSE-coefficients). The low bits of what quarters_f64 returns are how many quarter turns were
 * taken off; `quarter` is 0 for the sine, 1 for the cosine. */
static inline int64_t quarters_f64(double x, double *sine, double *cosine)
{
    const double magic = 6755399441055744.0;
    double t = x * 0.63661977236758134308 + magic, n = t - magic;
    double r0 = x - n * 1.57079632673412561417e+00, w = n * 6.07710050630396597660e-11, r = r0 - w;
    double low = (r0 - r) - w - n * 2.02226624879595063154e-21, z = r * r;
    double s = 1.58969099521155010221e-10;
    s = s * z - 2.50507602534068634195e-08;
    s = s * z + 2.75573137070700676789e-06;
    s = s * z - 1.98412698298579493134e-04;
    s = s * z + 8.33333333332248946124e-03;
    s = r - ((z * (0.5 * low - z * r * s) - low) + z * r * 1.66666666666666324348e-01);
    double c = -1.13596475577881948265e-11;
    c = c * z + 2.08757232129817482790e-09;
    c = c * z - 2.75573143513906633035e-07;
    c = c * z + 2.48015872894767294178e-05;
    c = c * z - 1.38888888888741095749e-03;
    c = c * z + 4.16666666666666019037e-02;
    double half = 0.5 * z, head = 1.0 - half;
    c = head + (((1.0 - head) - half) + (z * z * c - r * low));
    *sine = s, *cosine = c;
    return bits_f64(t);
}
static inline double sine_f64(double x, int quarter)
{
    double s, c;
    const int64_t k = quarters_f64(x, &s, &c) + quarter;
    const double value = k & 1 ? c : s;
    return double_of(bits_f64(value) ^ (int64_t)((uint64_t)(k & 2) << 62));
}
/* The same for angles of a few turns; reduction and polynomials of sinf and cosf in Cephes (LICENSE-coefficients). */
static inline float sine_f32(float x, int quarter)
{
    const float magic = 12582912.0f;
    float t = x * 0.636619772f + magic, n = t - magic;
    float r = ((x - n * 1.5703125f) - n * 4.837512969970703125e-4f) - n * 7.549789948768648e-8f, z = r * r;
    float s = -1.9515295891e-4f;
    s = s * z + 8.3321608736e-3f;
    s = s * z - 1.6666654611e-1f;
    s = s * z * r + r;
    float c = 2.443315711809948e-5f;
    c = c * z - 1.388731625493765e-3f;
    c = c * z + 4.166664568298827e-2f;
    c = c * z * z - 0.5f * z + 1.0f;
    const int32_t k = bits_f32(t) + quarter;
    return float_of(bits_f32(k & 1 ? c : s) ^ (int32_t)((uint32_t)(k & 2) << 30));
}
static inline int tame_angle_f64(double x) { return fabs(x) < 1e5; }

/* The next number after x on the way to y. */
#define DEFINE_NEIGHBOUR(REAL, SUFFIX, INT, OF)                                                               \
    static inline REAL neighbour_##SUFFIX(REAL x, REAL y)                                                     \
    {                                                                                                         \
        INT outwards = (y > x) == (x > 0), bits = bits_##SUFFIX(x);                                           \
        REAL next = OF(outwards ? bits + 1 : bits - 1), least = sign_of_##SUFFIX(OF(1), y);                   \
        next = x == 0 ? least : next;                                                                         \
        next = x == y ? y : next;                                                                             \
        return (x != x) | (y != y) ? x + y : next;                                                            \
    }
DEFINE_NEIGHBOUR(float, f32, int32_t, float_of)
DEFINE_NEIGHBOUR(double, f64, int64_t, double_of)

#endif
