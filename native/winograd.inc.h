/* Convolutions by Winograd's products, after Lavin and Gray (2016): numbers of an image and of filters are added up in a few ways, streams,
 * and fewer products of these give the results than windows take. winograd_plan.c says which.
 *
 * Vectors run over channels (or filters): a strip of an image is turned so that they lie side by side. Transformed images: [sum][block of
 * channels][stream of the sum][tile][channel], streams (room + 1) vectors apart: the odd vector keeps them out of each other's way in the
 * first cache. Where channels fill no vector, vectors run over tiles: [sum][stream][channel][tile], room + WIDE numbers apart.
 * Filters: [sum][block][stream][channel][two vectors of filters], sums: [sum][tile][same]. */

#define WIDE ((size)(VECTOR_BYTES / sizeof(REAL)))

/* to[k * row + j] = from[j * step + k], k < n, j < rows; and zeros for other j < WIDE. Whole vectors are read if none goes beyond `end`. */
static inline void F(winograd_in)(REAL *restrict to, size row, const REAL *restrict from, size step, size rows, size n, const REAL *end)
{
#ifdef TURNS
    F(vector) square[WIDE];
    if (rows == WIDE && end - from >= (WIDE - 1) * step + WIDE)
        for (int j = 0; j < WIDE; j++) square[j] = LOAD(from + j * step);
    else {
        REAL part[WIDE * WIDE] = {0};
        for (size j = 0; j < rows; j++) F(conv_move)(part + j * WIDE, from + j * step, n);
        for (int j = 0; j < WIDE; j++) square[j] = LOAD(part + j * WIDE);
    }
    F(turn)(square);
    if (n == WIDE)
        for (int k = 0; k < WIDE; k++) STORE(to + k * row, square[k]);
    else
        for (int k = 0; k < WIDE; k++)
            if (k < n) STORE(to + k * row, square[k]);
#else
    (void)end;
    for (size k = 0; k < n; k++)
        for (size j = 0; j < WIDE; j++) to[k * row + j] = j < rows ? from[j * step + k] : 0;
#endif
}

/* The other way: to[j * step + k] = from[k * row + j], k < n, j < rows. Whole vectors of WIDE k are read. */
static inline void F(winograd_out)(REAL *restrict to, size step, const REAL *restrict from, size row, size rows, size n)
{
#ifdef TURNS
    F(vector) square[WIDE];
    for (int k = 0; k < WIDE; k++) square[k] = LOAD(from + k * row);
    F(turn)(square);
    if (n == WIDE && rows == WIDE)
        for (int j = 0; j < WIDE; j++) STORE(to + j * step, square[j]);
    else {
        REAL part[WIDE * WIDE];
        for (int j = 0; j < WIDE; j++) STORE(part + j * WIDE, square[j]);
        for (size j = 0; j < rows; j++) F(conv_move)(to + j * step, part + j * WIDE, n);
    }
#else
    for (size j = 0; j < rows; j++)
        for (size k = 0; k < n; k++) to[j * step + k] = from[k * row + j];
#endif
}

/* A part of an image, for one block of channels: rows from y on, columns from x on, zeros where the image is not. */
static void F(winograd_strip)(REAL *to, const struct tiled *v, size image, size block, size z, size y, size x, size rows, size columns)
{
    const size width = v->size[2], there = v->channels - block * WIDE < WIDE ? v->channels - block * WIDE : WIDE;
    const size left = x < 0 ? -x : 0, right = x + columns < width ? x + columns : width;
    for (size r = 0; r < rows; r++, to += columns * WIDE) {
        if (z < 0 || z >= v->size[0] || y + r < 0 || y + r >= v->size[1] || there <= 0 || right <= x + left) {
            memset(to, 0, columns * WIDE * sizeof(REAL));
            continue;
        }
        const REAL *from = (const REAL *)v->from + image * v->image + block * WIDE * v->plane + (z * v->size[1] + y + r) * width;
        memset(to, 0, left * WIDE * sizeof(REAL));
        for (size at = x + left; at < right; at += WIDE)
            F(winograd_in)(to + (at - x) * WIDE, WIDE, from + at, v->plane, there, right - at < WIDE ? right - at : WIDE, v->end);
        memset(to + (right - x) * WIDE, 0, (x + columns - right) * WIDE * sizeof(REAL));
    }
}

/* Tiles that are neighbours in a row: n from t on, of the place (z, y, x) in the tiles of an image. */
#define WINOGRAD_RUNS(v)                                                                                                             \
    for (size t = first, n, image, z, y, x; n = 0, t < first + tiles &&                                                              \
         (x = t % (v)->tiles[2], y = t / (v)->tiles[2] % (v)->tiles[1], z = t / (v)->tiles[2] / (v)->tiles[1],                       \
          image = z / (v)->tiles[0], z %= (v)->tiles[0], n = (v)->tiles[2] - x, n = n < first + tiles - t ? n : first + tiles - t, 1); t += n)
