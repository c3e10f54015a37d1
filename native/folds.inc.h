/* The largest and least numbers of rows, and dropout, for one REAL type and one instruction set. LANES partial results as in
 * rows.inc.h, which comes first. */

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
