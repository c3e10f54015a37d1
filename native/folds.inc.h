/* The largest and least numbers of rows, and dropout, for one REAL type and one instruction set. Vectors are those of
 * gemm.inc.h, which comes first. */

#if SINGLE
typedef int32_t F(flag);
#else
typedef int64_t F(flag);
#endif

/* The largest number, or the least, of which a NaN is none, and whether there is a NaN; a NaN is what comes out then. The lanes are
 * joined as vectors, where there are any: of so many single numbers a compiler makes as many instructions. */
#define EXTREME(name, start, BETTER)                                                                        \
    static void F(name)(REAL *out, const REAL *x, size rows, size n)                                        \
    {                                                                                                       \
        enum { WIDTH = sizeof(F(vector)) / sizeof(REAL) };                                                  \
        for (size r = 0; r < rows; r++, x += n) {                                                           \
            REAL found = start;                                                                             \
            F(flag) nan = 0;                                                                                \
            size i = 0;                                                                                     \
            if (n >= 4 * WIDTH) {                                                                           \
                F(vector) best[4];                                                                          \
                F(fold_places) odd = {0};                                                                   \
                for (int k = 0; k < 4; k++) best[k] = LOAD(x + k * WIDTH), odd |= best[k] != best[k];       \
                for (i = 4 * WIDTH; i + 4 * WIDTH <= n; i += 4 * WIDTH)                                     \
                    for (int k = 0; k < 4; k++) {                                                           \
                        const F(vector) v = LOAD(x + i + k * WIDTH);                                        \
                        best[k] = TAKEN(v BETTER best[k], v, best[k]), odd |= v != v;                       \
                    }                                                                                       \
                for (int k = 2; k > 0; k /= 2)                                                              \
                    for (int j = 0; j < k; j++) best[j] = TAKEN(best[j + k] BETTER best[j], best[j + k], best[j]); \
                REAL lanes[WIDTH];                                                                          \
                F(flag) flags[WIDTH];                                                                       \
                memcpy(lanes, &best[0], sizeof lanes), memcpy(flags, &odd, sizeof flags);                   \
                for (int k = 0; k < WIDTH; k++) found = lanes[k] BETTER found ? lanes[k] : found, nan |= flags[k]; \
            }                                                                                               \
            for (; i < n; i++) found = x[i] BETTER found ? x[i] : found, nan |= x[i] != x[i];               \
            out[r] = nan ? (REAL)NAN : found;                                                               \
        }                                                                                                   \
    }
#ifdef __GNUC__
typedef F(flag) F(fold_places) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#define TAKEN(mask, a, b) ((F(vector))(((mask) & (F(fold_places))(a)) | (~(mask) & (F(fold_places))(b))))
#else
typedef F(flag) F(fold_places);
#define TAKEN(mask, a, b) ((mask) ? (a) : (b))
#endif
EXTREME(fold_largest, -(REAL)INFINITY, >)
EXTREME(fold_least, (REAL)INFINITY, <)
#undef EXTREME
#undef TAKEN

/* x * scale where the mask is one, and x * 0 (which keeps NaN) where it is zero */
static void F(masked_scale)(REAL *restrict out, const REAL *restrict x, const uint8_t *restrict mask, REAL scale, size n)
{
    for (size i = 0; i < n; i++) out[i] = x[i] * (mask[i] ? scale : (REAL)0);
}
