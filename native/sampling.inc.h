/* Images sampled at the places of a grid, for one REAL type and one instruction set: blocks of SAMPLES places, all channels
 * of an image for each. A place has a few neighbours along each axis, and every combination of them is a tap. */

static inline REAL F(floor)(REAL x) { return SINGLE ? (REAL)floorf((float)x) : (REAL)floor((double)x); }
static inline REAL F(rint)(REAL x) { return SINGLE ? (REAL)rintf((float)x) : (REAL)rint((double)x); }

struct F(neighbours) {
    REAL at[4][SAMPLES], weight[4][SAMPLES], slope[4][SAMPLES]; /* where they are, what they count, and its derivative */
    int32_t index[4][SAMPLES], inside[4][SAMPLES];
};
struct F(taps) {
    int32_t index[SAMPLES], inside[SAMPLES];
    REAL weight[SAMPLES], slope[SAMPLING_AXES][SAMPLES];
};

/* Positions brought into the image, and their derivatives changed likewise; those that are no numbers go to zero. */
static void F(bring_inside)(const struct sampling *v, REAL length, REAL *restrict p, REAL *restrict slope, size n)
{
    const REAL span = v->align ? length - 1 : length, offset = v->align ? 0 : (REAL)-0.5, last = length - 1;
    for (size j = 0; j < n; j++) {
        REAL x = p[j], s = slope[j];
        if (v->padding == SAMPLING_REFLECTION) {
            const REAL moved = x < offset ? offset - x : x - offset;
            const REAL flips = span > 0 ? F(floor)(moved / span) : 0, rest = span > 0 ? moved - flips * span : 0;
            const int odd = flips - 2 * F(floor)(flips * (REAL)0.5) != 0;
            s = odd != (x < offset) ? -s : s;
            x = (odd ? span - rest : rest) + offset;
        }
        s = (x > 0) & (x < last) ? s : 0;
        x = x > 0 ? x : 0;
        p[j] = x < last ? x : last, slope[j] = s;
    }
}

static inline REAL F(cubic_near)(REAL t) { return ((REAL)1.25 * t - (REAL)2.25) * t * t + 1; }
static inline REAL F(cubic_far)(REAL t) { return (((REAL)-0.75 * t + (REAL)3.75) * t - 6) * t + 3; }
static inline REAL F(cubic_near_slope)(REAL t) { return ((REAL)3.75 * t - (REAL)4.5) * t; }
static inline REAL F(cubic_far_slope)(REAL t) { return ((REAL)-2.25 * t + (REAL)7.5) * t - 6; }

/* Places along an axis as positions in the image, and the derivative of these. */
static inline void F(find_positions)(const struct sampling *v, int axis, const REAL *grid, REAL *restrict p, REAL *restrict slope, size n)
{
    const REAL length = (REAL)v->length[axis], scale = v->align ? (length - 1) * (REAL)0.5 : length * (REAL)0.5;
    const REAL *from = grid + (v->axes - 1 - axis) * v->axis_step;
    if (v->place_step == 1) memcpy(p, from, n * sizeof *p);
    else if (v->place_step == 2) /* a step that is known takes no loads one by one */
        for (size j = 0; j < n; j++) p[j] = from[2 * j];
    else
        for (size j = 0; j < n; j++) p[j] = from[j * v->place_step];
    for (size j = 0; j < n; j++) {
        const REAL x = p[j];
        p[j] = v->align ? (x + 1) * scale : ((x + 1) * length - 1) * (REAL)0.5, slope[j] = scale;
    }
    if (v->mode != SAMPLING_CUBIC && v->padding != SAMPLING_ZEROS) F(bring_inside)(v, length, p, slope, n);
}