#define WINOGRAD_EACH(count)            \
    for (size q = 0; q < (count); q++)  \
        for (size k = 0; k < WIDE; k += F(gemm_step))

/* One stream: a, a + b, a - b or -a of n vectors that are `step` apart. */
static inline void F(winograd_pair)(REAL *restrict to, size to_step, const REAL *a, const REAL *b, size step, size n, int sign)
{
    if (sign == 1) WINOGRAD_EACH(n) STORE(to + q * to_step + k, LOAD(a + q * step + k) + LOAD(b + q * step + k));
    else if (sign == -1) WINOGRAD_EACH(n) STORE(to + q * to_step + k, LOAD(a + q * step + k) - LOAD(b + q * step + k));
    else if (sign == NEGATIVE) WINOGRAD_EACH(n) STORE(to + q * to_step + k, -LOAD(a + q * step + k));
    else WINOGRAD_EACH(n) STORE(to + q * to_step + k, LOAD(a + q * step + k));
}

/* The four streams of a piece of three taps, for n tiles. */
static inline void F(winograd_four)(REAL *const *to, const REAL *restrict line, size n)
{
    for (size k = 0; k < WIDE; k += F(gemm_step)) {
        F(vector) a = LOAD(line + k), b = LOAD(line + WIDE + k);
        for (size q = 0; q < n; q++) {
            const REAL *next = line + (2 * q + 2) * WIDE + k;
            const F(vector) c = LOAD(next), d = LOAD(next + WIDE);
            STORE(to[0] + q * WIDE + k, a - c);
            STORE(to[1] + q * WIDE + k, b + c);
            STORE(to[2] + q * WIDE + k, c - b);
            STORE(to[3] + q * WIDE + k, b - d);
            a = c, b = d;
        }
    }
}

/* Tiles of images, transformed for one block of channels of `depth`. */
static void F(winograd_images)(REAL *restrict to, const struct tiled *v, const struct plan *p, size first, size tiles, size room, size depth,
                               size block, REAL *restrict strip)
{
    const struct pieces *deep = &p->axis[0], *high = &p->axis[1], *wide = &p->axis[2];
    WINOGRAD_RUNS(v) {
        const size columns = (n - 1) * wide->step + wide->reach, row = columns * WIDE;
        REAL *const turned = strip + high->reach * row;
        const struct place *place = p->place;
        for (int l = 0; l < deep->streams; l++) {
            F(winograd_strip)(strip, v, image, block, z * deep->step + deep->start + deep->stream[l].a, y * high->step + high->start,
                              x * wide->step + wide->start, high->reach, columns);
            for (int i = 0; i < high->streams; i++) {
                const struct stream *down = &high->stream[i], *across = wide->stream;
                const REAL *line = strip + down->a * row;
                if (down->sign) F(winograd_pair)(turned, WIDE, line, strip + down->b * row, WIDE, columns, down->sign), line = turned;
                REAL *at[MOST_STREAMS];
                for (int j = 0; j < wide->streams; j++, place++)
                    at[j] = to + ((p->first[place->sum] * depth + block * p->count[place->sum] + place->index) * (room + 1) + t - first) * WIDE;
                if (wide->plain) F(winograd_four)(at, line, n);
                else
                    for (int j = 0; j < wide->streams; j++, across++)
                        F(winograd_pair)(at[j], WIDE, line + across->a * WIDE, line + across->b * WIDE, wide->step * WIDE, n, across->sign);
            }
        }
    }
}

/* line[j] = from[j * parts], and so on for the parts - 1 numbers behind: each part `length` long, behind the one before. */
static inline void F(winograd_part)(REAL *restrict line, const REAL *restrict from, size parts, size length)
{
    for (size j = 0; j < length; j++)
        for (size r = 0; r < parts; r++) line[r * length + j] = from[j * parts + r];
}
/* Rows of a plane from y on, columns from x on, zeros where the plane is not; of each row, columns that meet the same taps lie side by side. */
static void F(winograd_rows)(REAL *restrict to, const struct tiled *v, const REAL *restrict plane, size y, size x, size rows, size columns, size parts,
                             size length, REAL *restrict line)
{
    const size width = v->size[2], left = x < 0 ? -x : 0, right = x + columns < width ? x + columns : width;
    memset(line, 0, parts * length * sizeof(REAL));
    for (size r = 0; r < rows; r++, to += parts * length) {
        if (!plane || y + r < 0 || y + r >= v->size[1] || right <= x + left) {
            memset(to, 0, parts * length * sizeof(REAL));
            continue;
        }
        F(conv_move)(line + left, plane + (y + r) * width + x + left, right - x - left);
        if (parts == 4) F(winograd_part)(to, line, 4, length);
        else if (parts == 2) F(winograd_part)(to, line, 2, length);
        else F(winograd_part)(to, line, parts, length);
    }
}

