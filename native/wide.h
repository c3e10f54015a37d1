/* Elementary functions of float32 computed in double precision by short polynomials, so that little but the final rounding
 * is left: at most 1 ulp. No branches, as in vecmath.h; the fits are of the same kind as those in polynomials.h. */
#ifndef WENGERT_WIDE_H
#define WENGERT_WIDE_H

#include "vecmath.h"

/* (exp(r) - 1) / r for |r| <= ln(2)/2; of exp to 2^-29 */
static inline double exp_short(double x)
{
    double p = 0.0013843885360499397;
    p = p * x + 0.008374215816364855;
    p = p * x + 0.04166800103401351;
    p = p * x + 0.1666643066118856;
    p = p * x + 0.4999999420415272;
    p = p * x + 1.0000000322396032;
    return p;
}

/* the same to 2^-32 of exp(r) - 1 */
static inline double expm1_short(double x)
{
    double p = 0.0001984126827690424;
    p = p * x + 0.0013941108189339615;
    p = p * x + 0.008333403144476175;
    p = p * x + 0.04166635321683205;
    p = p * x + 0.16666666247268572;
    p = p * x + 0.5000000046925828;
    p = p * x + 1.0000000000314353;
    return p;
}

/* (log(1 + f) - f) / f^2 for sqrt(1/2) <= 1 + f <= sqrt(2); of the logarithm to 2^-28 */
static inline double log_short(double x)
{
    double p = -0.07644994831075093;
    p = p * x + 0.12921935155591702;
    p = p * x - 0.13242711871290544;
    p = p * x + 0.1417925669090577;
    p = p * x - 0.16608797013463342;
    p = p * x + 0.20002087793607348;
    p = p * x - 0.25001598417800397;
    p = p * x + 0.33333324230781214;
    p = p * x - 0.4999998816752383;
    return p;
}

/* (atan(x) / x - 1) / x^2 as a function of x^2 for |x| <= 1; of atan to 2^-28 */
static inline double atan_short(double x)
{
    double p = -0.0018272093184483142;
    p = p * x + 0.011064421067665404;
    p = p * x - 0.03145565823226965;
    p = p * x + 0.058234501101425175;
    p = p * x - 0.08419456008386576;
    p = p * x + 0.10957575100744545;
    p = p * x - 0.14265245181866887;
    p = p * x + 0.1999863860325495;
    p = p * x - 0.33333301866058745;
    return p;
}

/* (asin(x) / x - 1) / x^2 as a function of x^2 for |x| <= 1/2; of asin to 2^-31 */
static inline double asin_short(double x)
{
    double p = 0.037565192267547114;
    p = p * x + 0.01440260654276569;
    p = p * x + 0.03181761185023444;
    p = p * x + 0.04451572065291219;
    p = p * x + 0.07500510905203268;
    p = p * x + 0.1666665987278695;
    return p;
}

/* (tan(x) / x - 1) / x^2 as a function of x^2 for |x| <= pi/4; of tan to 2^-29 */
static inline double tan_short(double x)
{
    double p = 0.0044192625688489785;
    p = p * x - 1.1606766383687341e-06;
    p = p * x + 0.010910600344963621;
    p = p * x + 0.02125186775978782;
    p = p * x + 0.05406612700603277;
    p = p * x + 0.13332604894422664;
    p = p * x + 0.3333335158466261;
    return p;
}

/* exp(a^2 / 2) (a + 4) times the probability of a normal number beyond a, 0 <= a <= 14.5, as a function of (a - 4) / (a + 4); to 2^-26 */
static inline double tail_short(double x)
{
    double p = -0.00013197320949185796;
    p = p * x + 0.00017935146641585788;
    p = p * x + 0.0015699232191109728;
    p = p * x - 0.003512551802027468;
    p = p * x - 0.007525270575433739;
    p = p * x + 0.06040383052758578;
    p = p * x - 0.1865234416852893;
    p = p * x + 0.3871369011630987;
    p = p * x - 0.6078965882516556;
    p = p * x + 0.7552851353817891;
    return p;
}

