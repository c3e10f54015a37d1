/* Rows brought down to their sums, sums of squares and products, for one REAL type and one instruction set; gemm.inc.h comes first.
 * Partial results stay in vectors; those of as many rows as a vector has numbers are then brought together: neighbours of two rows are
 * joined and lie side by side, until one vector has a number of each row. A row's result does not depend on how many rows there are. */

#define SQUARED(x) ((x) * (x))
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))

#ifdef TURNS
typedef double F(totals) __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef __typeof__(((F(totals)){0} < (F(totals)){0})) F(totals_places);
typedef REAL F(part) __attribute__((vector_size(VECTOR_BYTES / sizeof(double) * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
typedef __typeof__(((F(part)){0} < (F(part)){0})) F(part_bits);
typedef __typeof__(((F(vector)){0} < (F(vector)){0})) F(vector_bits);
typedef __typeof__((*(F(part_bits) *)0)[0]) F(bits_of_one);
enum { F(whole) = VECTOR_BYTES / sizeof(REAL), F(half) = VECTOR_BYTES / sizeof(double) };

/* Nothing, and then everything: from place k on, what of a vector is among the last k numbers of a row. */
static const F(bits_of_one) F(ends)[2 * F(whole)] = {[F(whole) ... 2 * F(whole) - 1] = -1};

static inline F(vector) F(end_of_sum)(const REAL *last, size left)
{
    F(vector_bits) mask;
    memcpy(&mask, F(ends) + left, sizeof mask);
    return (F(vector))((F(vector_bits))LOAD(last) & mask);
}
static inline F(totals) F(wide_part)(const REAL *x) /* which GCC converts as a whole, where __builtin_convertvector takes halves */
{
    F(totals) wide;
    double numbers[F(half)];
    for (int k = 0; k < F(half); k++) numbers[k] = x[k];
    memcpy(&wide, numbers, sizeof wide);
    return wide;
}
static inline F(totals) F(end_of_part)(const REAL *last, size left, REAL other)
{
    F(part_bits) mask;
    memcpy(&mask, F(ends) + F(whole) - F(half) + left, sizeof mask);
    const F(part) others = (F(part)){0} + other;
    const F(part) x = (F(part))(((F(part_bits)) * (const F(part) *)last & mask) | ((F(part_bits))others & ~mask));
    return F(wide_part)((const REAL *)&x);
}
/* EACH_OF numbers, by turns, come out for each row: 1, or 2 for the parts of complex numbers. n numbers are a row. `most`: more of a
 * row is taken in parts, whose results are joined in double precision. */
#define TOTALS(name, VECTOR, PLACES, COUNT, ONE_OF, EACH_OF, start, read, read_end, single, joined, most)                        \
    static inline VECTOR F(name##_row)(const REAL *x, size n)                                                                    \
    {                                                                                                                            \
        VECTOR part[4];                                                                                                          \
        size i = 0;                                                                                                              \
        for (int k = 0; k < 4; k++) part[k] = (VECTOR){0} + start;                                                               \
        for (; i + 4 * COUNT <= n; i += 4 * COUNT)                                                                               \
            for (int k = 0; k < 4; k++) part[k] = joined(part[k], read(x + i + k * COUNT));                                      \
        for (; i + COUNT <= n; i += COUNT) part[0] = joined(part[0], read(x + i));                                               \
        if (i < n) part[1] = joined(part[1], read_end(x + n - COUNT, n - i));                                                    \
        return joined(joined(part[0], part[1]), joined(part[2], part[3]));                                                       \
    }                                                                                                                            \
    static inline void F(name##_short)(double *out, const REAL *x, size rows, size n)                                            \
    {                                                                                                                            \
        for (size r = 0; r < rows; r++, x += n)                                                                                  \
            for (size c = 0; c < EACH_OF; c++) {                                                                                 \
                ONE_OF total = start;                                                                                            \
                for (size i = c; i < n; i += EACH_OF) total = joined(total, single((ONE_OF)x[i]));                               \
                out[r * EACH_OF + c] = total;                                                                                    \
            }                                                                                                                    \
    }                                                                                                                            \
    static inline void F(name##_one)(double *out, const REAL *x, size n)                                                         \
    {                                                                                                                            \
        ONE_OF lanes[COUNT];                                                                                                     \
        const VECTOR whole = F(name##_row)(x, n);                                                                                \
        memcpy(lanes, &whole, sizeof whole);                                                                                     \
        for (size width = COUNT; width > EACH_OF; width /= 2)                                                                    \
            for (size k = 0; k < width / (2 * EACH_OF); k++)                                                                     \
                for (size c = 0; c < EACH_OF; c++)                                                                               \
                    lanes[k * EACH_OF + c] = joined(lanes[2 * k * EACH_OF + c], lanes[(2 * k + 1) * EACH_OF + c]);               \
        for (size c = 0; c < EACH_OF; c++) out[c] = lanes[c];                                                                    \
    }                                                                                                                            \
    static void F(name)(double *out, const REAL *x, size rows, size n)                                                           \
    {                                                                                                                            \
        enum { ROWS = COUNT / EACH_OF };                                                                                         \
        size r = 0;                                                                                                              \
        if (n < COUNT) {                                                                                                         \
            if (n == 2) F(name##_short)(out, x, rows, 2);                                                                        \
            else if (n == 3) F(name##_short)(out, x, rows, 3);                                                                   \
            else if (n == 4) F(name##_short)(out, x, rows, 4);                                                                   \
            else F(name##_short)(out, x, rows, n);                                                                               \
            return;                                                                                                              \
        }                                                                                                                        \
        if (n > (most)) {                                                                                                       \
            for (; r < rows; r++, x += n, out += EACH_OF) {                                                                      \
                double part[EACH_OF];                                                                                            \
                for (size c = 0; c < EACH_OF; c++) out[c] = start;                                                               \
                for (size at = 0, count = (most); at < n; at += count) {                                                        \
                    if (n - at < 2 * (most)) count = n - at > (most) ? (n - at) / (2 * COUNT) * COUNT : n - at;                \
                    F(name##_one)(part, x + at, count);                                                                          \
                    for (size c = 0; c < EACH_OF; c++) out[c] = joined(out[c], part[c]);                                         \
                }                                                                                                                \
            }                                                                                                                    \
            return;                                                                                                              \
        }                                                                                                                        \
        PLACES even, odd;                                                                                                        \
        for (int k = 0; k < COUNT; k++) even[k] = k / EACH_OF * 2 * EACH_OF + k % EACH_OF, odd[k] = even[k] + EACH_OF;           \
        for (; r + ROWS <= rows; r += ROWS) {                                                                                    \
            VECTOR row[ROWS];                                                                                                    \
            ONE_OF lanes[COUNT];                                                                                                 \
            for (int k = 0; k < ROWS; k++, x += n) row[k] = F(name##_row)(x, n);                                                 \
            for (int width = ROWS; width > 1; width /= 2)                                                                        \
                for (int k = 0; k < width / 2; k++)                                                                              \
                    row[k] = joined(__builtin_shuffle(row[2 * k], row[2 * k + 1], even), __builtin_shuffle(row[2 * k], row[2 * k + 1], odd)); \
            memcpy(lanes, &row[0], sizeof row[0]);                                                                               \
            for (int k = 0; k < COUNT; k++) out[r * EACH_OF + k] = lanes[k];                                                     \
        }                                                                                                                        \
        for (; r < rows; r++, x += n) F(name##_one)(out + r * EACH_OF, x, n);                                                    \
    }
#define READ_SQUARES(x) SQUARED(F(wide_part)(x))
#define END_OF_SQUARES(x, left) SQUARED(F(end_of_part)(x, left, 0))
#define END_OF_PRODUCT(x, left) F(end_of_part)(x, left, 1)
TOTALS(sum_rows_rows, F(vector), F(vector_bits), F(whole), REAL, 1, 0, LOAD, F(end_of_sum), , PLUS, 2048)
TOTALS(sum_pairs_rows, F(vector), F(vector_bits), F(whole), REAL, 2, 0, LOAD, F(end_of_sum), , PLUS, 2048)
TOTALS(fold_squares, F(totals), F(totals_places), F(half), double, 1, 0, READ_SQUARES, END_OF_SQUARES, SQUARED, PLUS, (size)1 << 60)
TOTALS(fold_product, F(totals), F(totals_places), F(half), double, 1, 1, F(wide_part), END_OF_PRODUCT, , TIMES, (size)1 << 60)
#undef READ_SQUARES
#undef END_OF_SQUARES
#undef END_OF_PRODUCT
#else /* partial results in lanes */
#define TOTALS(name, ONE_OF, EACH_OF, start, single, joined)                                                  \
    static void F(name)(double *out, const REAL *x, size rows, size n)                                       \
    {                                                                                                        \
        for (size r = 0; r < rows; r++, x += n, out += EACH_OF) {                                            \
            for (size c = 0; c < EACH_OF; c++) out[c] = start;                                               \
            for (size at = 0; at < n; at += 2048) {                                                          \
                const size end = n - at < 2048 ? n : at + 2048;                                              \
                ONE_OF lanes[128 / sizeof(REAL)];                                                            \
                size i = at;                                                                                 \
                for (size k = 0; k < LANES; k++) lanes[k] = start;                                           \
                for (; i + LANES <= end; i += LANES)                                                         \
                    for (size k = 0; k < LANES; k++) lanes[k] = joined(lanes[k], single((ONE_OF)x[i + k]));  \
                for (size k = 0; i < end; i++, k++) lanes[k] = joined(lanes[k], single((ONE_OF)x[i]));       \
                for (size k = 0; k < LANES; k++) out[k % EACH_OF] = joined(out[k % EACH_OF], lanes[k]);      \
            }                                                                                                \
        }                                                                                                    \
    }
TOTALS(sum_rows_rows, REAL, 1, 0, , PLUS)
TOTALS(sum_pairs_rows, REAL, 2, 0, , PLUS)
TOTALS(fold_squares, double, 1, 0, SQUARED, PLUS)
TOTALS(fold_product, double, 1, 1, , TIMES)
#endif
#undef TOTALS
#undef SQUARED
#undef PLUS
#undef TIMES