/* Tiles of images with few channels, transformed for some of them, from `channel` on. Streams are `one` of a number and `other` of another, whatever their sign. */
static void F(winograd_few)(REAL *restrict to, const struct tiled *v, const struct plan *p, size first, size tiles, size pitch, size channel,
                            size channels, REAL *restrict strip)
{
    const struct pieces *deep = &p->axis[0], *high = &p->axis[1], *wide = &p->axis[2];
    const size parts = wide->step;
    struct { REAL one, other; size a, b; } across[MOST_STREAMS];
    size at[MOST_SUMS];
    for (int k = 0; k < p->streams; k++) at[k] = (p->first[p->place[k].sum] + p->place[k].index) * v->channels * pitch;
    WINOGRAD_RUNS(v) {
        const size vectors = (n + WIDE - 1) / WIDE, length = vectors * WIDE + (wide->reach - 1) / parts, row = parts * length;
        REAL *const turned = strip + high->reach * row + WIDE, *const line = turned + row + WIDE;
        for (int j = 0; j < wide->streams; j++) {
            const struct stream *s = &wide->stream[j];
            across[j].one = s->sign == NEGATIVE ? -1 : 1, across[j].other = s->sign == NEGATIVE ? 0 : (REAL)s->sign;
            across[j].a = s->a % parts * length + s->a / parts, across[j].b = s->b % parts * length + s->b / parts;
        }
        for (size c = channel; c < channel + channels; c++) {
            const size *next = at;
            for (int l = 0; l < deep->streams; l++) {
                const size at_z = z * deep->step + deep->start + deep->stream[l].a;
                const REAL *plane = (const REAL *)v->from + image * v->image + c * v->plane + at_z * v->size[1] * v->size[2];
                F(winograd_rows)(strip, v, at_z < 0 || at_z >= v->size[0] ? NULL : plane, y * high->step + high->start, x * wide->step + wide->start,
                                 high->reach, (n - 1) * parts + wide->reach, parts, length, line);
                for (int i = 0; i < high->streams; i++) {
                    const struct stream *down = &high->stream[i];
                    const REAL *from = strip + down->a * row;
                    if (down->sign) F(winograd_pair)(turned, WIDE, from, strip + down->b * row, WIDE, (row + WIDE - 1) / WIDE, down->sign), from = turned;
                    for (int j = 0; j < wide->streams; j++) {
                        REAL *put = to + *next++ + c * pitch + t - first;
                        const REAL *a = from + across[j].a, *b = from + across[j].b;
                        const REAL one = across[j].one, other = across[j].other;
                        WINOGRAD_EACH(vectors) STORE(put + q * WIDE + k, LOAD(a + q * WIDE + k) * one + LOAD(b + q * WIDE + k) * other);
                    }
                }
            }
        }
    }
}

/* n numbers: of taps, `step` apart, what a stream makes of them. */
static inline void F(winograd_weigh)(REAL *restrict to, const REAL *restrict taps, size step, size n, const struct stream *s)
{
    const REAL *a = taps + s->tap[0] * step, *b = taps + s->tap[1] * step, *c = taps + s->tap[2] * step, by[] = {(REAL)s->by[0], (REAL)s->by[1], (REAL)s->by[2]};
    if (s->taps == 1)
        for (size k = 0; k < n; k += F(gemm_step)) STORE(to + k, LOAD(a + k) * by[0]);
    else if (s->taps == 2)
        for (size k = 0; k < n; k += F(gemm_step)) STORE(to + k, LOAD(a + k) * by[0] + LOAD(b + k) * by[1]);
    else
        for (size k = 0; k < n; k += F(gemm_step)) STORE(to + k, LOAD(a + k) * by[0] + LOAD(b + k) * by[1] + LOAD(c + k) * by[2]);
}
enum { F(rows) = VECTOR_BYTES / sizeof(REAL) < 4 ? VECTOR_BYTES / sizeof(REAL) : 4, F(square) = 2 * F(rows) * VECTOR_BYTES / sizeof(REAL) }; /* two vectors of so many rows */

