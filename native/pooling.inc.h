/* Maxima of windows, with their places: down the rows of an image first, then across what the rows gave. A number counts as
 * larger than its equals before it in the image only if it is NaN. */

#if SINGLE
typedef int32_t F(place);
#define NOWHERE INT32_MAX
#else
typedef int64_t F(place);
#define NOWHERE INT64_MAX
#endif
#ifdef __GNUC__
typedef F(place) F(places_of) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#define CHOOSE(mask, a, b) (((mask) & (a)) | (~(mask) & (b)))
#define CHOOSE_VALUE(mask, a, b) ((F(vector))CHOOSE(mask, (F(places_of))(a), (F(places_of))(b)))
#else
typedef F(place) F(places_of);
#define CHOOSE(mask, a, b) ((mask) ? (a) : (b))
#define CHOOSE_VALUE CHOOSE
#endif
#define PLACES(p) (*(F(places_of) *)(p))

/* Zero, one, two ... */
static inline F(places_of) F(pool_count)(void)
{
    F(place) count[F(gemm_step)];
    for (int k = 0; k < F(gemm_step); k++) count[k] = k;
    return PLACES(count);
}

/* A vector of which `there` numbers can be read. */
static inline F(vector) F(pool_load)(const REAL *x, size there)
{
    if (there >= F(gemm_step)) return LOAD(x);
    REAL part[F(gemm_step)] = {0};
    memcpy(part, x, there * sizeof *x);
    return LOAD(part);
}

/* Nothing yet. */
static void F(pool_nothing)(REAL *restrict best, void *restrict places, size n)
{
    F(place) *restrict at = places;
    for (size i = 0; i < n; i++) best[i] = (REAL)-INFINITY, at[i] = NOWHERE;
}

/* What n columns hold of some rows: from `first` on in the image, of which `there` numbers can be read; `steps` apart, taps[0]
 * times taps[1] of them. Whole vectors are written: what is too much of one is nothing. */
static void F(pool_down)(REAL *restrict best, void *restrict places, const REAL *restrict image, size there, size first,
                         const size *taps, const size *steps, size n)
{
    F(place) *restrict at = places;
    const F(places_of) count = F(pool_count)();
    for (size i = 0; i < n; i += F(gemm_step)) {
        F(vector) most = F(pool_load)(image + first + i, there - first - i);
        F(places_of) where = count + (F(place))(first + i);
        for (size a = 0; a < taps[0]; a++)
            for (size b = !a; b < taps[1]; b++) {
                const size row = first + a * steps[0] + b * steps[1] + i;
                const F(vector) value = F(pool_load)(image + row, there - row);
                const F(places_of) better = (value > most) | (value != value);
                most = CHOOSE_VALUE(better, value, most);
                where = CHOOSE(better, count + (F(place))row, where);
            }
        if (n - i < F(gemm_step)) {
            const F(places_of) inside = count < (F(place))(n - i);
            most = CHOOSE_VALUE(inside, most, (F(vector)){0} - (REAL)INFINITY);
            where = CHOOSE(inside, where, (F(places_of)){0} + NOWHERE);
        }
        STORE(best + i, most);
        PLACES(at + i) = where;
    }
}

/* Numbers that are `stride` apart. */
static inline F(vector) F(pool_pick)(const REAL *x, size stride)
{
    if (stride == 1) return LOAD(x);
#ifdef TURNS
    if (stride == 2) {
        F(places) even;
        for (int k = 0; k < F(lanes); k++) even[k] = 2 * k;
        return __builtin_shuffle(LOAD(x), LOAD(x + F(lanes)), even);
    }
#endif
    REAL part[F(gemm_step)];
    for (int k = 0; k < F(gemm_step); k++) part[k] = x[k * stride];
    return LOAD(part);
}

/* n windows of a line of values and places, `stride` apart, whose taps are `dilation` apart. Of equals that with the least
 * place is taken, of NaNs that with the largest. Whole vectors are written. */
static inline void F(pool_line)(REAL *restrict out, F(place) *restrict to, const REAL *restrict x, const F(place) *restrict places,
                                size stride, size taps, size dilation, size n)
{
    for (size i = 0; i < n; i += F(gemm_step)) {
        F(vector) most = F(pool_pick)(x + i * stride, stride);
        F(vector) found = F(pool_pick)((const REAL *)places + i * stride, stride);
        F(places_of) where = PLACES(&found);
        for (size c = 1; c < taps; c++) {
            const F(vector) value = F(pool_pick)(x + i * stride + c * dilation, stride);
            found = F(pool_pick)((const REAL *)places + i * stride + c * dilation, stride);
            const F(places_of) place = PLACES(&found);
            const F(places_of) better = (value > most) | ((value == most) & (place < where)) |
                                        ((value != value) & ((most == most) | (place > where)));
            most = CHOOSE_VALUE(better, value, most);
            where = CHOOSE(better, place, where);
        }
        STORE(out + i, most);
        PLACES(to + i) = where;
    }
}
static void F(pool_across)(REAL *restrict out, void *restrict to, const REAL *restrict x, const void *restrict places, size stride,
                           size taps, size dilation, size n)
{
    if (stride == 1) F(pool_line)(out, to, x, places, 1, taps, dilation, n);
    else if (stride == 2) F(pool_line)(out, to, x, places, 2, taps, dilation, n);
    else F(pool_line)(out, to, x, places, stride, taps, dilation, n);
}

