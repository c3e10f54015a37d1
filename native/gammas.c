/* Incomplete gamma functions, the Hurwitz zeta function and derivatives of digamma, number by number: the same
 * approximations as in src/wengert/arrays/plain/gammas.py and plain/special.py. */
#include "blocks.h"
#include "special.h"

#include <math.h>

#define PI 3.14159265358979323846

/* y - log(1 + y), exact near zero, too: y s - 2 (s^3/3 + s^5/5 + ...) with s = y / (2 + y) */
static double excess(double y)
{
    if (fabs(y) >= 0.5) return y - log1p(y);
    const double s = y / (2 + y), z = s * s;
    double rest = 2 / 25.0;
    for (int k = 23; k > 1; k -= 2) rest = rest * z + 2.0 / k;
    return y * s - s * z * rest;
}

/* x^a exp(-x) / gamma(a), by way of Stirling's series where the powers would cancel */
static double prefactor(double a, double x)
{
    if (a < 20) return exp(a * log(x) - x - special_lgamma(a));
    const double z = 1 / (a * a), third = 1 / 1260.0 - (1 / 1680.0 - z / 1188) * z;
    const double correction = (1 / 12.0 - (1 / 360.0 - third * z) * z) / a;
    return sqrt(a / (2 * PI)) * exp(-a * excess((x - a) / a) - correction);
}

/* P(a, x) by its power series, for x up to about a */
static double lower_series(double a, double x, double precision)
{
    double term = 1, total = 1;
    for (double n = 1; n <= 10000 && term > total * precision; n++) {
        term *= x / (a + n);
        total += term;
    }
    return total * (prefactor(a, x) / a);
}

/* Q(a, x) by its continued fraction, for x above a: numerators p and denominators q, each with the one before it */
static double upper_fraction(double a, double x, double precision)
{
    const double scale = prefactor(a, x);
    double b = x + 1 - a, p = 1, q = b, last_p = 0, last_q = 1;
    if (scale == 0) return 0; /* whatever overflows on the way */
    for (double n = 1; n < 10000; n++) {
        const double step = n * (a - n), next_p = (b += 2) * p + step * last_p, next_q = b * q + step * last_q;
        const double moved = fabs(next_p * q - p * next_q), whole = fabs(next_p * q);
        last_p = p, last_q = q, p = next_p, q = next_q;
        if (moved <= precision * whole) break;
        if (fabs(q) > 1e100) p *= 1e-100, q *= 1e-100, last_p *= 1e-100, last_q *= 1e-100;
    }
    return p / q * scale;
}

/* eta / y in powers of eta, where eta^2 / 2 = y - log(1 + y) */
static const double SADDLE[] = {
    1.0, -0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
    0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06,
    -1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09,
    1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11,
    -5.830772132550426e-11, 2.4361948020667415e-11, -5.0276692801141755e-12, 1.1004392031956135e-13,
    3.371763262400985e-13};
enum { SADDLE_LAST = sizeof SADDLE / sizeof *SADDLE - 1 }; /* an odd number */

/* For a of 20 and more and x near a: the smaller of P and Q, by N. M. Temme's uniform expansion. */
static double uniform(double a, double x)
{
    const double y = (x - a) / a, half = excess(y), eta = copysign(sqrt(2 * half), y), inverse = 1 / a;
    double b[SADDLE_LAST + 2] = {0}, even = 0, odd = 0;
    for (int n = SADDLE_LAST; n > 0; n--) b[n - 1] = SADDLE[n] + (n + 1) * b[n + 1] * inverse;
    for (int n = SADDLE_LAST; n > 0; n -= 2) even = even * (2 * half) + b[n - 1], odd = odd * (2 * half) + b[n];
    const double rest = exp(-a * half) / sqrt(2 * PI * a) * (even + odd * eta) / (1 + b[1] * inverse);
    return 0.5 * erfc(fabs(eta) * sqrt(a / 2)) + copysign(1, eta) * rest;
}

/* P, or Q (`upper`); NaN for negative arguments, and for two that are both zero or both infinite */
static double incomplete(double a, double x, int upper, int single)
{
    double p, q;
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == INFINITY && x == INFINITY)) return NAN;
    if (x == 0 || a == INFINITY) {
        p = 0, q = 1;
    } else if (a == 0 || x == INFINITY) {
        p = 1, q = 0;
    } else if (a >= 20 && fabs(x - a) < 0.3 * a) {
        const double least = uniform(a, x);
        p = x < a ? least : 1 - least, q = x < a ? 1 - least : least;
    } else if (x <= 1 || x <= a) {
        p = lower_series(a, x, single && a >= 1 ? 1e-10 : 1e-17), q = 1 - p; /* of a small a, q is small */
    } else {
        q = upper_fraction(a, x, single ? 1e-10 : 4e-16), p = 1 - q;
    }
    return upper ? q : p;
}
BY_ELEMENT(gammainc, 1, incomplete(x, y, 0, single))
BY_ELEMENT(gammaincc, 1, incomplete(x, y, 1, single))

/* B_2k / (2k)! */
static const double ZETA_TAIL[] = {1 / 12.0, -1 / 720.0, 1 / 30240.0, -1 / 1209600.0, 1 / 47900160.0,
    -691 / 1307674368000.0, 1 / 74724249600.0, -3617 / 10670622842880000.0};

/* Euler and Maclaurin's formula after nine terms, and as many as lift a negative q above nine */
static double zeta(double s, double q)
{
    const int pole = q <= 0 && q == floor(q);
    if (s < 1 || (q <= 0 && !pole && s != floor(s))) return NAN;
    if (s == 1 || pole) return INFINITY;
    double a = q, total = pow(q, -s), b;
    for (int n = 0; n < 9 || a < 9; n++) {
        b = pow(++a, -s);
        total += b;
        if (a > 0 && b < total * 1e-17) return total; /* and so is the rest */
    }
    total += b * a / (s - 1) - 0.5 * b;
    double factor = s / a;
    for (int k = 0; k < 8; k++) {
        total += ZETA_TAIL[k] * factor * b;
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a);
    }
    return total;
}
BY_ELEMENT(zeta, 1, zeta(x, y))

/* The derivative of order n > 1 of digamma. */
static double derived(double n, double x)
{
    double factorial = 1;
    for (double k = 2; k <= n && factorial < INFINITY; k++) factorial *= k;
    return zeta(n + 1, x) * (fmod(n, 2) ? factorial : -factorial);
}
BY_ELEMENT(derived_digamma, 1, derived(x, y))

/* The logarithm of the multivariate gamma function of dimension p. For float32 two factors of neighbouring x are one:
 * gamma(x) gamma(x - 1/2) = 2^(2 - 2x) sqrt(pi) gamma(2x - 1). */
static double multivariate(double x, double p, int single)
{
    const double log_pi = 1.14472988584940017414, log_2 = 0.69314718055994530942;
    double total = p * (p - 1) / 4 * log_pi;
    for (; single && p >= 2; p -= 2, x -= 1)
        total += special_lgamma(2 * x - 1) + 0.5 * log_pi + (2 - 2 * fmin(x, 1e300)) * log_2;
    for (; p >= 1; p -= 1, x -= 0.5) total += special_lgamma(x);
    return total;
}
BY_ELEMENT(log_multigamma, 1, multivariate(x, y, single))
