/* The largest and least numbers of rows, and dropout, for one REAL type and one instruction set. LANES partial results as in
 * rows.inc.h, which comes first. */

#if SINGLE
typedef int32_t F(flag);
#else
typedef int64_t F(flag);
#endif

/* The largest number, or the least, of which a NaN is none, and whether there is a NaN; a NaN is what comes out then. */
#define EXTREME(name, start, BETTER)                                                                        \
    static void F(name)(REAL *out, const REAL *x, size rows, size n)                                        \
    {                                                                                                       \
        for (size r = 0; r < rows; r++, x += n) {                                                           \
            REAL lanes[128 / sizeof(REAL)], found = start;                                                  \
            F(flag) odd[128 / sizeof(REAL)], nan = 0;                                                       \
            size i = 0;                                                                                     \
            for (size j = 0; j < LANES; j++) lanes[j] = start, odd[j] = 0;                                  \
            for (; i + LANES <= n; i += LANES)                                                              \
                for (size j = 0; j < LANES; j++) {                                                          \
                    const REAL v = x[i + j];                                                                \
                    lanes[j] = v BETTER lanes[j] ? v : lanes[j], odd[j] |= -(F(flag))(v != v);              \
                }                                                                                           \
            for (; i < n; i++) found = x[i] BETTER found ? x[i] : found, nan |= x[i] != x[i];               \
            for (size j = 0; j < LANES; j++) found = lanes[j] BETTER found ? lanes[j] : found, nan |= odd[j]; \
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