/* Maxima so far and one further number of each window; of equals the first, and NaN always. */
static inline void F(pool_raise_by)(REAL *restrict out, const REAL *restrict x, size stride, size n)
{
    size i = 0;
    for (; i + F(gemm_step) < n; i += F(gemm_step)) { /* the last number's neighbours may not be there */
        const F(vector) most = LOAD(out + i), value = F(pool_pick)(x + i * stride, stride);
        STORE(out + i, CHOOSE_VALUE((value > most) | (value != value), value, most));
    }
    for (; i < n; i++) {
        const REAL value = x[i * stride];
        if (value > out[i] || value != value) out[i] = value;
    }
}
static void F(pool_raise)(REAL *restrict out, const REAL *restrict x, size stride, size n)
{
    if (stride == 1) F(pool_raise_by)(out, x, 1, n);
    else if (stride == 2) F(pool_raise_by)(out, x, 2, n);
    else F(pool_raise_by)(out, x, stride, n);
}

/* Values and places to where they belong; -1 is nowhere. */
static inline void F(pool_eight)(REAL *restrict best, int64_t *restrict index, const REAL *restrict from, const F(place) *restrict at)
{
    memcpy(best, from, 8 * sizeof *best);
#ifdef __GNUC__
    typedef F(place) eight __attribute__((vector_size(8 * sizeof *at), aligned(sizeof *at), may_alias));
    typedef int64_t wide __attribute__((vector_size(64), aligned(8), may_alias));
    const eight place = *(const eight *)at;
    *(wide *)index = __builtin_convertvector(CHOOSE(place == NOWHERE, (eight){0} - 1, place), wide);
#else
    for (int k = 0; k < 8; k++) index[k] = at[k] == NOWHERE ? -1 : at[k];
#endif
}

/* Some rows of results, `pitch` numbers apart, to where they belong: what is too much of one is written over by the next. */
static void F(pool_leave)(REAL *restrict best, int64_t *restrict index, const REAL *restrict from, const void *restrict places,
                          size rows, size pitch, size n)
{
    const F(place) *restrict at = places;
    for (size y = 0; y < rows; y++, best += n, index += n, from += pitch, at += pitch) {
        const size whole = (rows - 1 - y) * n >= 8 ? n : n - 7; /* where a vector may begin */
        size i = 0;
        for (; i < whole && i + 8 <= pitch; i += 8) F(pool_eight)(best + i, index + i, from + i, at + i);
        for (; i < n; i++) best[i] = from[i], index[i] = at[i] == NOWHERE ? -1 : at[i];
    }
}

/* ---- images whose n channels are innermost in memory: a window is of whole pixels ---- */

#define EACH_PIXEL(w, row, ...)                                                                           \
    for (size a = 0; a < (w)->taps[0]; a++)                                                               \
        for (size b = 0; b < (w)->taps[1]; b++)                                                           \
            for (size c = 0; c < (w)->taps[2]; c++) {                                                     \
                const size row = ((w)->first + a * (w)->steps[0] + b * (w)->steps[1] + c * (w)->steps[2]); \
                __VA_ARGS__                                                                               \
            }

/* The largest of each channel, the last of NaNs and otherwise the first of equals; without `index`, without their places. */
static void F(pixel_most)(REAL *restrict best, int64_t *restrict index, const REAL *restrict image, const struct pixel_window *w, size n)
{
    size i = 0;
    for (; i + F(gemm_step) <= n; i += F(gemm_step)) {
        F(vector) most = LOAD(image + w->first * n + i);
        F(places_of) where = (F(places_of)){0} + (F(place))w->first;
        EACH_PIXEL(w, row, {
            const F(vector) value = LOAD(image + row * n + i);
            const F(places_of) better = (value > most) | (value != value);
            most = CHOOSE_VALUE(better, value, most);
            where = CHOOSE(better, (F(places_of)){0} + (F(place))row, where);
        })
        STORE(best + i, most);
        F(place) places[F(gemm_step)];
        PLACES(places) = where;
        if (index) for (int k = 0; k < F(gemm_step); k++) index[i + k] = places[k];
    }
    for (; i < n; i++) {
        REAL most = image[w->first * n + i];
        size where = w->first;
        EACH_PIXEL(w, row, {
            const REAL value = image[row * n + i];
            if (value > most || value != value) most = value, where = row;
        })
        best[i] = most;
        if (index) index[i] = where;
    }
}
static void F(pixel_total)(REAL *restrict out, const REAL *restrict image, const struct pixel_window *w, REAL divisor, size n)
{
    size i = 0;
    for (; i + F(gemm_step) <= n; i += F(gemm_step)) {
        F(vector) total = {0};
        EACH_PIXEL(w, row, { total += LOAD(image + row * n + i); })
        STORE(out + i, total / divisor);
    }
    for (; i < n; i++) {
        REAL total = 0;
        EACH_PIXEL(w, row, { total += image[row * n + i]; })
        out[i] = total / divisor;
    }
}
static void F(pixel_spread)(REAL *restrict image, const REAL *restrict g, const struct pixel_window *w, REAL divisor, size n)
{
    size i = 0;
    for (; i + F(gemm_step) <= n; i += F(gemm_step)) {
        const F(vector) share = LOAD(g + i) / divisor;
        EACH_PIXEL(w, row, { STORE(image + row * n + i, LOAD(image + row * n + i) + share); })
    }
    for (; i < n; i++) {
        const REAL share = g[i] / divisor;
        EACH_PIXEL(w, row, { image[row * n + i] += share; })
    }
}
#undef EACH_PIXEL
#undef NOWHERE
#undef PLACES
#undef CHOOSE
#undef CHOOSE_VALUE
