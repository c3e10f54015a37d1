/* How a convolution is cut into pieces for Winograd's products.
 *
 * Along an axis, the taps of a filter that meet the same numbers for neighbouring results are a chain: all of them in steps of one, those
 * with the same remainder in longer steps. A chain is cut into pieces of three taps, two and one, and two neighbouring results come from
 * four products of a piece, three and two, where there were six, four and two: F(2, 3), F(2, 2) and F(2, 1). Products of several pieces
 * meet in the same sums, as if they were further channels. So a filter of 3 in steps of two takes 5 products for 6, of 4 in steps of two
 * 6 for 8, of 5 in steps of one 7 for 10; of two axes, their squares. The gradient in images is one convolution for each remainder of a
 * place by the step, a phase, and all phases share tiles. Axes along which windows are no neighbours are taken as they are. */
#include "winograd.h"

static int add_stream(struct pieces *p, int sum, int a, int b, int sign, int taps, const int *tap, const double *by)
{
    if (p->streams == MOST_STREAMS) return -1;
    struct stream *s = &p->stream[p->streams++];
    *s = (struct stream){.sum = sum, .a = a, .b = b, .sign = sign, .taps = taps};
    for (int k = 0; k < taps; k++) s->tap[k] = tap[k], s->by[k] = by[k];
    return 0;
}

/* A piece of a chain: taps whose numbers are at `at` from the place of the first result, `step` apart. */
static int add_piece(struct pieces *p, int kind, int first, int at, int step, int taps, const int *tap)
{
    static const double one = 1, minus = -1, ones[] = {1, 1}, halves[] = {.5, .5, .5}, changing[] = {.5, -.5, .5};
    const int last = kind == 4 ? 3 : kind - 1, next = at + step, third = at + 2 * step;
    if (kind == 1) return add_stream(p, first, at, at, 0, 1, tap, &one);
    if (taps == 1) return add_stream(p, first, at, at, 0, 1, tap, &one) | add_stream(p, first + last, next, next, 0, 1, tap, kind == 4 ? &minus : &one);
    if (taps == 2)
        return add_stream(p, first, at, next, -1, 1, tap, &one) | add_stream(p, first + 1, next, next, 0, 2, tap, ones) |
               (kind == 4 ? add_stream(p, first + last, next, third, -1, 1, tap + 1, &one) : add_stream(p, first + last, third, next, -1, 1, tap + 1, &one));
    return add_stream(p, first, at, third, -1, 1, tap, &one) | add_stream(p, first + 1, next, third, 1, 3, tap, halves) |
           add_stream(p, first + 2, third, next, -1, 3, tap, changing) | add_stream(p, first + 3, next, third + step, -1, 1, tap + 2, &one);
}

/* A chain, or where there is one result at a time every tap alone. */
static int add_chain(struct pieces *p, int kind, int first, int at, int step, int taps, const int *tap)
{
    int failed = 0;
    for (int n; taps && !failed; taps -= n, tap += n, at += n * step) {
        n = kind == 1 || taps == 1 ? 1 : taps == 2 || taps == 4 || kind < 4 ? 2 : 3;
        failed = add_piece(p, kind, first, at, step, n, tap);
    }
    return failed;
}
static int kind_of(int results, int taps)
{
    return !taps ? 0 : results == 1 ? 1 : taps == 1 ? 2 : taps == 2 || taps == 4 ? 3 : 4;
}

/* Streams in the order of their sums, numbers of the input counted from the first that is read. */
static void put_in_order(struct pieces *p)
{
    struct stream before[MOST_STREAMS];
    int least = INT32_MAX, most = 0, n = 0;
    memcpy(before, p->stream, sizeof before);
    for (int k = 0; k < p->streams; k++) {
        least = before[k].a < least ? before[k].a : least, least = before[k].b < least ? before[k].b : least;
        most = before[k].a > most || !k ? before[k].a : most, most = before[k].b > most ? before[k].b : most;
    }
    for (int sum = 0; sum < p->sums; sum++) {
        p->count[sum] = 0;
        for (int k = 0; k < p->streams; k++)
            if (before[k].sum == sum) {
                p->stream[n] = before[k], p->stream[n].index = p->count[sum]++;
                p->stream[n].a -= least, p->stream[n++].b -= least;
            }
    }
    p->start += least, p->reach = most - least + 1;
    for (int k = 0; k < p->streams; k++)
        for (int t = 0; t < p->stream[k].taps; t++) {
            struct stream *back = &p->back[p->stream[k].tap[t]];
            back->tap[back->taps] = k, back->by[back->taps++] = p->stream[k].by[t];
        }
    p->plain = p->streams == 4 && p->sums == 4 && p->step == 2 && p->reach == 4;
}

