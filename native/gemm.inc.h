/* Small matrix products for one REAL type and one instruction set, for kernels whose operands stay in the caches. Large
 * products are BLAS's. A tile of the result is kept in registers: GEMM_ROWS rows of two vectors. */

#define GEMM_COLUMNS ((size)(2 * VECTOR_BYTES / sizeof(REAL)))

#ifdef __GNUC__ /* vectors by name: left to itself, GCC keeps such a tile in memory for some instruction sets */
typedef REAL F(vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#define LOAD(p) (*(const F(vector) *)(p))
#define STORE(p, x) (*(F(vector) *)(p) = (x))
enum { F(gemm_vectors) = 2, F(gemm_step) = VECTOR_BYTES / sizeof(REAL) };
#else
typedef REAL F(vector);
#define LOAD(p) (*(p))
#define STORE(p, x) (*(p) = (x))
enum { F(gemm_vectors) = 2 * VECTOR_BYTES / sizeof(REAL), F(gemm_step) = 1 };
#endif

#define GEMM_TILE(name, ROWS)                                                                                        \
    static void F(name)(REAL *restrict c, size c_row, const REAL *restrict a, size a_row, size a_step,               \
                        const REAL *restrict b, size b_row, size depth, int add)                                     \
    {                                                                                                                \
        F(vector) tile[ROWS][F(gemm_vectors)];                                                                       \
        for (int i = 0; i < ROWS; i++)                                                                               \
            for (int j = 0; j < F(gemm_vectors); j++)                                                                \
                tile[i][j] = add ? LOAD(c + i * c_row + j * F(gemm_step)) : (F(vector)){0};                          \
        for (size p = 0; p < depth; p++, a += a_step, b += b_row) {                                                  \
            F(vector) y[F(gemm_vectors)];                                                                            \
            for (int j = 0; j < F(gemm_vectors); j++) y[j] = LOAD(b + j * F(gemm_step));                             \
            for (int i = 0; i < ROWS; i++) {                                                                         \
                const REAL x = a[i * a_row];                                                                         \
                for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] += x * y[j];                                    \
            }                                                                                                        \
        }                                                                                                            \
        for (int i = 0; i < ROWS; i++)                                                                               \
            for (int j = 0; j < F(gemm_vectors); j++) STORE(c + i * c_row + j * F(gemm_step), tile[i][j]);           \
    }
GEMM_TILE(gemm_tile, GEMM_ROWS)
GEMM_TILE(gemm_row, 1)
#undef GEMM_TILE

/* What is left at the right edge: fewer columns than a tile has. */
static void F(gemm_edge)(REAL *restrict c, size c_row, const REAL *restrict a, size a_row, size a_step,
                         const REAL *restrict b, size b_row, size rows, size n, size depth, int add)
{
    for (size i = 0; i < rows; i++, c += c_row, a += a_row) {
        if (!add) memset(c, 0, n * sizeof(REAL));
        for (size p = 0; p < depth; p++) {
            const REAL x = a[p * a_step], *y = b + p * b_row;
            for (size j = 0; j < n; j++) c[j] += x * y[j];
        }
    }
}

/* c = a b, or c += a b. Rows of b and c are contiguous and b_row and c_row apart; the element (i, p) of a is at
 * i * a_row + p * a_step, so that a may be a transpose. */
static void F(gemm)(REAL *restrict c, size c_row, const REAL *restrict a, size a_row, size a_step, const REAL *restrict b,
                    size b_row, size rows, size columns, size depth, int add)
{
    size j = 0;
    for (; j + GEMM_COLUMNS <= columns; j += GEMM_COLUMNS) {
        size i = 0;
        for (; i + GEMM_ROWS <= rows; i += GEMM_ROWS)
            F(gemm_tile)(c + i * c_row + j, c_row, a + i * a_row, a_row, a_step, b + j, b_row, depth, add);
        for (; i < rows; i++) F(gemm_row)(c + i * c_row + j, c_row, a + i * a_row, a_row, a_step, b + j, b_row, depth, add);
    }
    if (j < columns) F(gemm_edge)(c + j, c_row, a, a_row, a_step, b + j, b_row, rows, columns - j, depth, add);
}

/* to (columns x rows) = from^T, in small squares. */
static void F(transposed)(REAL *restrict to, const REAL *restrict from, size from_row, size rows, size columns)
{
    for (size i0 = 0; i0 < rows; i0 += 16)
        for (size j0 = 0; j0 < columns; j0 += 16) {
            const size i1 = i0 + 16 < rows ? i0 + 16 : rows, j1 = j0 + 16 < columns ? j0 + 16 : columns;
            for (size j = j0; j < j1; j++)
                for (size i = i0; i < i1; i++) to[j * rows + i] = from[i * from_row + j];
        }
}

/* A matrix whose element (p, j) is from[p * row + j * column] as panels of a tile's width, the last one filled up with zeros. */
static void F(gemm_pack_rows)(REAL *restrict to, const REAL *restrict from, size row, size column, size depth, size columns)
{
    for (size j0 = 0; j0 < columns; j0 += GEMM_COLUMNS)
        for (size p = 0; p < depth; p++)
            for (size j = j0; j < j0 + GEMM_COLUMNS; j++) *to++ = j < columns ? from[p * row + j * column] : 0;
}

/* c += a b, b in panels. */
static void F(gemm_packed)(REAL *restrict c, size c_row, const REAL *restrict a, size a_row, const REAL *restrict packed,
                           size rows, size columns, size depth)
{
    for (size j = 0; j < columns; j += GEMM_COLUMNS, packed += depth * GEMM_COLUMNS) {
        const size n = columns - j < GEMM_COLUMNS ? columns - j : GEMM_COLUMNS;
        for (size i = 0; i < rows;) {
            const size count = i + GEMM_ROWS <= rows ? GEMM_ROWS : 1;
            REAL edge[GEMM_ROWS * 2 * VECTOR_BYTES / sizeof(REAL)];
            REAL *to = n == GEMM_COLUMNS ? c + i * c_row + j : edge;
            const size step = n == GEMM_COLUMNS ? c_row : GEMM_COLUMNS;
            if (to == edge)
                for (size r = 0; r < count; r++)
                    for (size k = 0; k < GEMM_COLUMNS; k++) edge[r * GEMM_COLUMNS + k] = k < n ? c[(i + r) * c_row + j + k] : 0;
            if (count == 1) F(gemm_row)(to, step, a + i * a_row, a_row, 1, packed, GEMM_COLUMNS, depth, 1);
            else F(gemm_tile)(to, step, a + i * a_row, a_row, 1, packed, GEMM_COLUMNS, depth, 1);
            if (to == edge)
                for (size r = 0; r < count; r++)
                    for (size k = 0; k < n; k++) c[(i + r) * c_row + j + k] = edge[r * GEMM_COLUMNS + k];
            i += count;
        }
    }
}
