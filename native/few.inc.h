/* Products with few rows, for one REAL type and one instruction set: what takes the time is to read the other matrix once, and packing
 * it would read it twice. And those of few terms. */

#if defined(TURNS) && VECTOR_BYTES >= 32

/* In each part of so many numbers: the two halves of a's added up, then those of b's. */
static inline __attribute__((always_inline)) F(vector) F(folded)(F(vector) a, F(vector) b, int part)
{
    return F(between)(a, b, part, part / 2, 0) + F(between)(a, b, part, part / 2, 1);
}

/* The sums of four vectors, one in each quarter of the result. */
static inline __attribute__((always_inline)) F(vector) F(sums)(F(vector) a, F(vector) b, F(vector) c, F(vector) d)
{
    enum { COUNT = F(lanes) };
    F(vector) sum = F(folded)(F(folded)(a, c, COUNT), F(folded)(b, d, COUNT), COUNT / 2);
    if (COUNT > 4) sum = F(folded)(sum, sum, COUNT / 4);
    if (COUNT > 8) sum = F(folded)(sum, sum, COUNT / 8);
    return sum;
}

/* A tile of a product with a transposed matrix, whose columns are contiguous: each number is a sum along two lines of memory, in lanes. */
#define FEW_TILE(name, ROWS, COLUMNS)                                                                                \
    static void F(name)(REAL *restrict c, size c_row, const REAL *restrict a, size a_row, const REAL *restrict b,    \
                        size b_column, size depth, int add)                                                          \
    {                                                                                                                \
        F(vector) tile[ROWS][4];                                                                                     \
        TILE_FOR (int i = 0; i < ROWS; i++)                                                                          \
            TILE_FOR (int j = 0; j < 4; j++) tile[i][j] = (F(vector)){0};                                            \
        size p = 0;                                                                                                  \
        for (; p + F(lanes) <= depth; p += F(lanes)) {                                                               \
            F(vector) left[ROWS];                                                                                    \
            TILE_FOR (int i = 0; i < ROWS; i++) left[i] = LOAD(a + i * a_row + p);                                   \
            TILE_FOR (int j = 0; j < COLUMNS; j++) {                                                                 \
                const F(vector) right = LOAD(b + j * b_column + p);                                                  \
                TILE_FOR (int i = 0; i < ROWS; i++) tile[i][j] += left[i] * right;                                   \
            }                                                                                                        \
        }                                                                                                            \
        TILE_FOR (int i = 0; i < ROWS; i++) {                                                                        \
            REAL found[F(lanes)];                                                                                    \
            STORE(found, F(sums)(tile[i][0], tile[i][1], tile[i][2], tile[i][3]));                                   \
            for (int j = 0; j < COLUMNS; j++) {                                                                      \
                REAL sum = found[j * (F(lanes) / 4)];                                                                \
                for (size q = p; q < depth; q++) sum += a[i * a_row + q] * b[j * b_column + q];                      \
                c[i * c_row + j] = add ? c[i * c_row + j] + sum : sum;                                               \
            }                                                                                                        \
        }                                                                                                            \
    }
FEW_TILE(few_1x4, 1, 4) /* where threads leave one row */
FEW_TILE(few_1x1, 1, 1)
FEW_TILE(few_2x4, 2, 4)
FEW_TILE(few_3x4, 3, 4)
FEW_TILE(few_4x3, 4, 3)
FEW_TILE(few_4x4, 4, 4)
FEW_TILE(few_2x1, 2, 1)
FEW_TILE(few_3x1, 3, 1)
FEW_TILE(few_4x1, 4, 1)
#undef FEW_TILE

/* c = a b for a transposed b. Twelve sums at a time keep the processor busy, sixteen where there are registers for them: four rows
 * where they go in, else three, and two at the end. */
static void F(few_turned)(const struct product *v)
{
    enum { LINE = 8192 / sizeof(REAL) }; /* of a row and a column at a time: what meets stays in the first cache */
    typedef void tile(REAL *, size, const REAL *, size, const REAL *, size, size, int);
    static tile *const tiles[][5] = {{NULL, F(few_1x1), F(few_2x1), F(few_3x1), F(few_4x1)},
                                     {NULL, F(few_1x4), F(few_2x4), F(few_3x4), VECTOR_BYTES < 64 ? F(few_4x3) : F(few_4x4)}};
    const int by_four = v->rows % 4 == 0 || VECTOR_BYTES == 64;
    const size wide = by_four && VECTOR_BYTES < 64 ? 3 : 4;
    for (size p = 0; p < v->depth; p += LINE) {
        const size depth = v->depth - p < LINE ? v->depth - p : LINE;
        for (size j = 0, columns; j < v->columns; j += columns) {
            columns = v->columns - j < wide ? 1 : wide;
            const REAL *b = (const REAL *)v->b + p + j * v->b_column;
            for (size i = 0, rows; i < v->rows; i += rows) {
                const size left = v->rows - i;
                rows = left % 4 == 0 && by_four ? 4 : left == 4 ? 2 : left < 3 ? left : 3;
                tiles[columns > 1][rows]((REAL *)v->c + i * v->c_row + j, v->c_row, (const REAL *)v->a + i * v->a_row + p, v->a_row, b,
                                         v->b_column, depth, p > 0);
            }
        }
    }
}

