/* Small matrix products for one REAL type and one instruction set, for kernels whose operands stay in the caches. Large
 * products are BLAS's. A tile of the result is kept in registers: GEMM_ROWS rows of two vectors. */

#define GEMM_COLUMNS ((size)(2 * VECTOR_BYTES / sizeof(REAL)))

#ifdef __GNUC__
enum { F(gemm_vectors) = 2, F(gemm_step) = VECTOR_BYTES / sizeof(REAL) };
#else
enum { F(gemm_vectors) = 2 * VECTOR_BYTES / sizeof(REAL), F(gemm_step) = 1 };
#endif

/* A tile += numbers (of each row i) times the vectors at `from`; and a tile to where it belongs, or added to what is there. */
#define TILE_ADD(ROWS, VECTORS, from, number)                                                                        \
    do {                                                                                                             \
        F(vector) right[VECTORS];                                                                                    \
        for (int j = 0; j < VECTORS; j++) right[j] = LOAD((from) + j * F(gemm_step));                                \
        TILE_FOR (int i = 0; i < ROWS; i++) {                                                                        \
            const REAL x = number;                                                                                   \
            for (int j = 0; j < VECTORS; j++) tile[i][j] += x * right[j];                                            \
        }                                                                                                            \
    } while (0)
#define TILE_PLUS(ROWS, VECTORS, from, row)                                                                          \
    TILE_FOR (int i = 0; i < ROWS; i++)                                                                              \
        for (int j = 0; j < VECTORS; j++) tile[i][j] += LOAD((from) + i * (row) + j * F(gemm_step));
#define TILE_LEAVE(ROWS, VECTORS, c, c_row, add) /* a long sum is more exact in parts */                             \
    if (add) TILE_PLUS(ROWS, VECTORS, c, c_row)                                                                      \
    TILE_FOR (int i = 0; i < ROWS; i++)                                                                              \
        for (int j = 0; j < VECTORS; j++) STORE((c) + i * (c_row) + j * F(gemm_step), tile[i][j]);

/* The memory of a tile on its way to the first cache while the tile is summed. */
#ifdef __GNUC__
#define TILE_FETCH(ROWS, c, c_row)                                                                                   \
    for (size i = 0; i < (size)(ROWS); i++) {                                                                        \
        __builtin_prefetch((c) + i * (c_row), 1);                                                                    \
        __builtin_prefetch((c) + i * (c_row) + GEMM_COLUMNS - 1, 1);                                                 \
    }
#else
#define TILE_FETCH(ROWS, c, c_row) (void)0;
#endif
enum { F(fetches) = 2 * VECTOR_BYTES }; /* a tile of longer vectors has more to fetch */
#define GEMM_FETCHES F(fetches)

/* Memory that the compiler does not take into registers. */
#ifdef __GNUC__
#define STAYS(pointer) __asm__("" : "+r"(pointer))
#define LINED __attribute__((aligned(64)))
#else
#define STAYS(pointer) (void)(pointer)
#define LINED
#endif

/* The sums of a tile over `depth` terms, `block` of them at a time; `NEXT` goes on to the next term p, TILE_ADD's arguments follow. */
#define TILE_SUM(ROWS, VECTORS, depth, block, NEXT, from, number)                                                    \
    F(vector) tile[ROWS][VECTORS];                                                                                   \
    REAL whole[ROWS * VECTORS * F(gemm_step)] LINED, *kept = whole;                                                  \
    STAYS(kept);                                                                                                     \
    int parts = 0;                                                                                                   \
    for (size p = 0, last;; parts = 1) {                                                                             \
        last = (depth) - p < 3 * (block) / 2 ? (depth) : p + (block);                                                \
        TILE_FOR (int i = 0; i < ROWS; i++)                                                                          \
            for (int j = 0; j < VECTORS; j++) tile[i][j] = (F(vector)){0};                                           \
        for (; p < last; p++, NEXT) TILE_ADD(ROWS, VECTORS, from, number);                                           \
        if (parts) TILE_PLUS(ROWS, VECTORS, kept, VECTORS * F(gemm_step))                                            \
        if (p == (depth)) break;                                                                                     \
        TILE_FOR (int i = 0; i < ROWS; i++)                                                                          \
            for (int j = 0; j < VECTORS; j++) STORE(kept + (i * VECTORS + j) * F(gemm_step), tile[i][j]);            \
    }

