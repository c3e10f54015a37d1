/* Vectors of one REAL type and one instruction set, and sums in LANES partial sums: the reassociation that vectorising needs,
 * written out, so that no compiler flag has to allow it everywhere. They are the same sums whatever a vector's length. */

#define LANES ((size)(128 / sizeof(REAL)))

#ifdef __GNUC__ /* vectors by name: left to itself, GCC keeps a tile of a product in memory for some instruction sets */
typedef REAL F(vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#define LOAD(p) (*(const F(vector) *)(p))
#define STORE(p, x) (*(F(vector) *)(p) = (x))
#else
typedef REAL F(vector);
#define LOAD(p) (*(p))
#define STORE(p, x) (*(p) = (x))
#endif

/* GCC leaves loops of more than sixteen rounds as they are, and what they work on in memory. */
#if defined(__GNUC__) && !defined(__clang__)
#define TILE_FOR _Pragma("GCC unroll 32") for
#else
#define TILE_FOR for
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define TURNS 1
enum { F(lanes) = VECTOR_BYTES / sizeof(REAL) };
typedef __typeof__(((F(vector)){0} < (F(vector)){0})) F(places);

/* A vector's numbers, those behind the first `by` before them. */
static inline __attribute__((always_inline)) F(vector) F(moved)(F(vector) a, int by)
{
    F(places) from;
    TILE_FOR (int k = 0; k < F(lanes); k++) from[k] = (k + by) % F(lanes);
    return __builtin_shuffle(a, from);
}

/* Lanes are halved until one is left: whole vectors, then the halves of one. */
#define HALVE(half, combine)                                                                                         \
    if (F(lanes) > (half)) {                                                                                         \
        const F(vector) a = v[0], b = F(moved)(a, half);                                                             \
        v[0] = combine;                                                                                              \
    }
#define DEFINE_FOLD(name, combine)                                                                                   \
    static inline __attribute__((always_inline)) REAL F(name)(const REAL *lanes)                                     \
    {                                                                                                                \
        enum { VECTORS = 128 / VECTOR_BYTES };                                                                       \
        F(vector) v[VECTORS];                                                                                        \
        TILE_FOR (int k = 0; k < VECTORS; k++) v[k] = LOAD(lanes + k * F(lanes));                                    \
        TILE_FOR (int half = VECTORS / 2; half > 0; half /= 2)                                                       \
            TILE_FOR (int k = 0; k < half; k++) {                                                                    \
                const F(vector) a = v[k], b = v[k + half];                                                           \
                v[k] = combine;                                                                                      \
            }                                                                                                        \
        HALVE(8, combine) HALVE(4, combine) HALVE(2, combine) HALVE(1, combine)                                      \
        return v[0][0];                                                                                              \
    }
DEFINE_FOLD(fold_sum, a + b)
DEFINE_FOLD(fold_max, (F(vector))(((F(places))a & (a > b)) | ((F(places))b & ~(a > b))))
#undef HALVE

/* Not memset, which takes longer to begin than to write so few. */
static inline __attribute__((always_inline)) void F(fill_lanes)(REAL *lanes, REAL x)
{
    TILE_FOR (int k = 0; k < 128 / VECTOR_BYTES; k++) STORE(lanes + k * F(lanes), (F(vector)){0} + x);
}
#else
#define DEFINE_FOLD(name, combine)                                                                                   \
    static inline REAL F(name)(REAL *lanes)                                                                          \
    {                                                                                                                \
        for (size half = LANES / 2; half > 0; half /= 2)                                                             \
            for (size j = 0; j < half; j++) {                                                                        \
                const REAL a = lanes[j], b = lanes[j + half];                                                        \
                lanes[j] = combine;                                                                                  \
            }                                                                                                        \
        return lanes[0];                                                                                             \
    }
DEFINE_FOLD(fold_sum, a + b)
DEFINE_FOLD(fold_max, a > b ? a : b)

static inline void F(fill_lanes)(REAL *lanes, REAL x)
{
    for (size j = 0; j < LANES; j++) lanes[j] = x;
}
#endif
#undef DEFINE_FOLD

/* Evaluate `update` (in terms of i) for all i < n and add up: LANES chains, a quarter of them for what is left over, and one. */
#define LANE_SUM(target, update)                                       \
    {                                                                  \
        REAL lanes[128 / sizeof(REAL)], rest = 0;                      \
        size i0 = 0;                                                   \
        F(fill_lanes)(lanes, 0);                                       \
        for (; i0 + LANES <= n; i0 += LANES)                           \
            for (size j = 0; j < LANES; j++) {                         \
                const size i = i0 + j;                                 \
                lanes[j] += update;                                    \
            }                                                          \
        for (; i0 + LANES / 4 <= n; i0 += LANES / 4)                   \
            for (size j = 0; j < LANES / 4; j++) {                     \
                const size i = i0 + j;                                 \
                lanes[j] += update;                                    \
            }                                                          \
        for (size i = i0; i < n; i++) rest += update;                  \
        if (i0) rest += F(fold_sum)(lanes);                            \
        target = rest;                                                 \
    }
