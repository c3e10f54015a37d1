/* Images sampled between the four pixels around each place, for one REAL type and one instruction set. A place is a cell of the image and
 * how far it lies in it; what else there is to know stays in registers, for BESIDE places at a time. The sums are those of
 * sampling.inc.h, in the same order. */

#define BESIDE 8
#define EACH_PLACE for (int j = 0; j < BESIDE; j++)

struct F(cells) { /* along each axis: the pixel before a place, how far it lies beyond that pixel, the derivative of its position */
    int32_t at[2][SAMPLES], first[SAMPLES], leaves[SAMPLES]; /* the first pixel in memory; whether others are outside the image */
    REAL beyond[2][SAMPLES], slope[2][SAMPLES];
};
struct F(corners) {
    int32_t index[4][BESIDE], inside[4][BESIDE];
    int whole; /* all of them are pixels of the image */
};

/* The cells of n places; those that fill up the last BESIDE are outside. */
static void F(find_cells)(const struct sampling *v, const REAL *grid, struct F(cells) *cells, size n)
{
    const size filled = (n + BESIDE - 1) / BESIDE * BESIDE;
    for (int a = 0; a < 2; a++) {
        const REAL length = (REAL)v->length[a];
        int32_t *restrict at = cells->at[a];
        REAL p[SAMPLES], *restrict beyond = cells->beyond[a];
        F(find_positions)(v, a, grid, p, cells->slope[a], n);
        for (size j = n; j < filled; j++) p[j] = -2, cells->slope[a][j] = 0;
        for (size j = 0; j < filled; j++) {
            const REAL low = F(floor)(p[j]), above = low > -2 ? low : -2; /* what is no number goes outside too */
            at[j] = (int32_t)(above < length ? above : length), beyond[j] = p[j] - low;
        }
    }
    const int32_t rows = (int32_t)v->length[0], columns = (int32_t)v->length[1];
    for (size j = 0; j < filled; j++) {
        const int32_t y = cells->at[0][j], x = cells->at[1][j];
        cells->first[j] = (int32_t)((uint32_t)y * (uint32_t)columns + (uint32_t)x), cells->leaves[j] = (y < 0) | (y >= rows - 1) | (x < 0) | (x >= columns - 1);
    }
}

static inline void F(find_corners)(const struct sampling *v, const struct F(cells) *cells, size from, struct F(corners) *corners)
{
    const int32_t rows = (int32_t)v->length[0], columns = (int32_t)v->length[1];
    const int32_t *y = cells->at[0] + from, *x = cells->at[1] + from;
    int64_t leaves[BESIDE / 2];
    memcpy(leaves, cells->leaves + from, sizeof leaves);
    corners->whole = !(leaves[0] | leaves[1] | leaves[2] | leaves[3]);
    if (corners->whole) {
        memcpy(corners->index[0], cells->first + from, sizeof corners->index[0]);
        return;
    }
    for (int t = 0; t < 4; t++)
        EACH_PLACE {
            const int32_t row = y[j] + (t >> 1), column = x[j] + (t & 1);
            const int in = (row >= 0) & (row < rows) & (column >= 0) & (column < columns);
            corners->index[t][j] = in ? row * columns + column : 0, corners->inside[t][j] = in;
        }
}

/* BESIDE pixels and those right of them. */
static inline void F(fetch_pairs)(const REAL *row, const int32_t *index, REAL *restrict left, REAL *restrict right)
{
#if SINGLE && defined(__GNUC__) /* the two are one load */
    typedef double couple __attribute__((vector_size(16), may_alias));
    typedef float four __attribute__((vector_size(16), may_alias));
    typedef int32_t picks __attribute__((vector_size(16)));
    for (int j = 0; j < BESIDE; j += 4) {
        double pair[4];
        for (int k = 0; k < 4; k++) memcpy(&pair[k], row + index[j + k], sizeof *pair);
        const four a = (four)(couple){pair[0], pair[1]}, b = (four)(couple){pair[2], pair[3]};
#ifdef __clang__
        const four l = __builtin_shufflevector(a, b, 0, 2, 4, 6), r = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#else
        const four l = __builtin_shuffle(a, b, (picks){0, 2, 4, 6}), r = __builtin_shuffle(a, b, (picks){1, 3, 5, 7});
#endif
        memcpy(left + j, &l, sizeof l), memcpy(right + j, &r, sizeof r);
    }
#else
    EACH_PLACE left[j] = row[index[j]], right[j] = row[index[j] + 1];
#endif
}

/* The pixels at the corners of BESIDE cells, zeros outside. */
static inline void F(fetch_corners)(const struct sampling *v, const REAL *plane, const struct F(corners) *corners, REAL pixels[4][BESIDE])
{
    if (corners->whole) {
        F(fetch_pairs)(plane, corners->index[0], pixels[0], pixels[1]);
        F(fetch_pairs)(plane + v->length[1], corners->index[0], pixels[2], pixels[3]);
        return;
    }
    for (int t = 0; t < 4; t++)
        EACH_PLACE {
            const REAL pixel = plane[corners->index[t][j]];
            pixels[t][j] = corners->inside[t][j] ? pixel : 0;
        }
}

static inline void F(weigh_corners)(const struct F(cells) *cells, size from, REAL weight[4][BESIDE])
{
    const REAL *y = cells->beyond[0] + from, *x = cells->beyond[1] + from;
    EACH_PLACE {
        weight[0][j] = (1 - x[j]) * (1 - y[j]), weight[1][j] = x[j] * (1 - y[j]);
        weight[2][j] = (1 - x[j]) * y[j], weight[3][j] = x[j] * y[j];
    }
}

