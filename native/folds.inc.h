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
    SUM_OF_ROWS(double, SQUARE)
}
/* The largest number, or the least, and whether there is a NaN: two loops over a stretch that stays in the cache, which is quicker than
 * one comparison that minds both. A NaN is what comes out then. */
#define EXTREME(name, start, BETTER)                                                                        \
    static void F(name)(REAL *out, const REAL *x, size rows, size n)                                        \
    {                                                                                                       \
        for (size r = 0; r < rows; r++, x += n) {                                                           \
            REAL lanes[128 / sizeof(REAL)], found = start;                                                  \
            int nan = 0;                                                                                    \
            for (size j = 0; j < LANES; j++) lanes[j] = start;                                              \
            for (size at = 0; at < n; at += 2048) {                                                         \
                const REAL *part = x + at;                                                                  \
                const size count = n - at < 2048 ? n - at : 2048;                                           \
                size i = 0;                                                                                 \
                for (; i + LANES <= count; i += LANES)                                                      \
                    for (size j = 0; j < LANES; j++) lanes[j] = part[i + j] BETTER lanes[j] ? part[i + j] : lanes[j]; \
                for (; i < count; i++) found = part[i] BETTER found ? part[i] : found;                      \
                for (i = 0; i < count; i++) nan |= part[i] != part[i];                                      \
            }                                                                                               \
            for (size j = 0; j < LANES; j++) found = lanes[j] BETTER found ? lanes[j] : found;              \
            out[r] = nan ? (REAL)NAN : found;                                                               \
        }                                                                                                   \
    }
EXTREME(fold_largest, -(REAL)INFINITY, >)
EXTREME(fold_least, (REAL)INFINITY, <)
#undef EXTREME

/* x * scale where the mask is one, and x * 0 (which keeps NaN) where it is zero */
static void F(masked_scale)(REAL *restrict out, const REAL *restrict x, const uint8_t *restrict mask, REAL scale, size n)
{
    for (size i = 0; i < n; i++) out[i] = x[i] * (mask[i] ? scale : (REAL)0);
}