/* Filters for some blocks of channels: `filters` of them, `filter` apart, and `channels`, `channel` apart; the rest is zero. */
static void F(winograd_filters)(REAL *restrict to, const struct plan *p, const REAL *restrict weight, const REAL *end, size filter, size channel,
                                size filters, size channels, size blocks)
{
    const struct pieces *deep = &p->axis[0], *high = &p->axis[1], *wide = &p->axis[2];
    const size row = p->kernel[2] * F(square);
    REAL taps[MOST_TAPS * F(square)], line[MOST_SIDE * F(square)];
    for (size c = 0; c < WIDE * blocks; c += F(rows)) {
        for (size k = 0; k < 2 * F(rows); k++) {
            const size half = k % 2 * WIDE, there = c + k / 2 < channels ? filters - half < WIDE ? filters - half : WIDE : 0;
            const REAL *from = weight + half * filter + (c + k / 2) * channel;
            for (size t = 0; t < p->taps && there <= 0; t++) memset(taps + t * F(square) + k * WIDE, 0, VECTOR_BYTES);
            for (size t = 0; t < p->taps && there > 0; t += WIDE)
                F(winograd_in)(taps + t * F(square) + k * WIDE, F(square), from + t, filter, there, p->taps - t < WIDE ? p->taps - t : WIDE, end);
        }
        const struct place *place = p->place;
        for (int l = 0; l < deep->streams; l++)
            for (int i = 0; i < high->streams; i++) {
                F(winograd_weigh)(line, taps + deep->stream[l].tap[0] * p->kernel[1] * row, row, row, &high->stream[i]);
                for (int j = 0; j < wide->streams; j++, place++) {
                    const size block = p->first[place->sum] * blocks + c / WIDE * p->count[place->sum] + place->index;
                    F(winograd_weigh)(to + ((block * WIDE + c % WIDE) * 2 + place->sum) * WIDE, line, F(square), F(square), &wide->stream[j]);
                }
            }
    }
}

/* sums = or += tiles x channels of images, `row` and `column` apart, times channels x two vectors of filters, or the first of them;
 * `channels` of each block of them. */
#define WINOGRAD_TILE(name, ROWS, VECTORS)                                                                                                 \
    static inline void F(name)(REAL *restrict c, const REAL *restrict a, size a_block, size row, size column, const REAL *restrict b,      \
                               size blocks, size channels, int add)                                                                        \
    {                                                                                                                                      \
        F(vector) tile[ROWS][VECTORS];                                                                                                     \
        TILE_FOR (int i = 0; i < ROWS; i++)                                                                                                \
            for (int j = 0; j < VECTORS; j++) tile[i][j] = (F(vector)){0};                                                                 \
        for (; blocks > 0; blocks--, a += a_block, b += (WIDE - channels) * 2 * WIDE)                                                      \
            for (size k = 0; k < channels; k++, b += 2 * WIDE) TILE_ADD(ROWS, VECTORS, b, a[i * row + k * column]);                        \
        TILE_LEAVE(ROWS, VECTORS, c, 2 * WIDE, add)                                                                                        \
    }
WINOGRAD_TILE(winograd_tile, GEMM_ROWS, F(gemm_vectors))
WINOGRAD_TILE(winograd_narrow, GEMM_ROWS, F(gemm_thin))
WINOGRAD_TILE(winograd_narrow2, 2 * GEMM_ROWS, F(gemm_thin)) /* as many sums are under way */
#undef WINOGRAD_TILE
/* The same for all tiles. */
static inline void F(winograd_column)(REAL *restrict sums, const REAL *restrict a, size a_block, size row, size column, const REAL *restrict b,
                                      size blocks, size channels, size tiles, int narrow, int add)
{
    for (size t = 0; t < tiles; t += GEMM_ROWS) {
        REAL *c = sums + t * 2 * WIDE;
        if (!narrow) F(winograd_tile)(c, a + t * row, a_block, row, column, b, blocks, channels, add);
        else if (tiles - t <= GEMM_ROWS) F(winograd_narrow)(c, a + t * row, a_block, row, column, b, blocks, channels, add);
        else F(winograd_narrow2)(c, a + t * row, a_block, row, column, b, blocks, channels, add), t += GEMM_ROWS;
    }
}
/* `blocks` of channels, after some that are done, of images with `depth` of them; `channels` of each. `narrow`: one vector of filters. */
static void F(winograd_products)(REAL *sums, const struct plan *p, const REAL *images, const REAL *filters, size depth, size done, size blocks,
                                 size channels, size room, size tiles, int narrow)
{
    const size most = WINOGRAD_DEPTH / channels > 1 ? WINOGRAD_DEPTH / channels : 1, pitch = room + WIDE;
    const size image = channels == WIDE ? (room + 1) * WIDE : channels * pitch;
    for (int sum = 0; sum < p->sums; sum++, sums += (2 * room + 1) * WIDE) {
        const size all = blocks * p->count[sum];
        const REAL *from = images + (p->first[sum] * depth + done * p->count[sum]) * image, *right = filters + (p->first[sum] * blocks * WIDE * 2 + sum) * WIDE;
        for (size q = 0; q < all; q += most) {
            const REAL *a = from + q * image, *b = right + q * 2 * WIDE * WIDE;
            const size some = all - q < most ? all - q : most;
            if (channels == WIDE) F(winograd_column)(sums, a, image, WIDE, 1, b, some, WIDE, tiles, narrow, done || q);
            else F(winograd_column)(sums, a, image, 1, pitch, b, some, channels, tiles, narrow, done || q);
        }
    }
}