/* exp(x) for -150 <= x <= 150, and NaN of NaN. The power of two is added to the exponent of the polynomial: the low bits of
 * t are an integer there, and a number converted from float32 has no low bits to disturb a NaN with. */
static inline double exp_wide(double x)
{
    const double magic = 6755399441055744.0;
    double t = x * 1.4426950408889634 + magic, r = x - (t - magic) * 0.6931471805599453;
    return double_of((int64_t)((uint64_t)bits_f64(r * exp_short(r) + 1.0) + ((uint64_t)bits_f64(t) << 52)));
}
static inline float within(float x, float far)
{
    x = x < -far ? -far : x;
    return x > far ? far : x;
}
/* exp(y) - 1, relatively exact, for |y| up to 150 */
static inline double over_wide(double y)
{
    const double magic = 6755399441055744.0;
    double t = y * 1.4426950408889634 + magic, r = y - (t - magic) * 0.6931471805599453;
    double scale = double_of((int64_t)(((uint64_t)bits_f64(t) << 52) + 0x3ff0000000000000u));
    return scale * (r * expm1_short(r)) + (scale - 1.0);
}
static inline float expm1_wide(float x)
{
    float value = (float)over_wide(within(x, 100));
    return x == 0 ? x : value;
}
static inline float sinh_wide(float x)
{
    float a = abs_f32(x);
    double over = over_wide(a > 100.0f ? 100.0f : a);
    return sign_of_f32((float)(0.5 * (over + over / (over + 1.0))), x);
}
static inline float cosh_wide(float x)
{
    double e = exp_wide(within(x, 120));
    return (float)(0.5 * e + 0.5 / e);
}

/* x = 2^*n (1 + the result), the result between sqrt(1/2) - 1 and sqrt(2) - 1, for positive x */
static inline double mantissa_wide(double x, double *n)
{
    /* The exponent becomes a double by its bits, as in log_f64. */
    uint64_t biased = ((uint64_t)bits_f64(x) - 0x3fe6a09e667f3bcdu + 0x8000000000000000u) >> 52;
    *n = double_of((int64_t)(biased | 0x4330000000000000u)) - (4503599627370496.0 + 2048.0);
    return double_of((int64_t)((uint64_t)bits_f64(x) - ((biased - 2048) << 52))) - 1.0;
}
/* log(x) = *n log(2) + the result, for positive x */
static inline double log_parts_wide(double x, double *n)
{
    double f = mantissa_wide(x, n);
    return f * f * log_short(f) + f;
}
static inline float log_ends(float x, float inside)
{
    inside = x < INFINITY ? inside : x;
    return x > 0 ? inside : x == 0 ? -INFINITY : NAN;
}
static inline float log_wide(float x)
{
    double n, l = log_parts_wide(x, &n);
    return log_ends(x, (float)(n * 0.6931471805599453 + l));
}
static inline float log2_wide(float x)
{
    double n, l = log_parts_wide(x, &n);
    return log_ends(x, (float)(n + l * 1.4426950408889634));
}
static inline float log10_wide(float x)
{
    double n, l = log_parts_wide(x, &n);
    return log_ends(x, (float)(n * 0.30102999566398120 + l * 0.43429448190325183));
}