/* Each number of a column times a row. */
static void F(few_outer)(const struct product *v)
{
    const REAL *a = v->a, *b = v->b;
    REAL *c = v->c;
    for (size i = 0; i < v->rows; i++, a += v->a_row, c += v->c_row)
        for (size j = 0; j < v->columns; j++) c[j] = 0 + *a * b[j]; /* a sum, which is not -0 */
}

/* Rows of a product of few terms, for a panel of b, which stays in registers, and for n of its columns. */
#define FEW_TERMS(name, DEPTH)                                                                                       \
    static void F(name)(REAL *restrict c, size c_row, const REAL *restrict a, size a_row, size a_step,               \
                        const REAL *restrict panel, const REAL *restrict bias, size rows, size n)                    \
    {                                                                                                                \
        F(vector) right[DEPTH][F(gemm_vectors)], plus[F(gemm_vectors)];                                              \
        for (int j = 0; j < F(gemm_vectors); j++) {                                                                  \
            plus[j] = LOAD(bias + j * F(gemm_step));                                                                 \
            for (int p = 0; p < DEPTH; p++) right[p][j] = LOAD(panel + p * GEMM_COLUMNS + j * F(gemm_step));         \
        }                                                                                                            \
        for (size i = 0; i < rows; i++, c += c_row, a += a_row) {                                                    \
            F(vector) tile[F(gemm_vectors)];                                                                         \
            REAL edge[2 * VECTOR_BYTES / sizeof(REAL)], *to = n == GEMM_COLUMNS ? c : edge;                          \
            TILE_FOR (int j = 0; j < F(gemm_vectors); j++) {                                                         \
                tile[j] = (F(vector)){0};                                                                            \
                TILE_FOR (int p = 0; p < DEPTH; p++) tile[j] += a[p * a_step] * right[p][j];                         \
                STORE(to + j * F(gemm_step), tile[j] + plus[j]);                                                     \
            }                                                                                                        \
            if (to == edge) memcpy(c, edge, n * sizeof(REAL));                                                       \
        }                                                                                                            \
    }
FEW_TERMS(two_terms, 2)
FEW_TERMS(three_terms, 3)
FEW_TERMS(four_terms, 4)
#undef FEW_TERMS

/* c = a b + bias where two to four terms are added up, as for coordinates: tiles would be begun and left more often than summed. Whether
 * it was done. */
static int F(few_terms)(const struct product *v, REAL *right)
{
    enum { ROWS = 64 }; /* of a in the first cache */
    typedef void way(REAL *, size, const REAL *, size, size, const REAL *, const REAL *, size, size);
    static way *const ways[] = {F(two_terms), F(three_terms), F(four_terms)};
    if (v->depth < 2 || v->depth > 4 || v->rows <= 16) return 0;
    for (size j0 = 0; j0 < v->columns; j0 += PRODUCT_COLUMNS) {
        const size columns = v->columns - j0 < PRODUCT_COLUMNS ? v->columns - j0 : PRODUCT_COLUMNS;
        F(gemm_pack_right)(right, (const REAL *)v->b + j0 * v->b_column, v->b_row, v->b_column, v->depth, columns);
        for (size i = 0; i < v->rows; i += ROWS)
            for (size j = 0; j < columns; j += GEMM_COLUMNS) {
                const size n = columns - j < GEMM_COLUMNS ? columns - j : GEMM_COLUMNS;
                REAL plus[2 * VECTOR_BYTES / sizeof(REAL)];
                for (size k = 0; k < GEMM_COLUMNS; k++) plus[k] = v->bias && k < n ? ((const REAL *)v->bias)[j0 + j + k] : -(REAL)0;
                ways[v->depth - 2]((REAL *)v->c + i * v->c_row + j0 + j, v->c_row, (const REAL *)v->a + i * v->a_row, v->a_row, v->a_column,
                                   right + j * v->depth, plus, v->rows - i < ROWS ? v->rows - i : ROWS, n);
            }
    }
    return 1;
}

/* Whether a product was one of these. */
static int F(few)(const struct product *v)
{
    if (v->depth == 1 && v->b_column == 1) {
        F(few_outer)(v);
        return 1;
    }
    if (!v->few || v->b_row != 1 || v->a_column != 1) return 0;
    F(few_turned)(v);
    return 1;
}
#else
static inline int F(few)(const struct product *v)
{
    (void)v;
    return 0;
}
static inline int F(few_terms)(const struct product *v, REAL *right)
{
    (void)v, (void)right;
    return 0;
}
#endif