/* The two results of a phase (or one, in steps where there is no other) from its sums, `sum` apart: n of each. */
static inline void F(winograd_undo)(REAL *restrict to, REAL *restrict other, size to_step, const REAL *restrict from, size sum, size step, size n, int kind)
{
    if (kind == 4)
        WINOGRAD_EACH(n) {
            const REAL *m = from + q * step + k;
            const F(vector) one = LOAD(m + sum), two = LOAD(m + 2 * sum);
            STORE(to + q * to_step + k, LOAD(m) + one + two);
            STORE(other + q * to_step + k, one - two - LOAD(m + 3 * sum));
        }
    else if (kind == 3)
        WINOGRAD_EACH(n) {
            const REAL *m = from + q * step + k;
            const F(vector) one = LOAD(m + sum);
            STORE(to + q * to_step + k, LOAD(m) + one);
            STORE(other + q * to_step + k, one + LOAD(m + 2 * sum));
        }
    else if (kind == 2)
        WINOGRAD_EACH(n) {
            STORE(to + q * to_step + k, LOAD(from + q * step + k));
            STORE(other + q * to_step + k, LOAD(from + q * step + sum + k));
        }
    else if (kind == 1)
        WINOGRAD_EACH(n) STORE(to + q * to_step + k, LOAD(from + q * step + k));
    else
        WINOGRAD_EACH(n) {
            STORE(to + q * to_step + k, (F(vector)){0});
            STORE(other + q * to_step + k, (F(vector)){0});
        }
}

/* The four results of tiles of one piece of three taps each way, which are 4 x 4 sums `step` apart: two rows, `row` apart. */
static inline void F(winograd_undo_four)(REAL *restrict to, size row, const REAL *restrict from, size step, size n)
{
    WINOGRAD_EACH(n) {
        F(vector) top[4], low[4];
        TILE_FOR (int j = 0; j < 4; j++) {
            const REAL *m = from + q * 2 * WIDE + j * step + k;
            const F(vector) one = LOAD(m + 4 * step), two = LOAD(m + 8 * step);
            top[j] = LOAD(m) + one + two, low[j] = one - two - LOAD(m + 12 * step);
        }
        REAL *at = to + q * 2 * WIDE + k;
        STORE(at, top[0] + top[1] + top[2]);
        STORE(at + WIDE, top[1] - top[2] - top[3]);
        STORE(at + row, low[0] + low[1] + low[2]);
        STORE(at + row + WIDE, low[1] - low[2] - low[3]);
    }
}

/* Plus the bias; sums of the results, times zero, say whether all are finite. */
static inline void F(winograd_check)(REAL *restrict strip, size length, const REAL *restrict bias, REAL *restrict check)
{
    for (size k = 0; k < WIDE; k += F(gemm_step)) {
        F(vector) none = LOAD(check + k);
        if (bias) {
            const F(vector) b = LOAD(bias + k);
            for (size c = 0; c < length; c++) {
                const F(vector) result = LOAD(strip + c * WIDE + k) + b;
                STORE(strip + c * WIDE + k, result);
                none += result * 0;
            }
        } else
            for (size c = 0; c < length; c++) none += LOAD(strip + c * WIDE + k) * 0;
        STORE(check + k, none);
    }
}

/* Rows of results from the sums of n neighbouring tiles, for one vector of filters and one phase of z and y: `row` apart in `strip`. */
static inline void F(winograd_rows_of)(REAL *restrict strip, size row, const struct plan *p, const REAL *restrict from, size step, size n, int kind, int rows)
{
    const struct pieces *wide = &p->axis[2];
    if (p->plain && kind) {
        F(winograd_undo_four)(strip, row, from, step, n);
        return;
    }
    REAL *const turned = strip + 2 * row;
    const size other = wide->sums * n * WIDE;
    for (int j = 0; j < wide->sums; j++)
        F(winograd_undo)(turned + j * n * WIDE, turned + other + j * n * WIDE, WIDE, from + j * step, wide->sums * step, 2 * WIDE, n, kind);
    for (int i = 0; i < rows; i++, strip += row)
        for (int j = 0; j < wide->phases; j++) {
            const struct phase *across = &wide->phase[j];
            F(winograd_undo)(strip + across->place[0] * WIDE, strip + across->place[wide->results > wide->phases] * WIDE, wide->results * WIDE,
                             turned + i * other + across->first * n * WIDE, n * WIDE, WIDE, n, across->kind);
        }
}