/* log(1 + x), relatively exact: where the exponent of the sum is zero x itself is what is beyond one. */
static inline double log1p_wide_double(double x)
{
    double n, f = mantissa_wide(1.0 + x, &n);
    f = n == 0 ? x : f;
    return n * 0.6931471805599453 + (f * f * log_short(f) + f);
}
static inline float log1p_wide(float x)
{
    float value = log_ends(1.0f + x, (float)log1p_wide_double(x));
    return x == 0 ? x : value;
}
static inline float arctanh_wide(float x)
{
    double a = abs_f32(x), value = 0.5 * log1p_wide_double(2.0 * a / (1.0 - a));
    value = a < 1.0 ? value : a == 1.0 ? INFINITY : NAN;
    return sign_of_f32((float)value, x);
}
static inline float arcsinh_wide(float x)
{
    double a = abs_f32(x), square = a * a, value = log1p_wide_double(a + square / (1.0 + __builtin_sqrt(square + 1.0)));
    return sign_of_f32((float)(a < INFINITY ? value : a), x);
}
static inline float arccosh_wide(float x)
{
    double t = x - 1.0, value = log1p_wide_double(t + __builtin_sqrt(t * (t + 2.0)));
    value = t < INFINITY ? value : t;
    return (float)(t >= 0 ? value : NAN);
}
/* log(x / (1 - x)), the quotient in float32: exact enough for a result that is measured by one. */
static inline float logit_wide(float x) { return log_wide(x / (1.0f - x)); }
/* -x log(x) */
static inline float entr_wide(float x)
{
    double n, l = log_parts_wide(x, &n), value = -x * (n * 0.6931471805599453 + l);
    value = x > 0 ? value : x == 0 ? 0 : -INFINITY;
    return x != x ? x : (float)(x < INFINITY ? value : -INFINITY);
}
/* x^y for x >= 0 */
static inline float power_wide(float x, float y)
{
    double l = log_f64(x);
    l = x > 0 ? l : -INFINITY;
    l = x < INFINITY ? l : x;
    double z = y * l;
    z = z < -150.0 ? -150.0 : z;
    float value = (float)exp_wide(z > 150.0 ? 150.0 : z);
    value = x != x ? x : value;
    return (y == 0) | (x == 1.0f) ? 1.0f : value;
}

/* The tangent of tame angles (tame_angle_f32); the multiple of pi/2 is taken off in two parts, the first of 33 bits. */
static inline float tan_wide(float x)
{
    const double magic = 6755399441055744.0;
    double t = x * 0.63661977236758134308 + magic, n = t - magic;
    double r = x - n * 1.57079632673412561417e+00 - n * 6.07710050650619224932e-11, z = r * r, tangent = r + r * z * tan_short(z);
    return (float)(bits_f64(t) & 1 ? -1.0 / tangent : tangent);
}
static inline int tame_angle_f32(float x) { return fabsf(x) < 1e5f; }

/* The cosine, and the sine, of tame angles to 2^-28, by the series of Taylor; the sine of a zero has its sign. */
static inline double circle_wide(float x, double *sine)
{
    const double magic = 6755399441055744.0;
    double t = x * 0.63661977236758134308 + magic, n = t - magic;
    double r = x - n * 1.57079632673412561417e+00 - n * 6.07710050650619224932e-11, z = r * r;
    double s = r * (1.0 + z * (z * (1.0 / 120 + z * (z * (1.0 / 362880) - 1.0 / 5040)) - 1.0 / 6));
    double c = 1.0 + z * (z * (1.0 / 24 + z * (z * (1.0 / 40320 - z * (1.0 / 3628800)) - 1.0 / 720)) - 0.5);
    const int64_t k = bits_f64(t), odd = k & 1;
    *sine = double_of(bits_f64(odd ? c : s) ^ (int64_t)((uint64_t)(k & 2) << 62));
    return double_of(bits_f64(odd ? s : c) ^ (int64_t)((uint64_t)((k + 1) & 2) << 62));
}

/* asin of |x| up to 1/2, and half the angle to the pole beyond: asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)) */
static inline double asin_part_wide(double a)
{
    const int far = a > 0.5;
    double z = far ? 0.5 * (1.0 - a) : a * a, s = far ? __builtin_sqrt(z) : a;
    return s + s * z * asin_short(z);
}
static inline float arcsin_wide(float x)
{
    double a = abs_f32(x), p = asin_part_wide(a);
    return sign_of_f32((float)(a > 0.5 ? 1.5707963267948966 - 2.0 * p : p), x);
}
static inline float arccos_wide(float x)
{
    double a = abs_f32(x), p = asin_part_wide(a), near = 1.5707963267948966 - (x < 0 ? -p : p);
    double far = x < 0 ? 3.141592653589793 - 2.0 * p : 2.0 * p;
    return (float)(a > 0.5 ? far : near);
}
static inline float arctan_wide(float x)
{
    float a = abs_f32(x);
    const int far = a > 1.0f;
    double t = (double)(far ? 1.0f : a) / (double)(far ? a : 1.0f), z = t * t, p = t + t * z * atan_short(z);
    return sign_of_f32((float)(far ? 1.5707963267948966 - p : p), x);
}