/* A tile plus what is given, if something is: what is there, or one row for all, a step of 0 apart. One of half the width is for the
 * columns at an edge that are no more. */
enum { F(gemm_thin) = F(gemm_vectors) / 2 };
#define GEMM_TILE(name, ROWS, VECTORS)                                                                               \
    static void F(name)(REAL *c, size c_row, const REAL *restrict a, size a_row, size a_step,                        \
                        const REAL *restrict b, size b_row, size depth, const REAL *plus, size plus_row)             \
    {                                                                                                                \
        F(vector) tile[ROWS][VECTORS];                                                                               \
        for (int i = 0; i < ROWS; i++)                                                                               \
            for (int j = 0; j < VECTORS; j++) tile[i][j] = (F(vector)){0};                                           \
        for (size p = 0; p < depth; p++, a += a_step, b += b_row) TILE_ADD(ROWS, VECTORS, b, a[i * a_row]);          \
        if (plus) TILE_PLUS(ROWS, VECTORS, plus, plus_row)                                                           \
        TILE_LEAVE(ROWS, VECTORS, c, c_row, 0)                                                                       \
    }
#define GEMM_TILES(name, ROWS) GEMM_TILE(name, ROWS, F(gemm_vectors)) GEMM_TILE(name##_thin, ROWS, F(gemm_thin))
GEMM_TILES(gemm_tile, GEMM_ROWS)
GEMM_TILES(gemm_half, GEMM_ROWS / 2)
#if GEMM_ROWS == 6
GEMM_TILES(gemm_most, 4)
#endif
#if GEMM_ROWS > 4
GEMM_TILES(gemm_pair, 2)
#endif
GEMM_TILES(gemm_row, 1)
#undef GEMM_TILE
#undef GEMM_TILES

/* How many of the rows that are left the next tile takes. A tile of fewer than four rows waits for its own sums and takes as long as
 * one of four, so that rows that fill no tile are shared out: eight, where a tile has six, as four and four. */
static inline size F(gemm_next)(size left)
{
#if GEMM_ROWS == 6
    static const unsigned char next[] = {0, 1, 2, 3, 4, 4, 6, 4, 4, 6, 6, 4};
    if (left < (size)sizeof next) return next[left];
#endif
    return left >= GEMM_ROWS ? GEMM_ROWS : left >= GEMM_ROWS / 2 ? GEMM_ROWS / 2 : left < 2 ? left : 2;
}

typedef void (*F(gemm_kernel))(REAL *c, size c_row, const REAL *restrict a, size a_row, size a_step, const REAL *restrict b, size b_row,
                               size depth, const REAL *plus, size plus_row);

/* The tile of so many rows as gemm_next says. */
static inline F(gemm_kernel) F(gemm_of)(size rows, int thin)
{
    switch (rows) {
    case GEMM_ROWS: return thin ? F(gemm_tile_thin) : F(gemm_tile);
    case GEMM_ROWS / 2: return thin ? F(gemm_half_thin) : F(gemm_half);
#if GEMM_ROWS == 6
    case 4: return thin ? F(gemm_most_thin) : F(gemm_most);
#endif
#if GEMM_ROWS > 4
    case 2: return thin ? F(gemm_pair_thin) : F(gemm_pair);
#endif
    default: return thin ? F(gemm_row_thin) : F(gemm_row);
    }
}
static inline void F(gemm_few)(size rows, REAL *c, size c_row, const REAL *restrict a, size a_row, size a_step,
                               const REAL *restrict b, size b_row, size depth, const REAL *plus, size plus_row)
{
    F(gemm_of)(rows, 0)(c, c_row, a, a_row, a_step, b, b_row, depth, plus, plus_row);
}

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

/* A matrix whose element (p, j) is from[p * row + j * column] as panels of a tile's width, the last one filled up with zeros. */
static void F(gemm_pack_any)(REAL *restrict to, const REAL *restrict from, size row, size column, size depth, size columns)
{
    for (size j0 = 0; j0 < columns; j0 += GEMM_COLUMNS)
        for (size p = 0; p < depth; p++)
            for (size j = j0; j < j0 + GEMM_COLUMNS; j++) *to++ = j < columns ? from[p * row + j * column] : 0;
}