/* Results of two vectors of filters. Whether some are not finite is noted. */
static void F(winograd_results)(const struct tiled *v, const struct plan *p, size first, size tiles, size room, size filter, const REAL *restrict sums,
                                const REAL *bias, REAL *restrict strip, int *lost)
{
    const struct pieces *deep = &p->axis[0], *high = &p->axis[1], *wide = &p->axis[2];
    const size step = (2 * room + 1) * WIDE;
    for (size half = 0; half < 2 && filter < v->channels; half++, filter += WIDE) {
        const size there = v->channels - filter < WIDE ? v->channels - filter : WIDE;
        REAL start[WIDE] = {0}, check[WIDE] = {0};
        if (bias) memcpy(start, bias + filter, there * sizeof(REAL));
        WINOGRAD_RUNS(v) {
            const size columns = n * wide->results, from_x = x * wide->results, row = (columns + WIDE) * WIDE;
            const size length = v->size[2] - from_x < columns ? v->size[2] - from_x : columns;
            for (int l = 0; l < deep->phases * high->phases; l++) {
                const struct phase *in = &deep->phase[l / high->phases], *down = &high->phase[l % high->phases];
                const size to_z = z * deep->results + in->place[0];
                const int rows = high->results / high->phases;
                if (to_z >= v->size[0]) continue;
                F(winograd_rows_of)(strip, row, p, sums + (in->first * high->sums + down->first) * wide->sums * step + (2 * (t - first) + half) * WIDE,
                                    step, n, in->kind ? down->kind : 0, rows);
                for (int i = 0; i < rows; i++) {
                    const size to_y = y * high->results + down->place[i];
                    if (to_y >= v->size[1]) continue;
                    F(winograd_check)(strip + i * row, length, bias ? start : NULL, check);
                    REAL *to = (REAL *)v->to + image * v->image + filter * v->plane + (to_z * v->size[1] + to_y) * v->size[2] + from_x;
                    for (size at = 0; at < length; at += WIDE)
                        F(winograd_out)(to + at, v->plane, strip + i * row + at * WIDE, WIDE, there, length - at < WIDE ? length - at : WIDE);
                }
            }
        }
        for (size k = 0; k < WIDE; k++) *lost |= !(check[k] == 0);
    }
}

#if GEMM_ROWS == 8
#define WINOGRAD_ROWS (WIDE < 8 ? WIDE : 8)
#else
#define WINOGRAD_ROWS (WIDE < 4 ? WIDE : 4)
#endif
#define WINOGRAD_NARROW (WIDE < 2 * WINOGRAD_ROWS ? WIDE : 2 * WINOGRAD_ROWS)
/* Some filters of a block x channels of one: = or += gradients x images, sums over tiles from `a` to `last`; those of the other block are zero. */
static void F(winograd_narrow_sum)(REAL *restrict to, const REAL *restrict a, const REAL *last, const REAL *restrict b, int add)
{
    F(vector) tile[WINOGRAD_NARROW][F(gemm_thin)];
    for (int i = 0; i < WINOGRAD_NARROW; i++)
        for (int j = 0; j < F(gemm_thin); j++) tile[i][j] = (F(vector)){0};
    for (; a < last; a += WIDE, b += WIDE) TILE_ADD(WINOGRAD_NARROW, F(gemm_thin), b, a[i]);
    if (!add) memset(to, 0, WINOGRAD_NARROW * 2 * VECTOR_BYTES);
    TILE_LEAVE(WINOGRAD_NARROW, F(gemm_thin), to, 2 * WIDE, add)
}
/* For each stream (filters of a block x channels of two) = or += gradients x images, sums over tiles. `narrow`: channels of one block. */
static void F(winograd_sums)(REAL *sums, const struct plan *p, const REAL *grads, size filters, size filter, const REAL *images, size depth, size block,
                             size room, size tiles, int narrow, int add)
{
    enum { DEPTH = 4 * WINOGRAD_DEPTH };
    const size step = (room + 1) * WIDE;
    for (int s = 0; s < p->streams; s++, sums += (2 * WIDE + 1) * WIDE) {
        const size sum = p->place[s].sum, count = p->count[sum], second = count * step;
        const REAL *left = grads + (sum * filters + filter) * step, *right = images + (p->first[sum] * depth + block * count + p->place[s].index) * step;
        for (size t = 0; t < tiles; t += DEPTH) {
            const REAL *a = left + t * WIDE, *b = right + t * WIDE, *last = t + DEPTH < tiles ? a + DEPTH * WIDE : left + tiles * WIDE;
            for (size i0 = 0; narrow && i0 < WIDE; i0 += WINOGRAD_NARROW) F(winograd_narrow_sum)(sums + i0 * 2 * WIDE, a + i0, last, b, add || t);
        }
        for (size t = 0; t < tiles && !narrow; t += DEPTH)
            for (size i0 = 0; i0 < WIDE; i0 += WINOGRAD_ROWS) {
                const REAL *a = left + t * WIDE + i0, *b = right + t * WIDE, *last = t + DEPTH < tiles ? a + DEPTH * WIDE : left + tiles * WIDE;
                F(vector) tile[WINOGRAD_ROWS][F(gemm_vectors)];
                for (int i = 0; i < WINOGRAD_ROWS; i++)
                    for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] = (F(vector)){0};
                for (; a < last; a += WIDE, b += WIDE) {
                    F(vector) y[F(gemm_vectors)];
                    for (int j = 0; j < F(gemm_vectors) / 2; j++)
                        y[j] = LOAD(b + j * F(gemm_step)), y[j + F(gemm_vectors) / 2] = LOAD(b + second + j * F(gemm_step));
                    for (int i = 0; i < WINOGRAD_ROWS; i++)
                        for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] += a[i] * y[j];
                }
                for (int i = 0; i < WINOGRAD_ROWS; i++)
                    for (int j = 0; j < F(gemm_vectors); j++) {
                        REAL *to = sums + (i0 + i) * 2 * WIDE + j * F(gemm_step);
                        if (add || t) tile[i][j] += LOAD(to);
                        STORE(to, tile[i][j]);
                    }
            }
    }
}