static inline float arctan2_wide(float y, float x)
{
    double a = abs_f32(y), b = abs_f32(x), low = a < b ? a : b, high = a < b ? b : a, t = low / high;
    t = low == high ? (high > 0 ? 1.0 : 0.0) : t;
    double z = t * t, p = t + t * z * atan_short(z);
    p = a > b ? 1.5707963267948966 - p : p;
    p = bits_f32(x) < 0 ? 3.141592653589793 - p : p;
    return (x != x) | (y != y) ? x + y : sign_of_f32((float)p, y);
}

/* The probability of a normal number beyond a, for a >= 0, zero beyond 14.5. */
static inline double tail_wide(double a)
{
    double inverse = 1.0 / (a + 4.0);
    return inverse * tail_short((a - 4.0) * inverse) * exp_wide(-0.5 * (a * a));
}
static inline float ndtr_wide(float x)
{
    float a = abs_f32(x);
    double tail = tail_wide(a > 14.5f ? 14.5f : a);
    return (float)(x < 0 ? tail : 1.0 - tail);
}
static inline float erfc_wide(float x)
{
    double a = abs_f32(x) * 1.4142135623730951, tail = 2.0 * tail_wide(a > 14.5 ? 14.5 : a);
    return (float)(x < 0 ? 2.0 - tail : tail);
}
/* What of x passes through a gate whose other end is shut, the rest being a product that vanishes: NaN at minus infinity. */
static inline float passed(float x) { return x > 0 ? x : x * 0.0f; }
static inline float silu_wide(float x)
{
    float scale, a = abs_f32(x), divisor = logistic_parts_f32(a, &scale);
    return passed(x) - (a > 120.0f ? 120.0f : a) * scale / divisor;
}
static inline float gelu_tanh_wide(float x)
{
    double a = abs_f32(x), u = a * (1.5957691216057308 + 0.07135481627260025 * (a * a));
    double product = (a > 120.0 ? 120.0 : a) / (1.0 + exp_wide(u > 145.0 ? 145.0 : u));
    return (float)(passed(x) - product);
}
static inline float gelu_wide(float x)
{
    float a = abs_f32(x), bound = a > 14.5f ? 14.5f : a;
    return (float)(passed(x) - (double)bound * tail_wide(bound));
}
/* The same in float32 throughout: the probability beyond |x| is half of 2^(|x| slope(|x|)). It is off by some units for every
 * unit of x^2, which the positive side does not see. */
static inline float gelu_by(float slope, float x, float a)
{
    const float magic = 12582911.0f; /* one less than what rounds: the half */
    float t = slope * a + magic, r = slope * a - (t - magic), power = 1.32647331e-03f;
    power = power * r + 9.67151299e-03f;
    power = power * r + 5.55073358e-02f;
    power = power * r + 2.40222424e-01f;
    power = power * r + 6.93147004e-01f;
    power = power * r + 1.0f;
    float tail = float_of((int32_t)((uint32_t)bits_f32(power) + ((uint32_t)bits_f32(t) << 23)));
    int32_t up = bits_f32(x);
    up = up > 0 ? up : 0; /* the larger of x and zero */
    return float_of(bits_f32(float_of(up) - a * tail) | (bits_f32(x) & (int32_t)0x80000000));
}
static inline float gelu_within_4(float x) { float a = abs_f32(x); return gelu_by(tail_slope_4(a), x, a); }
static inline float gelu_within_5(float x) { float a = abs_f32(x); return gelu_by(tail_slope_5(a), x, a); }
/* tanh(log(1 + e^x)) = e(e + 2) / (e(e + 2) + 2) */
static inline float mish_wide(float x)
{
    double e = exp_wide(within(x, 120)), n = e * (e + 2.0);
    return (float)((x < -120.0f ? (x - x) - 120.0f : x) * (n / (n + 2.0)));
}