static void F(find_neighbours)(const struct sampling *v, int axis, const REAL *grid, struct F(neighbours) *found, size n)
{
    const REAL length = (REAL)v->length[axis];
    REAL p[SAMPLES], slope[SAMPLES], unused[SAMPLES];
    F(find_positions)(v, axis, grid, p, slope, n);
    if (v->mode == SAMPLING_NEAREST)
        for (size j = 0; j < n; j++) found->at[0][j] = F(rint)(p[j]), found->weight[0][j] = 1, found->slope[0][j] = 0;
    else if (v->mode == SAMPLING_LINEAR)
        for (size j = 0; j < n; j++) {
            const REAL low = F(floor)(p[j]), t = p[j] - low;
            found->at[0][j] = low, found->weight[0][j] = 1 - t, found->slope[0][j] = -slope[j];
            found->at[1][j] = low + 1, found->weight[1][j] = t, found->slope[1][j] = slope[j];
        }
    else {
        for (size j = 0; j < n; j++) {
            const REAL low = F(floor)(p[j]), t = p[j] - low, s = slope[j];
            for (int k = 0; k < 4; k++) found->at[k][j] = low + (REAL)(k - 1);
            found->weight[0][j] = F(cubic_far)(t + 1), found->slope[0][j] = F(cubic_far_slope)(t + 1) * s;
            found->weight[1][j] = F(cubic_near)(t), found->slope[1][j] = F(cubic_near_slope)(t) * s;
            found->weight[2][j] = F(cubic_near)(1 - t), found->slope[2][j] = -F(cubic_near_slope)(1 - t) * s;
            found->weight[3][j] = F(cubic_far)(2 - t), found->slope[3][j] = -F(cubic_far_slope)(2 - t) * s;
        }
        for (int k = 0; k < 4 && v->padding != SAMPLING_ZEROS; k++) F(bring_inside)(v, length, found->at[k], unused, n);
    }
}

/* Where the neighbours along an axis lie in memory, `step` numbers apart, and whether they are in the image. */
static void F(place_neighbours)(const struct sampling *v, int axis, size step, struct F(neighbours) *found, int each, size n)
{
    const REAL last = (REAL)(v->length[axis] - 1);
    const int32_t apart = (int32_t)step;
    for (int k = 0; k < each; k++)
        for (size j = 0; j < n; j++) {
            const int in = (found->at[k][j] >= 0) & (found->at[k][j] <= last);
            found->index[k][j] = (int32_t)(in ? found->at[k][j] : 0) * apart, found->inside[k][j] = in;
        }
}

/* Every combination of neighbours; how many there are. */
static int F(find_taps)(const struct sampling *v, const REAL *grid, struct F(taps) *taps, int slopes, size n)
{
    const int each = v->mode == SAMPLING_NEAREST ? 1 : v->mode == SAMPLING_LINEAR ? 2 : 4, axes = (int)v->axes;
    struct F(neighbours) of[SAMPLING_AXES];
    int count = 1;
    size step = 1;
    for (int a = axes - 1; a >= 0; step *= v->length[a], a--, count *= each)
        F(find_neighbours)(v, a, grid, &of[a], n), F(place_neighbours)(v, a, step, &of[a], each, n);
    for (int t = 0; t < count; t++) {
        struct F(taps) *tap = &taps[t];
        for (int a = axes - 1, rest = t; a >= 0; a--, rest /= each) {
            const int k = rest % each, begins = a == axes - 1;
            const REAL *weight = of[a].weight[k], *slope = of[a].slope[k];
            const int32_t *index = of[a].index[k], *inside = of[a].inside[k];
            if (begins) {
                memcpy(tap->index, index, n * sizeof *index), memcpy(tap->inside, inside, n * sizeof *inside);
                memcpy(tap->weight, weight, n * sizeof *weight);
            }
            else
                for (size j = 0; j < n; j++) tap->index[j] += index[j], tap->inside[j] &= inside[j], tap->weight[j] *= weight[j];
            for (int b = 0; slopes && b < axes; b++) {
                const REAL *factor = b == a ? slope : weight;
                if (begins) memcpy(tap->slope[b], factor, n * sizeof *factor);
                else
                    for (size j = 0; j < n; j++) tap->slope[b][j] *= factor[j];
            }
        }
    }
    return count;
}

static void F(sample_taps)(const struct sampling *v, const REAL *image, const REAL *grid, REAL *out)
{
    struct F(taps) taps[SAMPLING_TAPS];
    for (size begin = 0; begin < v->count; begin += SAMPLES) {
        const size n = v->count - begin < SAMPLES ? v->count - begin : SAMPLES;
        const int count = F(find_taps)(v, grid + begin * v->place_step, taps, 0, n);
        for (size c = 0; c < v->channels; c++) {
            const REAL *plane = image + c * v->area;
            REAL total[SAMPLES];
            for (size j = 0; j < n; j++) total[j] = 0;
            for (int t = 0; t < count; t++) {
                const struct F(taps) *tap = &taps[t];
                for (size j = 0; j < n; j++) {
                    const REAL value = plane[tap->index[j]];
                    total[j] += (tap->inside[j] ? value : 0) * tap->weight[j];
                }
            }
            memcpy(out + c * v->count + begin, total, n * sizeof(REAL));
        }
    }
}

