/* Rows and columns brought down to one number each, and dropout, for one REAL type and one instruction set. LANES partial
 * results as in rows.inc.h, which comes first. */

/* `update` in terms of x[i] and the partial result `so_far`; `joined` in terms of a and b. */
#define FOLD(TYPE, start, update, joined)                                     \
    TYPE lanes[128 / sizeof(REAL)], rest = start;                             \
    size i0 = 0;                                                              \
    for (size j = 0; j < LANES; j++) lanes[j] = start;                        \
    for (; i0 + LANES <= n; i0 += LANES)                                      \
        for (size j = 0; j < LANES; j++) {                                    \
            const size i = i0 + j;                                            \
            const TYPE so_far = lanes[j];                                     \
            lanes[j] = update;                                                \
        }                                                                     \
    for (size i = i0; i < n; i++) {                                           \
        const TYPE so_far = rest;                                             \
        rest = update;                                                        \
    }                                                                         \
    for (size j = 0; j < LANES; j++) {                                        \
        const TYPE a = rest, b = lanes[j];                                    \
        rest = joined;                                                        \
    }                                                                         \
    out[r] = rest;

static void F(fold_product)(double *out, const REAL *x, size rows, size n)
{
    for (size r = 0; r < rows; r++, x += n) { FOLD(double, 1, so_far * x[i], a * b) }
}
static void F(fold_squares)(double *out, const REAL *x, size rows, size n)
{
    for (size r = 0; r < rows; r++, x += n) { FOLD(double, 0, so_far + (double)x[i] * x[i], a + b) }
}
/* NaN stays once it was met. */
static void F(fold_largest)(REAL *out, const REAL *x, size rows, size n)
{
    for (size r = 0; r < rows; r++, x += n) {
        FOLD(REAL, -(REAL)INFINITY, (x[i] > so_far) | (x[i] != x[i]) ? x[i] : so_far, (b > a) | (b != b) ? b : a)
    }
}
static void F(fold_least)(REAL *out, const REAL *x, size rows, size n)
{
    for (size r = 0; r < rows; r++, x += n) {
        FOLD(REAL, (REAL)INFINITY, (x[i] < so_far) | (x[i] != x[i]) ? x[i] : so_far, (b < a) | (b != b) ? b : a)
    }
}

/* x * scale where the mask is one, and x * 0 (which keeps NaN) where it is zero */
static void F(masked_scale)(REAL *restrict out, const REAL *restrict x, const uint8_t *restrict mask, REAL scale, size n)
{
    for (size i = 0; i < n; i++) out[i] = x[i] * (mask[i] ? scale : (REAL)0);
}