static void F(sample_cells)(const struct sampling *v, const REAL *image, const REAL *grid, REAL *out)
{
    struct F(cells) cells;
    struct F(corners) corners;
    REAL weight[4][BESIDE], pixels[4][BESIDE], total[BESIDE];
    for (size begin = 0; begin < v->count; begin += SAMPLES) {
        const size n = v->count - begin < SAMPLES ? v->count - begin : SAMPLES;
        F(find_cells)(v, grid + begin * v->place_step, &cells, n);
        for (size from = 0; from < n; from += BESIDE) {
            const size some = n - from < BESIDE ? n - from : BESIDE;
            F(find_corners)(v, &cells, from, &corners);
            F(weigh_corners)(&cells, from, weight);
            for (size c = 0; c < v->channels; c++) {
                REAL *to = out + c * v->count + begin + from;
                F(fetch_corners)(v, image + c * v->area, &corners, pixels);
                EACH_PLACE total[j] = pixels[0][j] * weight[0][j];
                for (int t = 1; t < 4; t++) EACH_PLACE total[j] += pixels[t][j] * weight[t][j];
                if (some == BESIDE) memcpy(to, total, sizeof total);
                else memcpy(to, total, some * sizeof *to);
            }
        }
    }
}

static inline void F(spread_corners)(const struct sampling *v, REAL *restrict plane, const struct F(corners) *corners, const REAL *incoming,
    REAL weight[4][BESIDE])
{
    const size columns = v->length[1];
    if (corners->whole) /* corner by corner: places beside each other add to the same pixels, and would wait for that */
        for (int t = 0; t < 4; t++) {
            REAL *corner = plane + (t >> 1) * columns + (t & 1);
            EACH_PLACE corner[corners->index[0][j]] += incoming[j] * weight[t][j];
        }
    else
        for (int t = 0; t < 4; t++)
            EACH_PLACE
                if (corners->inside[t][j]) plane[corners->index[t][j]] += incoming[j] * weight[t][j];
}

/* The gradient of BESIDE places from sums of what came in times their corners. */
static inline void F(leave_slopes)(const struct F(cells) *cells, size from, REAL sums[4][BESIDE], REAL *to, size some)
{
    const REAL *y = cells->beyond[0] + from, *x = cells->beyond[1] + from, *along_y = cells->slope[0] + from, *along_x = cells->slope[1] + from;
    REAL of_x[BESIDE], of_y[BESIDE], both[2 * BESIDE];
    EACH_PLACE {
        const REAL a = -along_x[j] * (1 - y[j]), b = along_x[j] * (1 - y[j]), c = -along_x[j] * y[j], d = along_x[j] * y[j];
        const REAL p = (1 - x[j]) * -along_y[j], q = x[j] * -along_y[j], r = (1 - x[j]) * along_y[j], s = x[j] * along_y[j];
        of_x[j] = ((sums[0][j] * a + sums[1][j] * b) + sums[2][j] * c) + sums[3][j] * d;
        of_y[j] = ((sums[0][j] * p + sums[1][j] * q) + sums[2][j] * r) + sums[3][j] * s;
    }
    EACH_PLACE both[2 * j] = of_x[j], both[2 * j + 1] = of_y[j];
    if (some == BESIDE) memcpy(to, both, sizeof both);
    else memcpy(to, both, 2 * some * sizeof *to);
}

static void F(sample_cells_grad)(const struct sampling *v, const REAL *image, const REAL *grid, const REAL *g, REAL *grad_image,
    REAL *grad_grid)
{
    struct F(cells) cells;
    struct F(corners) corners;
    REAL weight[4][BESIDE], pixels[4][BESIDE], sums[4][BESIDE], incoming[BESIDE] = {0};
    for (size begin = 0; begin < v->count; begin += SAMPLES) {
        const size n = v->count - begin < SAMPLES ? v->count - begin : SAMPLES;
        F(find_cells)(v, grid + begin * v->place_step, &cells, n);
        for (size from = 0; from < n; from += BESIDE) {
            const size some = n - from < BESIDE ? n - from : BESIDE;
            F(find_corners)(v, &cells, from, &corners);
            if (grad_image) F(weigh_corners)(&cells, from, weight);
            for (size c = 0; c < v->channels; c++) {
                if (some == BESIDE) memcpy(incoming, g + c * v->count + begin + from, sizeof incoming);
                else memcpy(incoming, g + c * v->count + begin + from, some * sizeof *incoming);
                if (grad_image) F(spread_corners)(v, grad_image + c * v->area, &corners, incoming, weight);
                if (!grad_grid) continue;
                F(fetch_corners)(v, image + c * v->area, &corners, pixels);
                for (int t = 0; t < 4; t++) EACH_PLACE sums[t][j] = (c ? sums[t][j] : 0) + incoming[j] * pixels[t][j];
            }
            if (grad_grid) F(leave_slopes)(&cells, from, sums, grad_grid + 2 * (begin + from), some);
        }
    }
}

static int F(by_cells)(const struct sampling *v)
{
    return v->mode == SAMPLING_LINEAR && v->axes == 2;
}

static void F(sample_image)(const struct sampling *v, const REAL *image, const REAL *grid, REAL *out)
{
    (F(by_cells)(v) ? F(sample_cells) : F(sample_taps))(v, image, grid, out);
}

/* Either gradient may be NULL; that of the image is added to. */
static void F(sample_image_grad)(const struct sampling *v, const REAL *image, const REAL *grid, const REAL *g, REAL *grad_image,
    REAL *grad_grid)
{
    (F(by_cells)(v) ? F(sample_cells_grad) : F(sample_taps_grad))(v, image, grid, g, grad_image, grad_grid);
}
#undef EACH_PLACE
#undef BESIDE
