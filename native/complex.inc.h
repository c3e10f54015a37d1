/* Functions of n complex numbers, at most COLUMNS, for one REAL type and one instruction set. Where some number is not tame, 0 is the
 * answer, nothing is written, and NumPy's loop does them. Single precision is computed in double. */

#if SINGLE
enum { F(COMPLEX_FAR) = 87 };
static inline double F(circle)(REAL x, double *sine) { return circle_wide(x, sine); }
static inline double F(size_of)(REAL x) { return exp_wide(x); }
/* The hyperbolic sine and cosine, both relatively exact. */
static inline double F(hyperbola)(REAL x, double *sine)
{
    double over = over_wide(abs_f32(x)), inverse = 1.0 / (over + 1.0);
    *sine = sign_of_f64(0.5 * (over + over * inverse), x);
    return 1.0 + 0.5 * over * over * inverse;
}
#else
enum { F(COMPLEX_FAR) = 300 };
static inline double F(circle)(REAL x, double *sine)
{
    double s, c;
    const int64_t k = quarters_f64(x, &s, &c), odd = k & 1;
    *sine = double_of(bits_f64(odd ? c : s) ^ (int64_t)((uint64_t)(k & 2) << 62));
    return double_of(bits_f64(odd ? s : c) ^ (int64_t)((uint64_t)((k + 1) & 2) << 62));
}
static inline double F(size_of)(REAL x) { return exp_f64(x); }
static inline double F(hyperbola)(REAL x, double *sine)
{
    double a = abs_f64(x), power = exp_minus_f64(a), under = -expm1_minus_f64(a), half = 0.5 / power;
    *sine = sign_of_f64(under * (2.0 - under) * half, x);
    return (power * power + 1.0) * half;
}
#endif
/* tanh(x + iy), by Kahan: beta = 1 + tan(y)^2 */
static inline double F(tangent)(REAL x, REAL y, double *imaginary)
{
    double sine, cosine = F(circle)(y, &sine), s, c = F(hyperbola)(x, &s), t = sine / cosine, beta = 1.0 + t * t;
    double inverse = 1.0 / (1.0 + beta * s * s);
    *imaginary = t * inverse;
    return beta * c * s * inverse;
}
#if SINGLE
static inline double arc_wide(double x, double y)
{
    double a = fabs(x), b = fabs(y), low = a < b ? a : b, high = a < b ? b : a, t = low / high, z = t * t, p = t + t * z * atan_short(z);
    p = b > a ? 1.5707963267948966 - p : p;
    return sign_of_f64(x < 0 ? 3.141592653589793 - p : p, y);
}
/* Half the logarithm of the sum of squares, of which one is taken off before anything is rounded where it is near to one. */
static inline double log_size_wide(double x, double y)
{
    double a = fabs(x), b = fabs(y), low = a < b ? a : b, high = a < b ? b : a, square = x * x + y * y, n;
    double far = log_parts_wide(square, &n), f = (high - 1.0) * (high + 1.0) + low * low, near = f * f * log_short(f) + f;
    return 0.5 * (n == 0 ? near : n * 0.6931471805599453 + far);
}
#endif
static inline double F(root)(double x, double y, double *imaginary)
{
    double part = __builtin_sqrt(0.5 * (__builtin_sqrt(x * x + y * y) + fabs(x))), other = part > 0 ? 0.5 * fabs(y) / part : 0;
    *imaginary = sign_of_f64(x < 0 ? part : other, y);
    return x < 0 ? other : part;
}

