/* Elementary functions of float64 for every argument, where NumPy computes one number at a time (on x86 without AVX-512):
 * without branches, as in vecmath.h, and within 4 ulp (tests/arrays/test_ulp.py). The fits are interpolated at Chebyshev's
 * nodes with 45 digits. */
#ifndef WENGERT_DOUBLES_H
#define WENGERT_DOUBLES_H

#include "vecmath.h"

/* (atan(x) / x - 1) / x^2 as a function of x^2 for |x| <= tan(pi/8) */
static inline double atan_poly_f64(double x)
{
    double p = 0.016284375050043393;
    p = p * x - 0.03456931506332609;
    p = p * x + 0.045515447340221615;
    p = p * x - 0.05230443640686948;
    p = p * x + 0.05878927554473807;
    p = p * x - 0.0666642476020052;
    p = p * x + 0.07692296368042296;
    p = p * x - 0.09090908753259112;
    p = p * x + 0.11111111105150588;
    p = p * x - 0.14285714285659779;
    p = p * x + 0.19999999999999804;
    p = p * x - 0.3333333333333333;
    return p;
}

/* (asin(x) / x - 1) / x^2 as a function of x^2 for |x| <= 1/2 */
static inline double asin_poly_f64(double x)
{
    double p = 0.028757851367421566;
    p = p * x - 0.014851887071247204;
    p = p * x + 0.01740087944269402;
    p = p * x + 0.005457506718640358;
    p = p * x + 0.01032281435018578;
    p = p * x + 0.011479177415184906;
    p = p * x + 0.013971212973552933;
    p = p * x + 0.017352392720869973;
    p = p * x + 0.02237217294214989;
    p = p * x + 0.030381944138531247;
    p = p * x + 0.04464285714635543;
    p = p * x + 0.07499999999998433;
    p = p * x + 0.16666666666666669;
    return p;
}

/* Subnormal numbers are scaled by 2^54, to which the logarithm of the scale belongs. */
static inline double raised(double x, double *power)
{
    const int small = x < 0x1p-1022;
    *power = small ? 54.0 : 0.0;
    return small ? x * 0x1p54 : x;
}
static inline double log_ends_f64(double x, double inside)
{
    inside = x < INFINITY ? inside : x;
    return x > 0 ? inside : x == 0 ? -INFINITY : NAN;
}
static inline double log_double(double x)
{
    double power, y = raised(x, &power);
    return log_ends_f64(x, log_f64(y) - power * 0.69314718055994530942);
}
static inline double log2_double(double x)
{
    double power, n, l = log_parts_f64(raised(x, &power), &n);
    return log_ends_f64(x, (n - power) + l * 1.4426950408889634);
}
static inline double log10_double(double x)
{
    double power, n, l = log_parts_f64(raised(x, &power), &n);
    n -= power;
    return log_ends_f64(x, n * 3.01029995663611771306e-01 + (n * 3.69423907715893078616e-13 + l * 0.43429448190325182765));
}
static inline double log1p_double(double x)
{
    double y = 1.0 + x, b = y - 1.0, rest = (x - b) + (1.0 - (y - b));
    double value = log_ends_f64(y, log_f64(y) + rest / y);
    return x == 0 ? x : value;
}

/* As exp_parts_f64, with what rounding lost of the argument and of the first sum. */
static inline double exp_parts_double(double x, double *first, double *second)
{
    const double magic = 6755399441055744.0;
    double t = x * 1.4426950408889634 + magic, n = t - magic;
    int64_t k = bits_f64(t) - 0x4338000000000000;
    double r0 = x - n * 0.693147180369123816490, w = n * 1.90821492927058770002e-10, r = r0 - w, low = (r0 - r) - w;
    int64_t a = (int64_t)((uint64_t)(k + 4096) >> 1) - 2048, b = k - a;
    *first = double_of((a + 1023) << 52), *second = double_of((b + 1023) << 52);
    double sum = 1.0 + r;
    return sum + (((1.0 - sum) + r) + (r * r * exp_poly_f64(r) + low));
}
static inline double exp_double(double x)
{
    x = x < -746.0 ? -746.0 : x;
    double first, second, p = exp_parts_double(x > 710.0 ? 710.0 : x, &first, &second);
    return p * first * second;
}
/* (exp(x) - 1) / 4 for -40 <= x <= 710.6, relatively exact but where x is tiny: a quarter does not overflow. */
static inline double quarter_expm1(double x)
{
    const double magic = 6755399441055744.0;
    double t = x * 1.4426950408889634 + magic, n = t - magic;
    double r0 = x - n * 0.693147180369123816490, w = n * 1.90821492927058770002e-10, r = r0 - w, low = (r0 - r) - w;
    double scale = double_of((int64_t)((uint64_t)(bits_f64(t) - 0x4338000000000000 + 1021) << 52));
    return scale * (r + (r * r * exp_poly_f64(r) + low)) + (scale - 0.25);
}
#define TINY 1e-17 /* below it these functions are the identity */
static inline double expm1_double(double x)
{
    double y = x < -40.0 ? -40.0 : x, value = 4.0 * quarter_expm1(y > 710.0 ? 710.0 : y);
    return abs_f64(x) < TINY ? x : value;
}
static inline double sinh_double(double x)
{
    double a = abs_f64(x), half = 2.0 * quarter_expm1(a > 710.6 ? 710.6 : a), both = half + half / (2.0 * half + 1.0);
    return a < TINY ? x : sign_of_f64(half < 1e17 ? both : half, x);
}
static inline double cosh_double(double x)
{
    double a = abs_f64(x), first, second, p = exp_parts_double(a > 711.0 ? 711.0 : a, &first, &second);
    double half = p * (0.5 * first) * second;
    return half + 0.25 / half;
}
static inline double tanh_double(double x)
{
    double a = abs_f64(x), quarter = quarter_expm1(a > 20.0 ? 40.0 : 2.0 * a);
    return a < TINY ? x : sign_of_f64(quarter / (quarter + 0.5), x);
}