/* Gradients of some filters, `filter` apart, for two blocks of channels. Whether some are not finite is noted. */
static void F(winograd_close)(REAL *to, const struct plan *p, size filter, const REAL *restrict sums, size filters, size channels, int *lost)
{
    const struct pieces *deep = &p->axis[0], *high = &p->axis[1], *wide = &p->axis[2];
    const size step = (2 * WIDE + 1) * WIDE, row = wide->streams * step;
    REAL taps[(MOST_TAPS + WIDE) * F(square)], line[MOST_STREAMS * F(square)], check[F(square)] = {0};
    memset(taps + p->taps * F(square), 0, WIDE * F(square) * sizeof(REAL));
    for (size f = 0; f < filters; f += F(rows)) {
        REAL *to_tap = taps;
        for (int l = 0; l < p->kernel[0]; l++)
            for (int i = 0; i < p->kernel[1]; i++) {
                const REAL *from = sums + 2 * f * WIDE + deep->back[l].tap[0] * high->streams * row;
                for (int j = 0; j < wide->streams; j++) F(winograd_weigh)(line + j * F(square), from + j * step, row, F(square), &high->back[i]);
                for (int j = 0; j < p->kernel[2]; j++, to_tap += F(square)) F(winograd_weigh)(to_tap, line, F(square), F(square), &wide->back[j]);
            }
        for (size t = 0; t < p->taps; t++)
            for (size k = 0; k < F(square); k += F(gemm_step)) STORE(check + k, LOAD(check + k) + LOAD(taps + t * F(square) + k) * 0);
        for (size k = 0; k < 2 * F(rows) && f + k / 2 < filters; k++) {
            const size there = channels - k % 2 * WIDE < WIDE ? channels - k % 2 * WIDE : WIDE;
            for (size t = 0; t < p->taps && there > 0; t += WIDE)
                F(winograd_out)(to + (f + k / 2) * filter + k % 2 * WIDE * p->taps + t, p->taps, taps + t * F(square) + k * WIDE, F(square), there,
                                p->taps - t < WIDE ? p->taps - t : WIDE);
        }
    }
    for (size k = 0; k < F(square); k++) *lost |= !(check[k] == 0);
}

/* The same for few channels, for one sum and two vectors of filters: gradients [tile][filter], the second vector `second` behind the first, meet
 * rows of images; sums: [stream along the axes in turn][channel][two vectors of filters]. */