/* x and y are the parts of a number, u and v those of its value; tame in terms of x and y. */
#define COMPLEX(name, tame, ...)                                                                    \
    static int F(complex_##name)(REAL *out, const REAL *in, size n)                                 \
    {                                                                                               \
        REAL re[COLUMNS], im[COLUMNS];                                                              \
        int all = 1;                                                                                \
        EACH re[i] = in[2 * i], im[i] = in[2 * i + 1];                                              \
        for (size i = 0; i < n; i++) {                                                              \
            const REAL x = re[i], y = im[i];                                                        \
            all &= tame;                                                                            \
        }                                                                                           \
        if (!all) return 0;                                                                         \
        EACH                                                                                        \
        {                                                                                           \
            const REAL x = re[i], y = im[i];                                                        \
            double u, v;                                                                            \
            __VA_ARGS__                                                                             \
            re[i] = (REAL)u, im[i] = (REAL)v;                                                       \
        }                                                                                           \
        EACH out[2 * i] = re[i], out[2 * i + 1] = im[i];                                            \
        return 1;                                                                                   \
    }
#define TAME(size, angle) ((F(abs)(size) < (REAL)F(COMPLEX_FAR)) & F(tame_angle)(angle))
/* Squares in double precision neither overflow nor vanish (of single precision, never). */
#define MODERATE(x) (SINGLE ? F(abs)(x) < (REAL)INFINITY : (F(abs)(x) < (REAL)1e140) & ((F(abs)(x) > (REAL)1e-140) | ((x) == 0)))
#define NONZERO(x, y) (((x) != 0) | ((y) != 0))

COMPLEX(exp, (F(abs)(x) < (SINGLE ? (REAL)87 : (REAL)708)) & F(tame_angle)(y), {
    double sine, cosine = F(circle)(y, &sine), length = F(size_of)(x);
    u = length * cosine, v = length * sine;
})
COMPLEX(sin, TAME(y, x), {
    double sine, cosine = F(circle)(x, &sine), s, c = F(hyperbola)(y, &s);
    u = sine * c, v = cosine * s;
})
COMPLEX(cos, TAME(y, x), {
    double sine, cosine = F(circle)(x, &sine), s, c = F(hyperbola)(y, &s);
    u = cosine * c, v = -sine * s;
})
COMPLEX(sinh, TAME(x, y), {
    double sine, cosine = F(circle)(y, &sine), s, c = F(hyperbola)(x, &s);
    u = s * cosine, v = c * sine;
})
COMPLEX(cosh, TAME(x, y), {
    double sine, cosine = F(circle)(y, &sine), s, c = F(hyperbola)(x, &s);
    u = c * cosine, v = s * sine;
})
COMPLEX(tanh, TAME(x, y), { u = F(tangent)(x, y, &v); })
COMPLEX(tan, TAME(y, x), { v = F(tangent)(y, x, &u); })
COMPLEX(sqrt, MODERATE(x) & MODERATE(y), { u = F(root)(x, y, &v); })
COMPLEX(reciprocal, MODERATE(x) & MODERATE(y) & NONZERO(x, y), {
    double inverse = 1.0 / ((double)x * x + (double)y * y);
    u = x * inverse, v = -y * inverse;
})
#if SINGLE
COMPLEX(log, MODERATE(x) & MODERATE(y) & NONZERO(x, y), { u = log_size_wide(x, y), v = arc_wide(x, y); })
#endif

static int F(complex_divide)(REAL *out, const REAL *a, const REAL *b, size n)
{
    REAL re[COLUMNS], im[COLUMNS], x[COLUMNS], y[COLUMNS];
    int all = 1;
    EACH re[i] = a[2 * i], im[i] = a[2 * i + 1];
    EACH x[i] = b[2 * i], y[i] = b[2 * i + 1];
    for (size i = 0; i < n; i++) all &= MODERATE(re[i]) & MODERATE(im[i]) & MODERATE(x[i]) & MODERATE(y[i]) & NONZERO(x[i], y[i]);
    if (!all) return 0;
    EACH
    {
        const double p = re[i], q = im[i], c = x[i], d = y[i], inverse = 1.0 / (c * c + d * d);
        re[i] = (REAL)((p * c + q * d) * inverse), im[i] = (REAL)((q * c - p * d) * inverse);
    }
    EACH out[2 * i] = re[i], out[2 * i + 1] = im[i];
    return 1;
}
#undef COMPLEX
#undef TAME
#undef MODERATE
#undef NONZERO