/* x times a function of log(1 - x^2), by a fit on as far as float32 goes. */
static inline float erfinv_wide(float x)
{
    double a = x, n, l = log_parts_wide((1.0 - a) * (1.0 + a), &n), w = -(n * 0.6931471805599453 + l);
    double p = 9.835848535190903e-08;
    p = p * w + 3.695782078668696e-05;
    p = p * w + 0.0007608871211425886;
    p = p * w + 0.008564471187739965;
    p = p * w + 0.06311197801620567;
    p = p * w + 0.31397217411781136;
    p = p * w + 0.8862269229975576;
    double q = 3.0580141849259624e-06;
    q = q * w + 0.00022888954521159;
    q = q * w + 0.002199254417760987;
    q = q * w + 0.03397134450350766;
    q = q * w + 0.09248018917381272;
    q = q * w + 1.0;
    float value = (float)(a * p / q);
    value = abs_f32(x) < 1.0f ? value : x * INFINITY;
    return abs_f32(x) > 1.0f ? NAN : value;
}

/* The gamma function's logarithm and its derivatives for 0 < x < 1e30: Stirling's series at x + 8 where x is below 10, and
 * eight steps down, put together as one product or fraction. */
static inline float lgamma_wide(double x)
{
    const int near = x < 10.0, root = x < 3.0; /* around its zeros at 1 and 2: lgamma(t + 2) = t P(t) / Q(t), and steps down */
    double y = near ? x + 8.0 : x, product = 1.0, t = x < 0.5 ? x : x < 1.5 ? x - 1.0 : x - 2.0;
    t = root ? t : 0.0;
    for (int i = 0; i < 8; i++) product *= x + i;
    double steps = x < 0.5 ? x * (x + 1.0) : x < 1.5 ? x : 1.0;
    steps = root ? steps : near ? product : 1.0;
    double inverse = 1.0 / y, z = inverse * inverse;
    double p = 6.5461692195468094e-6;
    p = p * t + 5.1261442119891536e-4;
    p = p * t + 1.0761708654598557e-2;
    p = p * t + 9.5276656758430387e-2;
    p = p * t + 0.41725891887051172;
    p = p * t + 0.94169285984488958;
    p = p * t + 1.0322392924250592;
    p = p * t + 0.42278433509846714;
    double q = 1.2994531242674539e-6;
    q = q * t + 1.6742041547219949e-4;
    q = q * t + 5.0463438419083323e-3;
    q = q * t + 6.1244858012688135e-2;
    q = q * t + 0.36196916412627269;
    q = q * t + 1.1062047574607787;
    q = q * t + 1.6788045347887331;
    q = q * t + 1.0;
    double series = 1.0 / 1188;
    series = series * z - 1.0 / 1680;
    series = series * z + 1.0 / 1260;
    series = series * z - 1.0 / 360;
    series = series * z + 1.0 / 12;
    double value = (y - 0.5) * log_f64(y) - y + 0.91893853320467274178 + series * inverse;
    return (float)((root ? t * p / q : value) - log_f64(steps));
}
static inline float digamma_wide(double x)
{
    const int near = x < 10.0;
    double y = near ? x + 8.0 : x, inverse = 1.0 / y, z = inverse * inverse, n = 0.0, d = 1.0;
    for (int i = 0; i < 8; i++) n = n * (x + i) + d, d *= x + i;
    double series = 1.0 / 240;
    series = 1.0 / 252 - series * z;
    series = 1.0 / 120 - series * z;
    series = 1.0 / 12 - series * z;
    double value = log_f64(y) - 0.5 * inverse - z * series;
    return (float)(value - (near ? n / d : 0.0));
}
static inline float trigamma_wide(double x)
{
    const int near = x < 10.0;
    double y = near ? x + 8.0 : x, inverse = 1.0 / y, z = inverse * inverse, n = 0.0, d = 1.0;
    for (int i = 0; i < 8; i++) {
        double square = (x + i) * (x + i);
        n = n * square + d, d *= square;
    }
    double series = 1.0 / 30;
    series = 1.0 / 42 - series * z;
    series = 1.0 / 30 - series * z;
    series = 1.0 / 6 - series * z;
    double value = inverse + 0.5 * z + inverse * z * series;
    return (float)(value + (near ? n / d : 0.0));
}

#endif
