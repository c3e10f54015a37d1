/* Element-wise kernels for one REAL type and one instruction set; F(name) is the name with the type's suffix. */

/* "ivdep" states that iterations are independent: they are, in place or not, and the compiler need not check. */
#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)") for (size i = 0; i < n; i++)
#elif defined(__GNUC__)
#define EACH _Pragma("GCC ivdep") for (size i = 0; i < n; i++)
#else
#define EACH for (size i = 0; i < n; i++)
#endif

#define ONE ((REAL)1)
#define HALF ((REAL)0.5)
#define SQRT1_2 ((REAL)0.70710678118654752440)
#define INV_SQRT_2PI ((REAL)0.39894228040143267794)
#define SQRT_2_OVER_PI ((REAL)0.79788456080286535588)
#define GELU_CUBIC ((REAL)0.044715)

#define UNARY(name, expression)                                     \
    static void F(name##_loop)(REAL *out, const REAL *const *in, size n) \
    {                                                               \
        const REAL *x_in = in[0];                                   \
        EACH { REAL x = x_in[i]; out[i] = expression; }             \
    }
#define BINARY(name, expression)                                    \
    static void F(name##_loop)(REAL *out, const REAL *const *in, size n) \
    {                                                               \
        const REAL *g_in = in[0], *x_in = in[1];                    \
        EACH { REAL g = g_in[i], x = x_in[i]; out[i] = expression; } \
    }

/* The magnitude, kept to where exp(-a^2/2) is zero even in a product with the largest number. */
static inline REAL F(clamp_normal)(REAL x)
{
    REAL a = F(abs)(x);
    const REAL far = sizeof(REAL) == 4 ? (REAL)18.76 : (REAL)53.26;
    return a > far ? far : a;
}
/* Both parts of the slope, probability and density, share the exponential. */
static inline REAL F(gelu_slope)(REAL x)
{
    REAL a = F(clamp_normal)(x), part = HALF * F(erfcx_bounded)(a * SQRT1_2) - F(abs)(x) * INV_SQRT_2PI;
    REAL small = F(exp_minus_square)(a, HALF, part);
    return x < 0 ? small : ONE - small;
}
/* The density times 2 - x^2: the slope of the slope. */
static inline REAL F(gelu_curve)(REAL x)
{
    REAL a = F(clamp_normal)(x);
    return F(exp_minus_square)(a, HALF, ((REAL)2 - a * a) * INV_SQRT_2PI);
}
static inline REAL F(gelu_tanh_slope)(REAL x)
{
    REAL square = x * x;
    REAL s = F(sigmoid)((REAL)2 * SQRT_2_OVER_PI * x * (ONE + GELU_CUBIC * square));
    return s + x * (REAL)2 * s * (ONE - s) * SQRT_2_OVER_PI * (ONE + (REAL)3 * GELU_CUBIC * square);
}
static inline REAL F(silu_slope)(REAL x)
{
    REAL s = F(sigmoid)(x);
    return s * (ONE + x * (ONE - s));
}
static inline REAL F(mish_slope)(REAL x)
{
    REAL e = F(exp)(x > (REAL)40 ? (REAL)40 : x), n = e * (e + (REAL)2), t = n / (n + (REAL)2);
    return t + x * F(sigmoid)(x) * ((ONE - t) * (ONE + t));
}

/* clamp(x + 3, 0, 6) / 6; NaN stays NaN */
static inline REAL F(hard_gate)(REAL x)
{
    REAL y = x + (REAL)3;
    y = y < 0 ? 0 : y;
    return (y > (REAL)6 ? (REAL)6 : y) / (REAL)6;
}

/* The functions themselves: of float32 those of wide.h. */
#if SINGLE
#define OWN(name) name##_wide
#else
#define OWN(name) name##_f64
/* factor times the probability of a normal number beyond the clamped magnitude a */
static inline double normal_tail(double a, double factor)
{
    return exp_minus_square_f64(a, HALF, factor * (HALF * erfcx_bounded_f64(a * SQRT1_2)));
}
static inline double logit_f64(double x) { return log_double(x / (1.0 - x)); }
static inline double entr_f64(double x)
{
    double inside = x == 0 ? 0 : -x * log_double(x);
    return x < 0 ? -INFINITY : inside;
}
/* Distribution function of the standard normal; around zero from the odd series, whose error is small beside 1/2. */
static inline double ndtr_f64(double x)
{
    double a = clamp_normal_f64(x), z = x * SQRT1_2, tail = normal_tail(a, 1.0), far = x < 0 ? tail : 1.0 - tail;
    return a < 0.6 ? HALF + HALF * (z + z * erf_poly_f64(z * z)) : far;
}
static inline double gelu_f64(double x)
{
    double tail = normal_tail(clamp_normal_f64(x), x < 0 ? x : 1.0);
    return x < 0 ? tail : x * (1.0 - tail);
}
static inline double gelu_tanh_f64(double x)
{
    return x * sigmoid_f64(2.0 * SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x));
}
static inline double silu_f64(double x)
{
    double product, e = exp_minus_times_f64(abs_f64(x), x, &product);
    return (x < 0 ? product : x) / (1.0 + e);
}
/* tanh(log(1 + e^x)) = e(e + 2) / (e(e + 2) + 2); beyond 40 it is 1. */
static inline double mish_f64(double x)
{
    double product, e = exp_minus_times_f64(x > 40.0 ? -40.0 : -x, x, &product);
    double gate = (x < 0 ? product : e) * (e + 2.0) / (e * (e + 2.0) + 2.0);
    return x < 0 ? gate : x * gate;
}
#endif

UNARY(relu, x <= 0 ? (REAL)0 : x)
BINARY(relu_grad, x <= 0 ? (REAL)0 : g)
UNARY(sigmoid, F(sigmoid)(x))
BINARY(sigmoid_grad, g * (x * (ONE - x)))
BINARY(tanh_grad, g * ((ONE - x) * (ONE + x)))
#if SINGLE
/* By blocks: hardly any number of a layer lies beyond 4, and beyond 5.5 fewer. */
static void gelu_loop_f32(float *out, const float *const *in, size count)
{
    for (size at = 0; at < count; at += 128) {
        const size n = count - at < 128 ? count - at : 128;
        const float *x = in[0] + at;
        float *to = out + at;
        int32_t most = 0;
        for (size i = 0; i < n; i++) {
            int32_t a = bits_f32(abs_f32(x[i]));
            most = a > most ? a : most;
        }
        if (most <= bits_f32(4.0f)) EACH to[i] = gelu_within_4(x[i]);
        else if (most <= bits_f32(5.5f)) EACH to[i] = gelu_within_5(x[i]);
        else EACH to[i] = gelu_wide(x[i]);
    }
}
#else
UNARY(gelu, gelu_f64(x))
#endif
BINARY(gelu_grad, g *F(gelu_slope)(x))
BINARY(gelu_bend, g *F(gelu_curve)(x))
UNARY(gelu_tanh, OWN(gelu_tanh)(x))
BINARY(gelu_tanh_grad, g *F(gelu_tanh_slope)(x))
UNARY(silu, OWN(silu)(x))
BINARY(silu_grad, g *F(silu_slope)(x))
UNARY(log_sigmoid, (x < 0 ? x : 0) - F(log1p)(F(exp_minus)(F(abs)(x))))
BINARY(log_sigmoid_grad, g *F(sigmoid)(-x))
UNARY(mish, OWN(mish)(x))
BINARY(mish_grad, g *F(mish_slope)(x))
UNARY(hardsigmoid, F(hard_gate)(x))
BINARY(hardsigmoid_grad, (x > (REAL)-3) & (x < (REAL)3) ? g * (REAL)(1.0 / 6) : (REAL)0)
UNARY(hardswish, x *F(hard_gate)(x))
BINARY(hardswish_grad, x <= (REAL)-3 ? (REAL)0 : x < (REAL)3 ? g *(x / (REAL)3 + HALF) : g)
UNARY(rsqrt, ONE / (REAL)(sizeof(REAL) == 4 ? __builtin_sqrtf((float)x) : __builtin_sqrt((double)x)))
BINARY(gated, g *F(sigmoid)(x))
BINARY(rsqrt_grad, (REAL)-0.5 * g * (x * x * x))
UNARY(cube, x * x * x)
UNARY(frac, x - (REAL)(sizeof(REAL) == 4 ? __builtin_truncf((float)x) : __builtin_trunc((double)x)))
BINARY(square_difference, (g - x) * (g - x))
UNARY(erf, F(erf)(x))
UNARY(erfc, OWN(erfc)(x))
UNARY(ndtr, OWN(ndtr)(x))
UNARY(erfcx, (REAL)special_erfcx(x))
UNARY(signum, (REAL)(x > 0) - (REAL)(x < 0))
UNARY(angle, x < 0 ? (REAL)3.14159265358979323846 : x != x ? x : (REAL)0)
UNARY(logit, OWN(logit)(x))
UNARY(entr, OWN(entr)(x))
/* By blocks: where the vectors' formula does not hold for all numbers of one, they go one by one. */
#define BLOCKED(name, holds, value, slow)                                                        \
    static void F(name##_loop)(REAL *out, const REAL *const *in, size count)                     \
    {                                                                                            \
        for (size at = 0; at < count; at += 256) {                                               \
            const size n = count - at < 256 ? count - at : 256;                                  \
            const REAL *x_in = in[0] + at;                                                       \
            REAL *to = out + at;                                                                 \
            int tame = 1;                                                                        \
            for (size i = 0; i < n; i++) { REAL x = x_in[i]; tame &= holds; }                    \
            if (tame) EACH { REAL x = x_in[i]; to[i] = (REAL)(value); }                          \
            else for (size i = 0; i < n; i++) { REAL x = x_in[i]; to[i] = (REAL)(slow); }        \
        }                                                                                        \
    }
#if SINGLE
UNARY(erfinv, erfinv_wide(x))
BLOCKED(lgamma, (x > 0) & (x < 1e30f), lgamma_wide(x), special_lgamma(x))
BLOCKED(digamma, (x > 0) & (x < 1e30f), digamma_wide(x), special_digamma(x))
BLOCKED(trigamma, (x > 0) & (x < 1e30f), trigamma_wide(x), special_trigamma(x))
#define LOG(name) name##_wide
#else
BLOCKED(erfinv, abs_f64(x) < 1.0 - 3e-11, erfinv_double(x), special_erfinv(x))
UNARY(lgamma, special_lgamma(x))
UNARY(digamma, special_digamma(x))
BLOCKED(trigamma, (x > 1e-150) & (x < 1e150), trigamma_double(x), special_trigamma(x))
#define LOG(name) name##_double
#endif
BLOCKED(ndtri, (x > (REAL)1.5e-11) & (x < (REAL)(1 - 1.5e-11)), ndtri_double(x), special_ndtri(x))
/* The product is rounded, as in PyTorch. */
#define SINC(sine) (x *= (REAL)3.14159265358979323846, x == 0 ? 1.0 : sine / (double)x)
BLOCKED(sinc, F(abs)(x) < (REAL)3e4, SINC(sine_f64((double)x, 0)), SINC(sin((double)x)))
#undef SINC
BINARY(xlogy, (g == 0) & (x == x) ? 0 : g * LOG(log)(x))
BINARY(xlog1py, (g == 0) & (x == x) ? 0 : g * LOG(log1p)(x))
BINARY(heaviside, g == 0 ? x : (REAL)(g > 0))
#undef LOG

static void F(softplus_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *x_in = in[0], *beta = in[1], *threshold = in[2];
    EACH
    {
        REAL x = x_in[i], z = x * beta[i], soft = F(log1p_exp)(z) / beta[i];
        out[i] = z > threshold[i] ? x : soft;
    }
}
static void F(softplus_grad_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *g_in = in[0], *x_in = in[1], *beta = in[2], *threshold = in[3];
    EACH
    {
        REAL g = g_in[i], z = x_in[i] * beta[i], soft = g * F(sigmoid)(z);
        out[i] = z > threshold[i] ? g : soft;
    }
}

/* Parameters come as arrays, usually of stride zero. */
static void F(lerp_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *a = in[0], *b = in[1], *weight = in[2];
    EACH
    {
        REAL w = weight[i], step = b[i] - a[i];
        out[i] = F(abs)(w) < HALF ? a[i] + w * step : b[i] - (ONE - w) * step;
    }
}
static void F(scaled_sum_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *a = in[0], *b = in[1], *scale = in[2];
    EACH out[i] = a[i] + scale[i] * b[i];
}
static void F(smooth_l1_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *a = in[0], *b = in[1], *beta = in[2];
    EACH
    {
        REAL d = F(abs)(a[i] - b[i]), near = HALF * d * d / beta[i], far = d - HALF * beta[i];
        out[i] = d < beta[i] ? near : far;
    }
}
static void F(huber_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *a = in[0], *b = in[1], *delta = in[2];
    EACH
    {
        REAL d = F(abs)(a[i] - b[i]), near = HALF * d * d, far = (d - HALF * delta[i]) * delta[i];
        out[i] = d <= delta[i] ? near : far;
    }
}
static void F(scaled_product_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *a = in[0], *b = in[1], *c = in[2], *scale = in[3];
    EACH out[i] = a[i] + scale[i] * b[i] * c[i];
}
static void F(scaled_quotient_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *a = in[0], *b = in[1], *c = in[2], *scale = in[3];
    EACH out[i] = a[i] + scale[i] * b[i] / c[i];
}
static void F(threshold_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *x = in[0], *bound = in[1], *instead = in[2];
    EACH out[i] = x[i] <= bound[i] ? instead[i] : x[i];
}
static void F(threshold_grad_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *g = in[0], *x = in[1], *bound = in[2];
    EACH out[i] = x[i] <= bound[i] ? (REAL)0 : g[i];
}
/* g times the difference of a and b kept within delta, times a scale */
static void F(bent_grad_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *g = in[0], *a = in[1], *b = in[2], *delta = in[3], *scale = in[4];
    EACH
    {
        REAL d = a[i] - b[i], most = delta[i];
        d = d < -most ? -most : d;
        out[i] = g[i] * ((d > most ? most : d) * scale[i]);
    }
}
/* Beyond the bounds as `other` says; infinite at zero and one, of the sign of g. */
static void F(logit_grad_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *g = in[0], *x_in = in[1], *least = in[2], *most = in[3], *other = in[4];
    EACH
    {
        REAL x = x_in[i], slope = g[i] / (x * (ONE - x) + 0);
        out[i] = (x < least[i]) | (x > most[i]) ? other[i] : slope;
    }
}
/* g times the derivative of a sigmoid(x) in x */
static void F(gated_grad_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *g = in[0], *a = in[1], *x = in[2];
    EACH
    {
        REAL s = F(sigmoid)(x[i]);
        out[i] = (g[i] * s) * ((ONE - s) * a[i]);
    }
}
static void F(nan_to_num_loop)(REAL *out, const REAL *const *in, size n)
{
    const size whole = n;
    for (size at = 0; at < whole; at += 1024) { /* most blocks hold finite numbers alone */
        const REAL *x_in = in[0] + at, *nan = in[1] + at, *above = in[2] + at, *below = in[3] + at;
        REAL *to = out + at;
        const size n = whole - at < 1024 ? whole - at : 1024;
        int odd = 0;
        EACH { const REAL x = x_in[i]; to[i] = x, odd |= !(x - x == 0); }
        if (!odd) continue;
        EACH
        {
            REAL x = x_in[i];
            x = x == (REAL)INFINITY ? above[i] : x == -(REAL)INFINITY ? below[i] : x;
            to[i] = x_in[i] != x_in[i] ? nan[i] : x;
        }
    }
}
static void F(leaky_relu_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *x = in[0], *slope = in[1];
    EACH out[i] = x[i] > 0 ? x[i] : x[i] * slope[i];
}
static void F(leaky_relu_grad_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *g = in[0], *x = in[1], *slope = in[2];
    EACH out[i] = x[i] > 0 ? g[i] : g[i] * slope[i];
}
static void F(hardshrink_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *x = in[0], *bound = in[1];
    EACH out[i] = (x[i] <= bound[i]) & (x[i] >= -bound[i]) ? (REAL)0 : x[i];
}
static void F(softshrink_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *x_in = in[0], *bound = in[1];
    EACH
    {
        REAL x = x_in[i], up = x > bound[i] ? x - bound[i] : x != x ? x : (REAL)0;
        out[i] = x < -bound[i] ? x + bound[i] : up;
    }
}
static void F(shrink_grad_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *g = in[0], *x = in[1], *bound = in[2];
    EACH out[i] = (x[i] <= bound[i]) & (x[i] >= -bound[i]) ? (REAL)0 : g[i];
}
static void F(hardtanh_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *x_in = in[0], *low = in[1], *high = in[2];
    EACH
    {
        REAL x = x_in[i] < low[i] ? low[i] : x_in[i];
        out[i] = x > high[i] ? high[i] : x;
    }
}
static void F(hardtanh_grad_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *g = in[0], *x = in[1], *low = in[2], *high = in[3];
    EACH out[i] = (x[i] <= low[i]) | (x[i] >= high[i]) ? (REAL)0 : g[i];
}
static void F(elu_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *x_in = in[0], *below = in[1], *scale = in[2], *steep = in[3];
    EACH
    {
        REAL x = x_in[i], z = x > 0 ? (REAL)0 : x, soft = F(expm1_minus)(-(z * steep[i])) * below[i];
        out[i] = x < 0 ? soft : x * scale[i]; /* with the sign of zero */
    }
}
static void F(elu_grad_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *g = in[0], *x_in = in[1], *below = in[2], *scale = in[3], *steep = in[4];
    EACH
    {
        REAL x = x_in[i], z = x > 0 ? (REAL)0 : x, soft = F(exp_minus)(-(z * steep[i])) * (below[i] * steep[i]);
        out[i] = g[i] * (x <= 0 ? soft : scale[i]);
    }
}

/* ---- functions that NumPy has too, by loops of its own for one number at a time ---- */

static inline REAL F(remainder_of)(REAL a, REAL b)
{
    REAL whole, r = F(split)(a, b, &whole);
    r = (r != 0) & ((r < 0) != (b < 0)) ? r + b : r;
    return r == 0 ? F(sign_of)(0, a) : r; /* PyTorch's zero, not NumPy's */
}
static inline REAL F(floor_quotient)(REAL a, REAL b)
{
    REAL whole, r = F(split)(a, b, &whole);
    whole = (r != 0) & ((r < 0) != (b < 0)) ? whole - ONE : whole;
    return whole == 0 ? F(sign_of)(0, a / b) : whole;
}
static inline REAL F(log_add_exp)(REAL a, REAL b)
{
    REAL far = (a > b ? a : b) + F(log1p)(F(exp_minus)(F(abs)(a - b)));
    return a == b ? a + (REAL)0.69314718055994530942 : far;
}
static inline REAL F(log_add_exp2)(REAL a, REAL b)
{
    REAL part = F(log1p)(F(exp2)(-F(abs)(a - b)));
    REAL far = (a > b ? a : b) + part * (REAL)1.44269504088896340736;
    return a == b ? a + ONE : far;
}
/* Squares in a range where they neither overflow nor vanish. */
static inline REAL F(hypotenuse)(REAL x, REAL y)
{
    double a = fabs((double)x), b = fabs((double)y), top = a > b ? a : b;
    double scale = sizeof(REAL) == 4 ? 1.0 : top > 0x1p500 ? 0x1p-600 : top < 0x1p-450 ? 0x1p600 : 1.0;
    double u = a * scale, v = b * scale;
    REAL value = (REAL)(__builtin_sqrt(u * u + v * v) / scale);
    return (a == INFINITY) | (b == INFINITY) ? (REAL)INFINITY : value;
}

BINARY(remainder, F(remainder_of)(g, x))
BINARY(floor_divide, F(floor_quotient)(g, x))
BINARY(logaddexp, F(log_add_exp)(g, x))
BINARY(hypot, F(hypotenuse)(g, x))
UNARY(exp2, F(exp2)(x))
UNARY(sign, x != x ? x : (REAL)(x > 0) - (REAL)(x < 0))
UNARY(reciprocal, ONE / x)
#if SINGLE
/* In float32 throughout: what it loses is far below the last of 11 bits. */
static inline float gelu_narrow(float x)
{
    const float magic = 12582912.0f;
    float a = abs_f32(x), bound = a > 13.0f ? 13.0f : a, inverse = 1.0f / (bound + 4.0f), u = (bound - 4.0f) * inverse;
    float y = bound * bound * -0.72134752f, t = y + magic, r = y - (t - magic); /* exp(-a^2 / 2) in powers of two */
    float power = 0.00956971757f;
    power = power * r + 0.0559211522f;
    power = power * r + 0.240247786f;
    power = power * r + 0.693121433f;
    power = power * r + 0.999999225f;
    power = float_of((int32_t)((uint32_t)bits_f32(power) + ((uint32_t)bits_f32(t) << 23)));
    float tail = -0.00486286078f; /* as tail_short, to 2^-18 */
    tail = tail * u - 0.00695446646f;
    tail = tail * u + 0.0611014441f;
    tail = tail * u - 0.186585426f;
    tail = tail * u + 0.387046307f;
    tail = tail * u - 0.60789305f;
    tail = tail * u + 0.755286813f;
    return passed(x) - bound * (inverse * tail) * power;
}
static void gelu_narrow_loop(float *out, const float *const *in, size n)
{
    const float *x_in = in[0];
    EACH { float x = x_in[i]; out[i] = gelu_narrow(x); }
}
UNARY(exp, (float)exp_wide(within(x, 150)))
UNARY(expm1, expm1_wide(x))
UNARY(cosh, cosh_wide(x))
UNARY(log, log_wide(x))
UNARY(log2, log2_wide(x))
UNARY(log10, log10_wide(x))
UNARY(arcsin, arcsin_wide(x))
UNARY(arccos, arccos_wide(x))
UNARY(arctan, arctan_wide(x))
UNARY(tan, tan_wide(x))
#endif
BINARY(logaddexp2, F(log_add_exp2)(g, x))
BINARY(nextafter, F(neighbour)(g, x))
BINARY(copysign, F(sign_of)(g, x))
#if VECTOR_BYTES < 64 /* SCALAR_KERNELS */
#if SINGLE
#define OWN_SCALAR(name) name##_wide
BINARY(power, power_wide(g, x))
#else
#define OWN_SCALAR(name) name##_double
#define DOUBLE(name) UNARY(name, name##_double(x))
SINGLE_KERNELS(DOUBLE) DOUBLE(tanh)
#undef DOUBLE
#endif
UNARY(log1p, OWN_SCALAR(log1p)(x))
UNARY(sinh, OWN_SCALAR(sinh)(x))
UNARY(arcsinh, OWN_SCALAR(arcsinh)(x))
UNARY(arccosh, OWN_SCALAR(arccosh)(x))
UNARY(arctanh, OWN_SCALAR(arctanh)(x))
BINARY(arctan2, OWN_SCALAR(arctan2)(g, x))
#undef OWN_SCALAR
#endif
static void F(fmod_loop)(REAL *out, const REAL *const *in, size n)
{
    const REAL *a = in[0], *b = in[1];
    EACH { REAL whole; out[i] = F(split)(a[i], b[i], &whole); }
}
static int F(tame_quotients)(const REAL *const *in, size n)
{
    const REAL *a = in[0], *b = in[1];
    int tame = 1;
    for (size i = 0; i < n; i++) tame &= F(tame_quotient)(a[i], b[i]);
    return tame;
}
#undef OWN
