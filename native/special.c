/* Special functions in double precision, one value at a time: the same approximations as in
 * src/wengert/arrays/plain/special.py, where their sources are named. float32 results come from these by rounding. */
#include "special.h"

#include "blocks.h"

#include <math.h>
#include <stddef.h>

#define PI 3.14159265358979323846
#define SQRT1_2 0.70710678118654752440
#define INV_SQRT_PI 0.56418958354775628695
#define LOG_SQRT_2PI 0.91893853320467274178

static const double ERFC_P[] = {1.23033935479799725e03, 2.05107837782607147e03, 1.71204761263407058e03,
    8.81952221241769090e02, 2.98635138197400131e02, 6.61191906371416295e01, 8.88314979438837594e00,
    5.64188496988670089e-1, 2.15311535474403846e-8};
static const double ERFC_Q[] = {1.23033935480374942e03, 3.43936767414372164e03, 4.36261909014324716e03,
    3.29079923573345963e03, 1.62138957456669019e03, 5.37181101862009858e02, 1.17693950891312499e02,
    1.57449261107098347e01, 1.0};
static const double FAR_P[] = {6.58749161529837803e-4, 1.60837851487422766e-2, 1.25781726111229246e-1,
    3.60344899949804439e-1, 3.05326634961232344e-1, 1.63153871373020978e-2};
static const double FAR_Q[] = {2.33520497626869185e-3, 6.05183413124413191e-2, 5.27905102951428412e-1,
    1.87295284992346725e00, 2.56852019228982242e00, 1.0};
static const double NDTRI_A[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
    1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4,
    2.5090809287301226727e3};
static const double NDTRI_B[] = {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
    2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3};
static const double NDTRI_C[] = {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
    3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2,
    7.74545014278341407640e-4};
static const double NDTRI_D[] = {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
    6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
    1.05075007164441684324e-9};
static const double NDTRI_E[] = {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
    2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5,
    2.01033439929228813265e-7};
static const double NDTRI_F[] = {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
    1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
    2.04426310338993978564e-15};
static const double LGAMMA_P[] = {0.42278433509846714, 1.0322392924250592, 0.94169285984488958,
    0.41725891887051172, 9.5276656758430387e-2, 1.0761708654598557e-2, 5.1261442119891536e-4,
    6.5461692195468094e-6};
static const double LGAMMA_Q[] = {1.0, 1.6788045347887331, 1.1062047574607787, 0.36196916412627269,
    6.1244858012688135e-2, 5.0463438419083323e-3, 1.6742041547219949e-4, 1.2994531242674539e-6};
static const double STIRLING[] = {1.0/12.0, -1.0/360.0, 1.0/1260.0, -1.0/1680.0, 1.0/1188.0, -691.0/360360.0,
    1.0/156.0, -3617.0/122400.0};
static const double DIGAMMA_FAR[] = {1.0/12.0, -1.0/120.0, 1.0/252.0, -1.0/240.0, 1.0/132.0, -691.0/32760.0,
    1.0/12.0};
static const double DIGAMMA_P[] = {1.2503801375034054, 1.8675925104074454, 0.97113275262623916,
    0.21631407251432455, 1.9964082741519262e-2, 5.8111350639856766e-4, 1.0894678528383954e-6};
static const double DIGAMMA_Q[] = {1.0, 2.1771665986671343, 1.6630736963665908, 0.5710455727133128,
    9.1119022533032849e-2, 6.1009756924348215e-3, 1.2043151172286901e-4};
static const double DIGAMMA_ROOT[] = {1.4616321437060833, 1.2622790435331673e-09};

static double poly(double x, const double *c, size_t n)
{
    double value = c[n - 1];
    for (size_t i = n - 1; i-- > 0;) value = value * x + c[i];
    return value;
}
#define POLY(x, table) poly(x, table, sizeof(table) / sizeof(*table))
#define RATIO(x, p, q) (POLY(x, p) / POLY(x, q))

double special_erfcx(double x)
{
    if (x < 0.46875) {
        if (x > -0.46875) return exp(x * x) * erfc(x);
        if (x < -30) x = -30;
        double head = trunc(x * 16) / 16;
        return 2 * exp(head * head) * exp((x - head) * (x + head)) - special_erfcx(-x);
    }
    if (x <= 4) return RATIO(x, ERFC_P, ERFC_Q);
    if (x > 1e150) return INV_SQRT_PI / x;
    double z = 1 / (x * x);
    return (INV_SQRT_PI - z * RATIO(z, FAR_P, FAR_Q)) / x;
}