/* One panel of b: c = a b, plus what is given, for the n columns of c that it stands for. */
static void F(gemm_panel)(REAL *c, size c_row, const REAL *restrict a, size a_row, size a_step, const REAL *restrict panel,
                          size rows, size n, size depth, const REAL *plus, size plus_row)
{
    for (size i = 0, count; i < rows; i += count, c += count * c_row, a += count * a_row) {
        count = F(gemm_next)(rows - i);
        REAL edge[GEMM_ROWS * 2 * VECTOR_BYTES / sizeof(REAL)];
        REAL *to = n == GEMM_COLUMNS ? c : edge;
        const size step = n == GEMM_COLUMNS ? c_row : GEMM_COLUMNS;
        const REAL *from = to == edge && plus ? edge : plus;
        if (depth >= GEMM_FETCHES) TILE_FETCH(count, to, step)
        if (from == edge)
            for (size r = 0; r < count; r++)
                for (size k = 0; k < GEMM_COLUMNS; k++) edge[r * GEMM_COLUMNS + k] = k < n ? plus[r * plus_row + k] : 0;
        F(gemm_of)(count, n <= GEMM_COLUMNS / 2)(to, step, a, a_row, a_step, panel, GEMM_COLUMNS, depth, from, from == edge ? step : plus_row);
        if (to == edge)
            for (size r = 0; r < count; r++) memcpy(c + r * c_row, edge + r * GEMM_COLUMNS, n * sizeof(REAL));
        if (plus) plus += count * plus_row;
    }
}

/* c = a b, or c += a b. Rows of b and c are contiguous and b_row and c_row apart; the element (i, p) of a is at
 * i * a_row + p * a_step, so that a may be a transpose. */
static void F(gemm)(REAL *restrict c, size c_row, const REAL *restrict a, size a_row, size a_step, const REAL *restrict b,
                    size b_row, size rows, size columns, size depth, int add)
{
    size j = 0;
    for (; j + GEMM_COLUMNS <= columns; j += GEMM_COLUMNS) {
        for (size i = 0, count; i < rows; i += count) {
            count = F(gemm_next)(rows - i);
            REAL *to = c + i * c_row + j;
            F(gemm_few)(count, to, c_row, a + i * a_row, a_row, a_step, b + j, b_row, depth, add ? to : NULL, c_row);
        }
    }
    if (j == columns) return;
    if (rows < GEMM_ROWS / 2) {
        F(gemm_edge)(c + j, c_row, a, a_row, a_step, b + j, b_row, rows, columns - j, depth, add);
        return;
    }
    enum { DEPTH = 64 }; /* at a time, filled up to whole vectors */
    REAL panel[DEPTH * 2 * VECTOR_BYTES / sizeof(REAL)];
    size p = 0;
    do {
        const size n = depth - p < DEPTH ? depth - p : DEPTH;
        F(gemm_pack_any)(panel, b + p * b_row + j, b_row, 1, n, columns - j);
        F(gemm_panel)(c + j, c_row, a + p * a_step, a_row, a_step, panel, rows, columns - j, n, add || p ? c + j : NULL, c_row);
    } while ((p += DEPTH) < depth);
}

/* c = a b, plus what is given, b in panels. */
static void F(gemm_onto)(REAL *c, size c_row, const REAL *plus, size plus_row, const REAL *restrict a, size a_row,
                         const REAL *restrict packed, size rows, size columns, size depth)
{
    for (size j = 0; j < columns; j += GEMM_COLUMNS, packed += depth * GEMM_COLUMNS)
        F(gemm_panel)(c + j, c_row, a, a_row, 1, packed, rows, columns - j < GEMM_COLUMNS ? columns - j : GEMM_COLUMNS, depth,
                      plus ? plus + j : NULL, plus_row);
}

/* c += a b, b in panels. */
static void F(gemm_packed)(REAL *c, size c_row, const REAL *restrict a, size a_row, const REAL *restrict packed, size rows, size columns, size depth)
{
    F(gemm_onto)(c, c_row, c, c_row, a, a_row, packed, rows, columns, depth);
}

#ifdef TURNS
#if VECTOR_BYTES == 64 /* one instruction picks numbers out of two vectors */
#define PICKS 1
#endif

/* Numbers of two vectors, `unit` of one and then of the other; from the first or second half of each of their parts. Parts of 16 bytes,
 * and halves of a vector, are one instruction. */
static inline __attribute__((always_inline)) F(vector) F(between)(F(vector) a, F(vector) b, int part, int unit, int second)
{
    F(places) from;
    TILE_FOR (int k = 0; k < F(lanes); k++)
        from[k] = k / part * part + second * part / 2 + k % part / unit / 2 * unit + k % unit + k / unit % 2 * F(lanes);
    return __builtin_shuffle(a, b, from);
}