/* The tangent of tame angles (tame_angle_f64). */
static inline double tan_double(double x)
{
    double s, c;
    const int64_t k = quarters_f64(x, &s, &c);
    return k & 1 ? -c / s : s / c;
}

/* As in wide.h: asin of |x| up to 1/2, and half the angle to the pole beyond. */
static inline double asin_part_double(double a)
{
    const int far = a > 0.5;
    double z = far ? 0.5 * (1.0 - a) : a * a, s = far ? __builtin_sqrt(z) : a;
    return s + s * z * asin_poly_f64(z);
}
#define HALF_TURN_LOW 6.123233995736766036e-17 /* what pi/2 has beyond its double */
static inline double arcsin_double(double x)
{
    double a = abs_f64(x), p = asin_part_double(a), far = (1.5707963267948966 - 2.0 * p) + HALF_TURN_LOW;
    return sign_of_f64(a > 0.5 ? far : p, x);
}
static inline double arccos_double(double x)
{
    double a = abs_f64(x), p = asin_part_double(a), near = 1.5707963267948966 - ((x < 0 ? -p : p) - HALF_TURN_LOW);
    double far = x < 0 ? 3.141592653589793 - (2.0 * p - 2.0 * HALF_TURN_LOW) : 2.0 * p;
    return a > 0.5 ? far : near;
}
/* The angle of the smaller to the larger leg is *turns pi/4 and the result: beyond pi/8 both are turned by pi/4. */
static inline double angle_parts(double low, double high, int far, double *turns)
{
    double t = (far ? low - high : low) / (far ? low + high : high), z;
    t = low == high ? 0.0 : t, z = t * t;
    *turns = far ? 1.0 : 0.0;
    return t + t * z * atan_poly_f64(z);
}
static inline double angle_sum(double turns, double p)
{
    return turns * 0.78539816339744830962 + (p + turns * (0.5 * HALF_TURN_LOW));
}
#define BEYOND_PI_8 0.41421356237309503
static inline double arctan2_double(double y, double x)
{
    double a = abs_f64(y), b = abs_f64(x), low = a < b ? a : b, high = a < b ? b : a, turns;
    const double scale = high > 1e300 ? 0x1p-60 : high < 1e-290 ? 0x1p60 : 1.0; /* their sum must not overflow, nor lose digits */
    low *= scale, high *= scale;
    double p = angle_parts(low, high, (low > BEYOND_PI_8 * high) | ((low == high) & (high > 0)), &turns);
    p = a > b ? -p : p, turns = a > b ? 2.0 - turns : turns;
    const int back = sign_of_f64(1.0, x) < 0; /* minus zero too */
    p = back ? -p : p, turns = back ? 4.0 - turns : turns;
    double value = sign_of_f64(angle_sum(turns, p), y);
    return (x != x) | (y != y) ? x + y : value;
}
static inline double arctan_double(double x)
{
    double a = abs_f64(x), low = a > 1.0 ? 1.0 : a, high = a > 1.0 ? a : 1.0, turns;
    double p = angle_parts(low, high, low > BEYOND_PI_8 * high, &turns);
    p = a > 1.0 ? -p : p, turns = a > 1.0 ? 2.0 - turns : turns;
    return sign_of_f64(angle_sum(turns, p), x);
}