/* The logarithm of the probability of a normal number below x; its square is taken exactly, as rounding x/sqrt(2) would cost x^2 ulp. */
static double log_ndtr(double x)
{
    if (x < -1) return log(0.5 * special_erfcx(-x * SQRT1_2)) - 0.5 * x * x;
    if (x <= 1) return log1p(-0.5 * erfc(x * SQRT1_2));
    const double a = x > 39 ? 39 : x, head = trunc(a * 16) / 16;
    const double beyond = 0.5 * exp(-0.5 * head * head) * exp(-0.5 * (a - head) * (a + head)) * special_erfcx(a * SQRT1_2);
    return x != x ? x : log1p(-beyond);
}
BY_ELEMENT(log_ndtr, 0, log_ndtr(x))

/* The normal quantile of 0.5 + q, beyond which there is `tail`; NaN where that is below zero. */
static double quantile(double q, double tail)
{
    if (fabs(q) <= 0.425) return q * RATIO(0.180625 - q * q, NDTRI_A, NDTRI_B);
    double r = sqrt(-log(tail));
    double value = r <= 5 ? RATIO(r - 1.6, NDTRI_C, NDTRI_D) : r == INFINITY ? r : RATIO(r - 5, NDTRI_E, NDTRI_F);
    return copysign(value, q);
}

double special_erfinv(double x)
{
    return quantile(0.5 * x, 0.5 * (1 - fabs(x))) * SQRT1_2;
}

double special_ndtri(double p)
{
    return quantile(p - 0.5, p < 0.5 ? p : 1 - p);
}

/* sin(pi x) with the period removed exactly. */
static double sin_pi(double x)
{
    double r = x - 2 * rint(0.5 * x);
    if (r > 0.5) r = 1 - r;
    if (r < -0.5) r = -1 - r;
    return sin(PI * r);
}

double special_lgamma(double x)
{
    if (x != x) return x;
    if (x <= 0) {
        if (x == floor(x)) return INFINITY;
        return log(PI / fabs(sin_pi(x))) - special_lgamma(1 - x);
    }
    if (x < 0.5) return x * RATIO(x, LGAMMA_P, LGAMMA_Q) - log(x) - log1p(x);
    if (x < 1.5) return (x - 1) * RATIO(x - 1, LGAMMA_P, LGAMMA_Q) - log1p(x - 1);
    if (x < 10) {
        double product = 1;
        while (x >= 3) product *= --x;
        return (x - 2) * RATIO(x - 2, LGAMMA_P, LGAMMA_Q) + (product == 1 ? 0 : log(product));
    }
    if (x >= 1e100) return x == INFINITY ? x : x * (log(x) - 1);
    return (x - 0.5) * (log(x) - 1) + (LOG_SQRT_2PI - 0.5) + POLY(1 / (x * x), STIRLING) / x;
}

double special_digamma(double x)
{
    if (x != x) return x;
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0) {
        if (x == floor(x)) return NAN;
        double r = x - rint(x);
        return special_digamma(1 - x) - PI * cos(PI * r) / sin(PI * r);
    }
    if (x <= 2) {
        double shift = x < 1 ? 1 / x : 0, t = x < 1 ? x : x - 1, y = x < 1 ? x + 1 : x;
        return (y - DIGAMMA_ROOT[0] - DIGAMMA_ROOT[1]) * RATIO(t, DIGAMMA_P, DIGAMMA_Q) - shift;
    }
    if (x == INFINITY) return x;
    double shift = 0;
    for (; x < 10; x++) shift += 1 / x;
    double z = 1 / (x * x);
    return log(x) - 0.5 / x - z * POLY(z, DIGAMMA_FAR) - shift;
}

double special_trigamma(double x)
{
    if (x != x) return x;
    if (x <= 0) {
        const double ratio = PI / sin_pi(x);
        return ratio * ratio - special_trigamma(1 - x);
    }
    if (x == INFINITY) return 0;
    double total = 0;
    for (; x < 10; x++) total += 1 / (x * x);
    double z = 1 / (x * x), series = 0;
    for (int k = 6; k >= 0; k--) series = series * z + 2 * (k + 1) * DIGAMMA_FAR[k];
    return total + 1 / x + 0.5 * z + z / x * series;
}