/* Transpose a square of numbers in registers. */
#if VECTOR_BYTES == 64
/* Numbers of `rows` vectors, a power of two: after as many rounds as that has powers, each putting the first half of the vectors between
 * the second, the number (i, j) has come to j * rows + i. */
static inline __attribute__((always_inline)) void F(turn_rows)(F(vector) *from, int rows)
{
    F(places) low, high;
    for (int k = 0; k < F(lanes); k++) low[k] = k / 2 + k % 2 * F(lanes), high[k] = low[k] + F(lanes) / 2;
    for (int width = 1; width < rows; width *= 2) {
        F(vector) turned[F(lanes)];
        for (int k = 0; k < rows / 2; k++) {
            turned[2 * k] = __builtin_shuffle(from[k], from[k + rows / 2], low);
            turned[2 * k + 1] = __builtin_shuffle(from[k], from[k + rows / 2], high);
        }
        for (int k = 0; k < rows; k++) from[k] = turned[k];
    }
}
static inline void F(turn)(F(vector) *square) { F(turn_rows)(square, F(lanes)); }
#else
static inline __attribute__((always_inline)) void F(turn)(F(vector) *square)
{
    enum { PART = 16 / sizeof(REAL), TWO = F(lanes) > PART };
    F(vector) turned[F(lanes)];
    TILE_FOR (int k = 0; k < F(lanes); k += 2)
        for (int second = 0; second < 2; second++) turned[k + second] = F(between)(square[k], square[k + 1], PART, 1, second);
    if (PART == 4)
        TILE_FOR (int k = 0; k < F(lanes); k += 4) {
            const F(vector) a = turned[k], b = turned[k + 1], c = turned[k + 2], d = turned[k + 3];
            turned[k] = F(between)(a, c, PART, 2, 0), turned[k + 1] = F(between)(a, c, PART, 2, 1);
            turned[k + 2] = F(between)(b, d, PART, 2, 0), turned[k + 3] = F(between)(b, d, PART, 2, 1);
        }
    TILE_FOR (int k = 0; k < F(lanes) / (1 + TWO); k++)
        for (int second = 0; second < 1 + TWO; second++)
            square[k + second * PART] = TWO ? F(between)(turned[k], turned[k + TWO * PART], F(lanes), PART, second) : turned[k];
}
#endif
#endif

/* to (columns x rows) = from^T, in small squares. */
static void F(transposed)(REAL *restrict to, const REAL *restrict from, size from_row, size rows, size columns)
{
    size first = 0;
#ifdef TURNS
    for (; first + F(lanes) <= rows; first += F(lanes)) {
        size j0 = 0;
        for (; j0 + F(lanes) <= columns; j0 += F(lanes)) {
            F(vector) square[F(lanes)];
            for (int i = 0; i < F(lanes); i++) square[i] = LOAD(from + (first + i) * from_row + j0);
            F(turn)(square);
            for (int j = 0; j < F(lanes); j++) STORE(to + (j0 + j) * rows + first, square[j]);
        }
        for (size j = j0; j < columns; j++)
            for (size i = first; i < first + F(lanes); i++) to[j * rows + i] = from[i * from_row + j];
    }
#endif
    for (size i0 = first; i0 < rows; i0 += 16)
        for (size j0 = 0; j0 < columns; j0 += 16) {
            const size i1 = i0 + 16 < rows ? i0 + 16 : rows, j1 = j0 + 16 < columns ? j0 + 16 : columns;
            for (size j = j0; j < j1; j++)
                for (size i = i0; i < i1; i++) to[j * rows + i] = from[i * from_row + j];
        }
}