static inline double arctanh_double(double x)
{
    double a = abs_f64(x);
    return sign_of_f64(0.5 * log1p_double(2.0 * a / (1.0 - a)), x);
}
/* Beyond 1e8 the root is the number itself, whose square may overflow. */
#define ROOT_IS_ALL 1e8
static inline double arcsinh_double(double x)
{
    double a = abs_f64(x), square = a * a, near = a + square / (1.0 + __builtin_sqrt(square + 1.0));
    const int far = a > ROOT_IS_ALL;
    return sign_of_f64(log1p_double(far ? a - 1.0 : near) + (far ? 0.69314718055994530942 : 0.0), x);
}
static inline double arccosh_double(double x)
{
    double t = x - 1.0, near = t + __builtin_sqrt(t * (t + 2.0));
    const int far = x > ROOT_IS_ALL;
    double value = log1p_double(far ? t : near) + (far ? 0.69314718055994530942 : 0.0);
    return x < 1.0 ? NAN : value;
}

/* As special_erfinv and special_ndtri (special.c), without their far tails: with no less than 1.5e-11 beyond. */
static inline double normal_centre(double r)
{
    double p = 2.5090809287301226727e3;
    p = p * r + 3.3430575583588128105e4;
    p = p * r + 6.7265770927008700853e4;
    p = p * r + 4.5921953931549871457e4;
    p = p * r + 1.3731693765509461125e4;
    p = p * r + 1.9715909503065514427e3;
    p = p * r + 1.3314166789178437745e2;
    p = p * r + 3.3871328727963666080e0;
    double q = 5.2264952788528545610e3;
    q = q * r + 2.8729085735721942674e4;
    q = q * r + 3.9307895800092710610e4;
    q = q * r + 2.1213794301586595867e4;
    q = q * r + 5.3941960214247511077e3;
    q = q * r + 6.8718700749205790830e2;
    q = q * r + 4.2313330701600911252e1;
    q = q * r + 1.0;
    return p / q;
}
static inline double normal_shoulder(double r)
{
    double p = 7.74545014278341407640e-4;
    p = p * r + 2.27238449892691845833e-2;
    p = p * r + 2.41780725177450611770e-1;
    p = p * r + 1.27045825245236838258e0;
    p = p * r + 3.64784832476320460504e0;
    p = p * r + 5.76949722146069140550e0;
    p = p * r + 4.63033784615654529590e0;
    p = p * r + 1.42343711074968357734e0;
    double q = 1.05075007164441684324e-9;
    q = q * r + 5.47593808499534494600e-4;
    q = q * r + 1.51986665636164571966e-2;
    q = q * r + 1.48103976427480074590e-1;
    q = q * r + 6.89767334985100004550e-1;
    q = q * r + 1.67638483018380384940e0;
    q = q * r + 2.05319162663775882187e0;
    q = q * r + 1.0;
    return p / q;
}
static inline double erfinv_double(double x)
{
    double half = 0.5 * x, a = abs_f64(x), near = half * normal_centre(0.180625 - half * half);
    double far = normal_shoulder(__builtin_sqrt(-log_f64(0.5 * (1.0 - a))) - 1.6);
    return 0.70710678118654752440 * (a <= 0.85 ? near : sign_of_f64(far, x));
}
static inline double ndtri_double(double p)
{
    double q = p - 0.5, a = abs_f64(q), beyond = 1.0 - p, near = q * normal_centre(0.180625 - q * q);
    double far = normal_shoulder(__builtin_sqrt(-log_f64(p < beyond ? p : beyond)) - 1.6);
    return a <= 0.425 ? near : sign_of_f64(far, q);
}

/* As special_trigamma for 1e-150 < x < 1e150: below 10 the series at x + 10, and ten steps down as one fraction. */
static inline double trigamma_double(double x)
{
    const int near = x < 10.0;
    double y = near ? x + 10.0 : x, inverse = 1.0 / y, z = inverse * inverse, n = 0.0, d = 1.0;
    for (int i = 0; i < 10; i++) {
        double square = (x + i) * (x + i);
        n = n * square + d, d *= square;
    }
    double series = 7.0 / 6;
    series = series * z - 691.0 / 2730;
    series = series * z + 5.0 / 66;
    series = series * z - 1.0 / 30;
    series = series * z + 1.0 / 42;
    series = series * z - 1.0 / 30;
    series = series * z + 1.0 / 6;
    return inverse + 0.5 * z + inverse * z * series + (near ? n / d : 0.0);
}
#undef TINY
#undef HALF_TURN_LOW
#undef ROOT_IS_ALL
#undef BEYOND_PI_8

#endif