static int cut_forward(struct pieces *p, const struct axis *a, int results)
{
    int kind = 1, failed = 0, tap[MOST_SIDE];
    for (size r = 0; r < a->stride && r < a->kernel && results == 2; r++) {
        const int one = kind_of(2, (int)((a->kernel - r - 1) / a->stride) + 1);
        kind = one > kind ? one : kind;
    }
    p->phases = 1, p->sums = kind, p->results = results, p->step = results * a->stride, p->start = -a->pad;
    p->phase[0] = (struct phase){.kind = kind, .place = {0, 1}};
    if (results == 1) {
        for (int k = 0; k < a->kernel; k++) failed |= add_piece(p, 1, 0, (int)(k * a->dilation), 1, 1, &k);
        return failed;
    }
    for (size r = 0; r < a->stride && r < a->kernel; r++) {
        int taps = 0;
        for (size k = r; k < a->kernel; k += a->stride) tap[taps++] = (int)k;
        failed |= add_chain(p, kind, 0, (int)r, (int)a->stride, taps, tap);
    }
    return failed;
}

/* See class_of: the place x (with its padding) is reached from window (x - r) / stride - reach by taps of remainder r. */
static int cut_backward(struct pieces *p, const struct axis *a, int results)
{
    int failed = 0, tap[MOST_SIDE];
    if (a->stride > MOST_PHASES) return -1;
    p->results = results * (int)a->stride, p->step = results;
    for (size r = 0; r < a->stride; r++) {
        const size first = (r - a->pad % a->stride + a->stride) % a->stride, window = (first + a->pad - r) / a->stride;
        int taps = 0;
        for (size k = a->kernel - 1; k >= 0; k--)
            if (k * a->dilation % a->stride == r) tap[taps++] = (int)k;
        const int kind = kind_of(results, taps);
        p->phase[p->phases++] = (struct phase){.kind = kind, .first = p->sums, .place = {(int)first, (int)(first + a->stride)}};
        if (results == 2) failed |= taps ? add_chain(p, kind, p->sums, (int)window - (taps - 1), 1, taps, tap) : 0;
        else
            for (int k = 0; k < taps; k++) failed |= add_piece(p, 1, p->sums, (int)(window - (tap[k] * a->dilation - r) / a->stride), 1, 1, tap + k);
        p->sums += kind;
    }
    return failed;
}

/* The streams of all axes, by sums. */
static int join(struct plan *p)
{
    const struct pieces *z = &p->axis[0], *y = &p->axis[1], *x = &p->axis[2];
    int before = 0;
    p->sums = z->sums * y->sums * x->sums;
    if (p->sums > MOST_SUMS || z->streams * y->streams * x->streams > MOST_SUMS) return -1;
    for (int sum = 0; sum < p->sums; sum++) {
        p->first[sum] = before;
        p->count[sum] = z->count[sum / x->sums / y->sums] * y->count[sum / x->sums % y->sums] * x->count[sum % x->sums];
        before += p->count[sum];
    }
    p->streams = before;
    p->plain = z->sums == 1 && y->phases * x->phases == 1 && y->phase[0].kind == 4 && x->phase[0].kind == 4;
    struct place *place = p->place;
    for (int k = 0; k < z->streams; k++)
        for (int j = 0; j < y->streams; j++)
            for (int i = 0; i < x->streams; i++, place++) {
                place->sum = (z->stream[k].sum * y->sums + y->stream[j].sum) * x->sums + x->stream[i].sum;
                place->index = (z->stream[k].index * y->count[y->stream[j].sum] + y->stream[j].index) * x->count[x->stream[i].sum] + x->stream[i].index;
            }
    return 0;
}

int winograd_plan(struct plan *p, const struct conv *v, int backward)
{
    const size least = tile_columns(v) / 2; /* of filters that a panel is worth being filled up for */
    if (v->groups > 1 || v->kernel == 1 || v->kernel > MOST_TAPS || (backward ? v->channels : v->filters) < least) return -1;
    memset(p, 0, sizeof *p);
    p->taps = (int)v->kernel;
    for (int k = 0; k < AXES; k++) {
        const struct axis *a = &v->axis[k];
        if (a->kernel > MOST_SIDE || a->dilation > 1 << 10 || a->stride > 1 << 10 || a->pad > 1 << 20) return -1;
        p->kernel[k] = (int)a->kernel;
        const int pairs = k && (backward ? a->size > a->stride : a->count > 1) && (a->dilation == 1 || a->kernel == 1);
        if ((backward ? cut_backward : cut_forward)(&p->axis[k], a, 1 + pairs) || !p->axis[k].streams) return -1;
        put_in_order(&p->axis[k]);
    }
    return join(p);
}

/* How gradients of results meet the transformed images in the gradient of the filters: each sum is one stream of them. */
int winograd_spread(struct plan *to, const struct plan *p)
{
    static const struct stream kinds[5][4] = {{{0}}, {{0}}, {{0}, {.a = 1}}, {{0}, {.a = 0, .b = 1, .sign = 1}, {.a = 1}},
                                              {{0}, {.a = 0, .b = 1, .sign = 1}, {.a = 0, .b = 1, .sign = -1}, {.a = 1, .sign = NEGATIVE}}};
    memset(to, 0, sizeof *to);
    for (int k = 0; k < AXES; k++) {
        const struct pieces *from = &p->axis[k];
        struct pieces *t = &to->axis[k];
        t->streams = t->sums = from->sums, t->results = t->reach = from->results, t->step = from->results;
        for (int sum = 0; sum < t->sums; sum++) {
            t->stream[sum] = kinds[from->phase[0].kind][sum], t->stream[sum].sum = sum;
            t->count[sum] = 1;
        }
    }
    return join(to);
}