/* A panel of the left side whose rows are contiguous. */
static void F(gemm_pack_panel)(REAL *restrict to, const REAL *restrict from, size row, size depth)
{
    size p = 0;
#ifdef TURNS
#if VECTOR_BYTES == 64
    for (; p + F(lanes) <= depth; p += F(lanes)) {
        F(vector) turned[GEMM_ROWS];
        for (int i = 0; i < GEMM_ROWS; i++) turned[i] = LOAD(from + i * row + p);
        F(turn_rows)(turned, GEMM_ROWS);
        for (int i = 0; i < GEMM_ROWS; i++) STORE(to + p * GEMM_ROWS + i * F(lanes), turned[i]);
    }
#else
    enum { SQUARES = (GEMM_ROWS + F(lanes) - 1) / F(lanes), BEYOND = SQUARES * F(lanes) - GEMM_ROWS }; /* written over by what follows */
    for (; (depth - p - F(lanes)) * GEMM_ROWS >= BEYOND && p + F(lanes) <= depth; p += F(lanes)) {
        F(vector) square[SQUARES][F(lanes)];
        for (int k = 0; k < SQUARES; k++) {
            for (int i = 0; i < F(lanes); i++)
                square[k][i] = k * F(lanes) + i < GEMM_ROWS ? LOAD(from + (k * F(lanes) + i) * row + p) : (F(vector)){0};
            F(turn)(square[k]);
        }
        for (int j = 0; j < F(lanes); j++)
            for (int k = 0; k < SQUARES; k++) STORE(to + (p + j) * GEMM_ROWS + k * F(lanes), square[k][j]);
    }
#endif
#endif
    for (size i = 0; i < GEMM_ROWS; i++)
        for (size q = p; q < depth; q++) to[q * GEMM_ROWS + i] = from[i * row + q];
}

/* A part of a matrix as panels of GEMM_ROWS rows, so that the numbers that meet one row of b lie side by side. */
static void F(gemm_pack_left)(REAL *restrict to, const REAL *restrict from, size row, size step, size rows, size depth)
{
    enum { PANELS = 4, AT_ONCE = PANELS * GEMM_ROWS }; /* what lies side by side in memory is read once */
    const size whole = row == 1 ? rows / AT_ONCE * AT_ONCE : 0;
    for (size i0 = 0; i0 < whole; i0 += AT_ONCE)
        for (size p = 0; p < depth; p++)
            for (size k = 0; k < PANELS; k++)
                memcpy(to + (i0 + k * GEMM_ROWS) * depth + p * GEMM_ROWS, from + i0 + k * GEMM_ROWS + p * step, GEMM_ROWS * sizeof(REAL));
    for (size i0 = whole; i0 < rows; i0 += GEMM_ROWS) {
        const size n = rows - i0 < GEMM_ROWS ? rows - i0 : GEMM_ROWS;
        const REAL *const at = from + i0 * row;
        REAL *const panel = to + i0 * depth;
        if (n == GEMM_ROWS && row == 1)
            for (size p = 0; p < depth; p++) memcpy(panel + p * GEMM_ROWS, at + p * step, GEMM_ROWS * sizeof(REAL));
        else if (n == GEMM_ROWS && step == 1) F(gemm_pack_panel)(panel, at, row, depth);
        else
            for (size i = 0; i < GEMM_ROWS; i++)
                for (size p = 0; p < depth; p++) panel[p * GEMM_ROWS + i] = i < n ? at[i * row + p * step] : 0;
    }
}

/* A panel of the right side whose columns are contiguous: a vector's width of them at a time, for each is a stream from memory. */
static void F(gemm_pack_turned)(REAL *restrict to, const REAL *restrict from, size column, size depth)
{
    size p0 = 0;
#ifdef TURNS
    for (size j0 = 0; j0 < GEMM_COLUMNS; j0 += F(lanes))
        for (p0 = 0; p0 + F(lanes) <= depth; p0 += F(lanes)) {
            F(vector) square[F(lanes)];
            for (int j = 0; j < F(lanes); j++) square[j] = LOAD(from + (j0 + j) * column + p0);
            F(turn)(square);
            for (int p = 0; p < F(lanes); p++) STORE(to + (p0 + p) * GEMM_COLUMNS + j0, square[p]);
        }
#endif
    for (; p0 < depth; p0++)
        for (size j = 0; j < GEMM_COLUMNS; j++) to[p0 * GEMM_COLUMNS + j] = from[p0 + j * column];
}