static void F(sample_taps_grad)(const struct sampling *v, const REAL *image, const REAL *grid, const REAL *g, REAL *grad_image,
    REAL *grad_grid)
{
    struct F(taps) taps[SAMPLING_TAPS];
    REAL slopes[SAMPLING_TAPS][SAMPLES];
    for (size begin = 0; begin < v->count; begin += SAMPLES) {
        const size n = v->count - begin < SAMPLES ? v->count - begin : SAMPLES;
        const int count = F(find_taps)(v, grid + begin * v->place_step, taps, grad_grid != NULL, n);
        memset(slopes, 0, sizeof slopes);
        for (size c = 0; c < v->channels; c++) {
            const REAL *incoming = g + c * v->count + begin, *plane = image + c * v->area;
            for (int t = 0; t < count; t++) {
                const struct F(taps) *tap = &taps[t];
                if (grad_image)
                    for (size j = 0; j < n; j++)
                        if (tap->inside[j]) grad_image[c * v->area + tap->index[j]] += incoming[j] * tap->weight[j];
                if (grad_grid)
                    for (size j = 0; j < n; j++) {
                        const REAL value = plane[tap->index[j]];
                        slopes[t][j] += incoming[j] * (tap->inside[j] ? value : 0);
                    }
            }
        }
        for (int a = 0; grad_grid && a < (int)v->axes; a++) {
            REAL total[SAMPLES] = {0};
            for (int t = 0; t < count; t++)
                for (size j = 0; j < n; j++) total[j] += slopes[t][j] * taps[t].slope[a][j];
            for (size j = 0; j < n; j++) grad_grid[(begin + j) * v->axes + v->axes - 1 - a] = total[j];
        }
    }
}

/* Numbers of one line: a block of sums at a time, the neighbours of each fetched from where they are. */
static void F(resample_line)(const struct resampling *v, const REAL *factors, const REAL *x, REAL *restrict out)
{
    for (size begin = 0; begin < v->out; begin += SAMPLES) {
        const size n = v->out - begin < SAMPLES ? v->out - begin : SAMPLES;
        REAL *restrict to = out + begin;
        if (!v->taps) memset(to, 0, n * sizeof(REAL));
        for (size t = 0; t < v->taps; t++) {
            const int32_t *place = v->places + t * v->out + begin;
            const REAL *factor = factors + t * v->out + begin;
            if (v->holes)
                for (size j = 0; j < n; j++) {
                    const REAL value = x[place[j] < 0 ? 0 : place[j]] * factor[j];
                    to[j] = (t ? to[j] : 0) + (place[j] < 0 ? 0 : value);
                }
            else if (t)
                for (size j = 0; j < n; j++) to[j] += x[place[j]] * factor[j];
            else
                for (size j = 0; j < n; j++) to[j] = x[place[j]] * factor[j];
        }
    }
}

static void F(resample)(const struct resampling *v, const REAL *factors, const REAL *x, REAL *out, size planes)
{
    const size inner = v->inner;
    for (size i = 0; i < planes; i++, x += v->size * inner, out += v->out * inner) {
        if (inner == 1) {
            F(resample_line)(v, factors, x, out);
            continue;
        }
        for (size o = 0; o < v->out; o++) {
            REAL *restrict line = out + o * inner;
            int begun = 0;
            for (size t = 0; t < v->taps; t++) {
                const int32_t place = v->places[t * v->out + o];
                if (place < 0) continue;
                const REAL factor = factors[t * v->out + o], *restrict from = x + place * inner;
                if (begun)
                    for (size j = 0; j < inner; j++) line[j] += from[j] * factor;
                else
                    for (size j = 0; j < inner; j++) line[j] = from[j] * factor;
                begun = 1;
            }
            if (!begun) memset(line, 0, inner * sizeof(REAL));
        }
    }
}