static void F(winograd_few_sums)(REAL *sums, const struct plan *p, int sum, const REAL *grads, size second, const REAL *images, size channels,
                                 size pitch, size tiles, int add)
{
    const size rows = p->count[sum] * channels;
    int place[MOST_SUMS];
    for (int k = 0; k < p->streams; k++)
        if (p->place[k].sum == sum) place[p->place[k].index] = k;
    for (size r0 = 0; r0 < rows; r0 += GEMM_ROWS) {
        const REAL *a[GEMM_ROWS];
        F(vector) tile[GEMM_ROWS][F(gemm_vectors)];
        for (int i = 0; i < GEMM_ROWS; i++) {
            a[i] = images + (r0 + i < rows ? r0 + i : rows - 1) * pitch;
            for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] = (F(vector)){0};
        }
        for (size t = 0; t < tiles; t++) {
            F(vector) y[F(gemm_vectors)];
            for (int j = 0; j < F(gemm_vectors) / 2; j++)
                y[j] = LOAD(grads + t * WIDE + j * F(gemm_step)), y[j + F(gemm_vectors) / 2] = LOAD(grads + second + t * WIDE + j * F(gemm_step));
            TILE_FOR (int i = 0; i < GEMM_ROWS; i++) {
                const REAL x = a[i][t];
                for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] += x * y[j];
            }
        }
        TILE_FOR (int i = 0; i < GEMM_ROWS; i++) {
            if (r0 + i >= rows) break;
            REAL *to = sums + (place[(r0 + i) / channels] * channels + (r0 + i) % channels) * 2 * WIDE;
            for (int j = 0; j < F(gemm_vectors); j++) {
                if (add) tile[i][j] += LOAD(to + j * F(gemm_step));
                STORE(to + j * F(gemm_step), tile[i][j]);
            }
        }
    }
}

/* Gradients of two vectors of filters, `filter` apart, from these sums. Whether some are not finite is noted. */
static void F(winograd_few_close)(REAL *to, const struct plan *p, size filter, const REAL *restrict sums, size filters, size channels, int *lost)
{
    enum { PAIR = 2 * VECTOR_BYTES / sizeof(REAL) };
    const struct pieces *deep = &p->axis[0], *high = &p->axis[1], *wide = &p->axis[2];
    const size step = channels * PAIR, row = wide->streams * step;
    REAL taps[(MOST_TAPS + WIDE) * PAIR], line[MOST_STREAMS * PAIR], check[PAIR] = {0};
    memset(taps + p->taps * PAIR, 0, WIDE * PAIR * sizeof(REAL));
    for (size c = 0; c < channels; c++, sums += PAIR) {
        REAL *to_tap = taps;
        for (int l = 0; l < p->kernel[0]; l++)
            for (int i = 0; i < p->kernel[1]; i++) {
                const REAL *from = sums + deep->back[l].tap[0] * high->streams * row;
                for (int j = 0; j < wide->streams; j++) F(winograd_weigh)(line + j * PAIR, from + j * step, row, PAIR, &high->back[i]);
                for (int j = 0; j < p->kernel[2]; j++, to_tap += PAIR) F(winograd_weigh)(to_tap, line, PAIR, PAIR, &wide->back[j]);
            }
        for (size t = 0; t < p->taps; t++)
            for (size k = 0; k < PAIR; k += F(gemm_step)) STORE(check + k, LOAD(check + k) + LOAD(taps + t * PAIR + k) * 0);
        for (size half = 0; half < PAIR && half < filters; half += WIDE)
            for (size t = 0; t < p->taps; t += WIDE)
                F(winograd_out)(to + half * filter + c * p->taps + t, filter, taps + t * PAIR + half, PAIR, filters - half < WIDE ? filters - half : WIDE,
                                p->taps - t < WIDE ? p->taps - t : WIDE);
    }
    for (size k = 0; k < PAIR; k++) *lost |= !(check[k] == 0);
}

/* No longer `even` if a number stands out so far that its neighbours in a tile lose their exactness, or is not finite. */
static void F(winograd_even)(const REAL *x, size n, int *even)
{
    enum { FAR = 1024, PIECE = 4096 };
    REAL largest[2 * 64 / sizeof(REAL)] = {0};
    double total = 0, most = 0;
    const size lanes = sizeof largest / sizeof *largest;
    for (size at = 0; at < n; at += PIECE) {
        const size end = n - at < PIECE ? n : at + PIECE;
        REAL sums[2 * 64 / sizeof(REAL)] = {0};
        size i = at;
        for (; i + lanes <= end; i += lanes)
            for (size k = 0; k < lanes; k++) {
                const REAL v = F(abs)(x[i + k]);
                sums[k] += v;
                largest[k] = v > largest[k] ? v : largest[k];
            }
        for (; i < end; i++) {
            const REAL v = F(abs)(x[i]);
            total += v;
            most = v > most ? v : most;
        }
        for (size k = 0; k < lanes; k++) total += sums[k];
    }
    for (size k = 0; k < lanes; k++) most = largest[k] > most ? largest[k] : most;
    *even &= most * n <= FAR * total && total < INFINITY;
}
#undef WINOGRAD_ROWS
#undef WINOGRAD_NARROW
#undef WINOGRAD_RUNS
#undef WINOGRAD_EACH