/* The same of the right side, in panels of a tile's width. */
static void F(gemm_pack_right)(REAL *restrict to, const REAL *restrict from, size row, size column, size depth, size columns)
{
    enum { TOGETHER = 4 }; /* panels: longer stretches of the rows are read at a time */
    for (size j0 = 0, count; j0 < columns; j0 += count * GEMM_COLUMNS, from += count * GEMM_COLUMNS * column, to += count * GEMM_COLUMNS * depth) {
        count = j0 + TOGETHER * GEMM_COLUMNS <= columns ? TOGETHER : 1;
        if (columns - j0 < GEMM_COLUMNS) F(gemm_pack_any)(to, from, row, column, depth, columns - j0);
        else if (column == 1)
            for (size p = 0; p < depth; p++)
                for (size k = 0; k < count; k++)
                    memcpy(to + (k * depth + p) * GEMM_COLUMNS, from + p * row + k * GEMM_COLUMNS, GEMM_COLUMNS * sizeof(REAL));
        else if (row == 1)
            for (size k = 0; k < count; k++) F(gemm_pack_turned)(to + k * depth * GEMM_COLUMNS, from + k * GEMM_COLUMNS * column, column, depth);
        else F(gemm_pack_any)(to, from, row, column, depth, count * GEMM_COLUMNS);
    }
}

/* What other files pack weights by. */
static void F(gemm_pack_rows)(REAL *to, const REAL *from, size row, size column, size depth, size columns)
{
    F(gemm_pack_right)(to, from, row, column, depth, columns);
}

#include "few.inc.h"

/* A bias on every row of a product. */
static void F(product_bias)(const struct product *v)
{
    const REAL *bias = v->bias;
    REAL *c = v->c;
    for (size i = 0; bias && i < v->rows; i++, c += v->c_row)
        for (size j = 0; j < v->columns; j++) c[j] += bias[j];
}

/* c = a b, and a bias on every row where there is one; any strides of a and b. Blocks of b stay in the second cache. Those of a are
 * packed for the first where enough columns meet them; few take them from where they lie. A bias is the last that a number is added to:
 * tiles add it while they have it, unless further blocks come. */
static void F(product)(const struct product *v, void *work)
{
    if (F(few)(v)) {
        F(product_bias)(v);
        return;
    }
    if (F(few_terms)(v, work)) return;
    const REAL *const bias = v->depth <= PRODUCT_DEPTH ? v->bias : NULL;
    const size deep = v->depth < PRODUCT_DEPTH ? v->depth : PRODUCT_DEPTH;
    const size across = v->columns < PRODUCT_COLUMNS ? (v->columns + GEMM_COLUMNS - 1) / GEMM_COLUMNS * GEMM_COLUMNS : PRODUCT_COLUMNS;
    REAL *const right = work, *const left = right + deep * across;
    const int direct = v->columns <= 4 * GEMM_COLUMNS && (v->a_row == 1 || v->a_column == 1);
    for (size p = 0; p < v->depth; p += PRODUCT_DEPTH) {
        const size depth = v->depth - p < PRODUCT_DEPTH ? v->depth - p : PRODUCT_DEPTH;
        for (size j0 = 0; j0 < v->columns; j0 += PRODUCT_COLUMNS) {
            const size columns = v->columns - j0 < PRODUCT_COLUMNS ? v->columns - j0 : PRODUCT_COLUMNS;
            F(gemm_pack_right)(right, (const REAL *)v->b + p * v->b_row + j0 * v->b_column, v->b_row, v->b_column, depth, columns);
            for (size i0 = 0, rows; i0 < v->rows; i0 += rows) {
                rows = direct ? F(gemm_next)(v->rows - i0) : v->rows - i0 < PRODUCT_ROWS ? v->rows - i0 : PRODUCT_ROWS;
                const REAL *a = (const REAL *)v->a + i0 * v->a_row + p * v->a_column, *panel = right;
                REAL *c = (REAL *)v->c + i0 * v->c_row + j0;
                if (!direct) F(gemm_pack_left)(left, a, v->a_row, v->a_column, rows, depth);
                for (size j = 0; j < columns; j += GEMM_COLUMNS, panel += GEMM_COLUMNS * depth) {
                    const size wide = columns - j < GEMM_COLUMNS ? columns - j : GEMM_COLUMNS, plus_row = p ? v->c_row : 0;
                    const REAL *plus = p ? c + j : bias ? bias + j0 + j : NULL;
                    if (direct) F(gemm_panel)(c + j, v->c_row, a, v->a_row, v->a_column, panel, rows, wide, depth, plus, plus_row);
                    else
                        for (size i = 0; i < rows; i += GEMM_ROWS)
                            F(gemm_panel)(c + i * v->c_row + j, v->c_row, left + i * depth, 1, GEMM_ROWS, panel,
                                          rows - i < GEMM_ROWS ? rows - i : GEMM_ROWS, wide, depth, plus ? plus + i * plus_row : NULL, plus_row);
                }
            }
        }
    }
    if (!bias) F(product_bias)(v);
}
