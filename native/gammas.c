/* Incomplete gamma functions, the Hurwitz zeta function and derivatives of digamma, number by number: the same
 * approximations as in src/wengert/arrays/plain/gammas.py and plain/special.py. */
#include "blocks.h"
#include "special.h"

#include <math.h>

#define PI 3.14159265358979323846

/* x^a exp(-x) / gamma(a), by way of Stirling's series where the powers would cancel */
static double prefactor(double a, double x)
{
    if (a < 20) return exp(a * log(x) - x - special_lgamma(a));
    const double mu = (x - a) / a, z = 1 / (a * a);
    const double correction = (1 / 12.0 - (1 / 360.0 - (1 / 1260.0 - z / 1680) * z) * z) / a;
    return sqrt(a / (2 * PI)) * exp(a * (log1p(mu) - mu) - correction);
}

/* P(a, x) by its power series, for x up to about a */
static double lower_series(double a, double x, double precision)
{
    double term = 1 / a, total = term;
    for (double n = 1; n <= 10000 && term > total * precision; n++) {
        term *= x / (a + n);
        total += term;
    }
    return total * prefactor(a, x);
}

/* Q(a, x) by its continued fraction, for x above a: numerators p and denominators q, each with the one before it */
static double upper_fraction(double a, double x, double precision)
{
    double b = x + 1 - a, p = 1, q = b, last_p = 0, last_q = 1;
    for (double n = 1; n < 10000; n++) {
        const double step = n * (a - n), next_p = (b += 2) * p + step * last_p, next_q = b * q + step * last_q;
        const double moved = fabs(next_p * q - p * next_q), whole = fabs(next_p * q);
        last_p = p, last_q = q, p = next_p, q = next_q;
        if (moved <= precision * whole) break;
        if (fabs(q) > 1e100) p *= 1e-100, q *= 1e-100, last_p *= 1e-100, last_q *= 1e-100;
    }
    return p / q * prefactor(a, x);
}

/* Q(a, x) for large a and x near a: N. M. Temme's uniform expansion, first terms */
static double upper_uniform(double a, double x)
{
    const double mu = (x - a) / a, eta = copysign(sqrt(2 * (mu - log1p(mu))), mu);
    const double c0 = -1 / 3.0 + eta * (1 / 12.0 + eta * (-2 / 135.0 +
        eta * (1 / 864.0 + eta * (1 / 2835.0 - eta * 139 / 777600))));
    const double c1 = -1 / 540.0 + eta * (-1 / 288.0 + eta * (1 / 378.0 - eta * 77 / 77760));
    return 0.5 * erfc(eta * sqrt(a / 2)) + exp(-a * eta * eta / 2) / sqrt(2 * PI * a) * (c0 + c1 / a);
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
    } else if (a > 1e4 && fabs(x - a) < 0.05 * a) {
        q = upper_uniform(a, x), p = 1 - q;
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
