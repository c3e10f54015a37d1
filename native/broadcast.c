/* Running a loop over operands of any strides that broadcast, with threads; short rows many at a time. */
#include "fast.h"

#include "pool.h"
#include "stream.h"

enum {
    BLOCK = 4096,     /* bytes of a buffer in which rows are brought together */
    SHORT = 1024,     /* bytes of a row that is short */
    FEW = 4,          /* rows that are worth it */
    WHOLE = 12,       /* numbers of a row that is worth a loop of its own */
};

/* Below this many bytes of result the GIL is kept. */
static const size WORTH_RELEASING = 1 << 15;

/* ---- where operands lie ---- */

void fast_extent(PyArrayObject *a, const char **begin, const char **end)
{
    const char *low = PyArray_BYTES(a), *high = low;
    *begin = *end = low;
    for (int axis = 0; axis < PyArray_NDIM(a); axis++) {
        const npy_intp length = PyArray_DIM(a, axis), far = (length - 1) * PyArray_STRIDE(a, axis);
        if (!length) return;
        if (far > 0) high += far;
        else low += far;
    }
    *begin = low, *end = high + PyArray_ITEMSIZE(a);
}

/* Whether axis `a` goes outside of axis `b`: NumPy's rule, by the strides of all operands that move along both; where they contradict
 * each other, or say nothing (`*known` is 0), the order of C stays. */
static int goes_inside(const struct fast_job *job, int operands, int outer, int inner, int *known)
{
    int swap = 0;
    *known = 0;
    for (int k = 0; k < operands; k++) {
        const npy_intp out = job->strides[k][outer], in = job->strides[k][inner];
        if (!out || !in) continue;
        if (in <= out) swap = 0;
        else if (!*known) swap = 1;
        *known = 1;
    }
    return swap;
}

/* The axes from the outermost to the innermost in memory; 0 if that is the order of C. */
static int order_axes(const struct fast_job *job, int operands, struct layout *layout)
{
    int *order = layout->order, changed = 0;
    const int ndim = layout->ndim;
    for (int axis = ndim - 1; axis >= 0; axis--) {
        int place = axis + 1, known; /* order[axis + 1 ..] is in order; this axis goes before order[place] */
        for (int next = axis + 1; next < ndim; next++) {
            const int swap = goes_inside(job, operands, axis, order[next], &known);
            if (known && !swap) break;
            if (swap) place = next + 1;
        }
        for (int k = axis; k < place - 1; k++) order[k] = order[k + 1];
        order[place - 1] = axis;
        changed |= place != axis + 1;
    }
    return changed;
}

static void reorder(npy_intp *of, const struct layout *layout)
{
    npy_intp old[MAX_AXES];
    memcpy(old, of, layout->ndim * sizeof *of);
    for (int axis = 0; axis < layout->ndim; axis++) of[axis] = old[layout->order[axis]];
}

int fast_lay_out(struct fast_job *job, struct layout *layout, PyObject *const *args, int inputs, PyArrayObject *target)
{
    int ndim = target ? PyArray_NDIM(target) : 0, ordered = 1;
    for (int k = 0; k < inputs; k++)
        if (PyArray_CheckExact(args[k]) && PyArray_NDIM((PyArrayObject *)args[k]) > ndim) ndim = PyArray_NDIM((PyArrayObject *)args[k]);
    if (ndim > MAX_AXES || (target && PyArray_NDIM(target) != ndim)) return -1;
    layout->ndim = ndim;
    for (int axis = 0; axis < ndim; axis++) layout->shape[axis] = 1, layout->order[axis] = axis;
    for (int k = 0; k < inputs + !!target; k++) {
        PyArrayObject *x = k < inputs ? (PyArrayObject *)args[k] : target;
        const int is_array = k == inputs || PyArray_CheckExact(args[k]), before = is_array ? ndim - PyArray_NDIM(x) : ndim;
        for (int axis = 0; axis < ndim; axis++) {
            const npy_intp length = axis < before ? 1 : PyArray_DIM(x, axis - before);
            job->strides[k][axis] = length == 1 ? 0 : PyArray_STRIDE(x, axis - before);
            if (job->strides[k][axis] < 0) return -1;
            if (k == inputs ? length != layout->shape[axis] : length != 1 && layout->shape[axis] != 1 && length != layout->shape[axis]) return -1;
            if (length != 1) layout->shape[axis] = length;
        }
        if (is_array && !PyArray_IS_C_CONTIGUOUS(x)) ordered = 0;
    }
    if (ordered || !order_axes(job, inputs + !!target, layout)) return 0;
    for (int k = 0; k < inputs + !!target; k++) reorder(job->strides[k], layout);
    reorder(layout->shape, layout);
    return 0;
}

PyArrayObject *fast_result(struct fast_job *job, const struct layout *layout, int type)
{
    npy_intp shape[MAX_AXES], strides[MAX_AXES];
    int in_order = 1;
    for (int axis = 0; axis < layout->ndim; axis++) shape[layout->order[axis]] = layout->shape[axis], in_order &= layout->order[axis] == axis;
    PyArray_Descr *descriptor = PyArray_DescrFromType(type);
    if (!descriptor) return NULL;
    npy_intp step = PyDataType_ELSIZE(descriptor);
    for (int axis = layout->ndim - 1; axis >= 0; axis--) {
        strides[layout->order[axis]] = step;
        job->strides[job->operands - 1][axis] = layout->shape[axis] == 1 ? 0 : step;
        step *= layout->shape[axis];
    }
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descriptor, layout->ndim, shape, in_order ? NULL : strides, NULL, 0, NULL);
}

void fast_join_axes(struct fast_job *job, int ndim, const npy_intp *shape)
{
    int axes = 0;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] == 1) continue;
        int joins = axes > 0;
        for (int k = 0; joins && k < job->operands; k++)
            joins = job->strides[k][axes - 1] == job->strides[k][axis] * shape[axis];
        if (!joins) job->shape[axes++] = 1;
        job->shape[axes - 1] *= shape[axis];
        for (int k = 0; k < job->operands; k++) job->strides[k][axes - 1] = job->strides[k][axis];
    }
    if (!axes) {
        job->shape[axes++] = 1;
        for (int k = 0; k < job->operands; k++) job->strides[k][0] = 0;
    }
    job->axes = axes;
}

/* ---- short rows ---- */

/* What stands for an operand while blocks of rows are gone through: rows of one group, which is the axis before, or groups of rows
 * that are few. */
struct blocks {
    const struct fast_job *job;
    size most, most_groups;          /* rows of a block, or groups */
    int grouped;                     /* which of the two the buffers hold */
    const char *held[MAX_OPERANDS];  /* of which place the buffer holds the rows, where they are all the same */
    _Alignas(64) char buffer[MAX_OPERANDS][BLOCK + GATHER_CHUNK];
};

static int are_short(const struct fast_job *job)
{
    const int inner = job->axes - 1;
    if (job->axes < 2 || (job->shape[inner - 1] < FEW && (job->axes < 3 || job->shape[inner - 2] < FEW))) return 0;
    for (int k = 0; k < job->operands; k++) {
        const npy_intp width = job->width[k];
        if (width * job->shape[inner] > SHORT || (width != 1 && width != 2 && width != 4 && width != 8)) return 0;
    }
    return 1;
}

/* What lies at `from` to the buffer of operand k. */
static void bring_together(struct blocks *b, int k, const char *from, size groups, size rows)
{
    const struct fast_job *job = b->job;
    const int inner = job->axes - 1;
    const npy_intp n = job->shape[inner], width = job->width[k], step = job->strides[k][inner], row_step = job->strides[k][inner - 1];
    const npy_intp far = b->grouped ? job->strides[k][inner - 2] : 0;
    const char *end = from + (groups - 1) * far + (rows - 1) * row_step + (n - 1) * step + width;
    for (size g = 0; g < groups; g++)
        kernels->gather(b->buffer[k] + g * rows * n * width, from + g * far, end, width, n, step, rows, row_step);
}

/* The loop over `groups` times `rows` rows at `data` by one call. */
static void run_block(struct blocks *b, char *const *data, size groups, size rows)
{
    const struct fast_job *job = b->job;
    const int inner = job->axes - 1, last = job->operands - 1;
    const npy_intp n = job->shape[inner];
    npy_intp steps[MAX_OPERANDS], count = groups * rows * n;
    char *here[MAX_OPERANDS];
    int straight = 1;
    for (int k = 0; k < job->operands; k++) {
        const npy_intp width = job->width[k], step = job->strides[k][inner], row_step = job->strides[k][inner - 1];
        const npy_intp far = b->grouped ? job->strides[k][inner - 2] : rows * row_step;
        here[k] = data[k], steps[k] = width;
        if (step == width && row_step == n * width && far == rows * row_step) continue;
        if (!step && !row_step && !far && k < last && job->loop->rows != ROWS_WANTED) {
            steps[k] = 0;
            continue;
        }
        here[k] = b->buffer[k];
        if (k == last) straight = 0;
        else if (b->grouped ? far : row_step) bring_together(b, k, data[k], groups, rows);
        else if (b->held[k] != data[k]) {
            bring_together(b, k, data[k], b->grouped ? b->most_groups : 1, b->grouped ? rows : b->most);
            b->held[k] = data[k];
        }
    }
    job->loop->function(here, &count, steps, job->loop->data);
    const npy_intp width = job->width[last], far = b->grouped ? job->strides[last][inner - 2] : 0;
    for (size g = 0; g < groups && !straight; g++)
        kernels->scatter(data[last] + g * far, job->strides[last][inner], job->strides[last][inner - 1], b->buffer[last] + g * rows * n * width,
                         width, n, width, rows, n * width);
}

/* How many rows there are, up to `most`, from row `item` to `end` along the axis before the last; and where they begin. */
static size rows_from(const struct fast_job *job, size item, size end, size most, char **data)
{
    const int along = job->axes - 2;
    size rest = item, rows = job->shape[along] - item % job->shape[along];
    for (int k = 0; k < job->operands; k++) data[k] = job->data[k];
    for (int axis = along; axis >= 0; axis--) {
        for (int k = 0; k < job->operands; k++) data[k] += rest % job->shape[axis] * job->strides[k][axis];
        rest /= job->shape[axis];
    }
    if (rows > most) rows = most;
    return rows > end - item ? end - item : rows;
}

/* Rows `begin` to `end`, by blocks. */
static void run_blocks(const struct fast_job *job, size begin, size end)
{
    const int inner = job->axes - 1;
    struct blocks b;
    npy_intp widest = 1;
    char *data[MAX_OPERANDS];
    b.job = job, b.grouped = 0;
    for (int k = 0; k < job->operands; k++) {
        b.held[k] = NULL;
        if (job->width[k] > widest) widest = job->width[k];
    }
    const size all = job->shape[inner - 1], block = BLOCK / (widest * job->shape[inner]);
    b.most = block < all ? block : all, b.most_groups = job->axes > 2 ? block / all : 0;
    for (size item = begin, rows, groups; item < end; item += groups * rows) {
        rows = rows_from(job, item, end, b.most, data), groups = 1;
        if (b.most_groups > 1 && rows == all) {
            const size left = job->shape[inner - 2] - item / all % job->shape[inner - 2], full = (end - item) / all;
            groups = left < full ? left : full;
            if (groups > b.most_groups) groups = b.most_groups;
        }
        if (b.grouped != (groups > 1)) {
            b.grouped = !b.grouped;
            for (int k = 0; k < job->operands; k++) b.held[k] = NULL;
        }
        run_block(&b, data, groups, rows);
    }
}

/* ---- results that go past the caches ---- */

/* Whether all operands together are more than the caches hold, the result is dense, and none of what is read. */
static int is_streamed(const struct fast_job *job, size total)
{
    const int inner = job->axes - 1, last = job->operands - 1;
    size bytes = total * job->width[last];
    if (job->strides[last][inner] != job->width[last] || job->axes > 2 ||
        (inner && job->strides[last][0] != job->shape[1] * job->width[last]) || stream_head(job->data[last], job->width[last]) < 0)
        return 0;
    for (int k = 0; k < last; k++) {
        if (job->data[k] == job->data[last]) return 0;
        if (job->strides[k][0] && job->strides[k][inner]) bytes += total * job->width[k];
    }
    return stream_worth(bytes);
}

/* `n` elements of one axis. */
static void run_streamed(const struct fast_job *job, char *const *data, size n)
{
    const int inner = job->axes - 1, last = job->operands - 1;
    const npy_intp width = job->width[last];
    _Alignas(STREAM_LINE) char buffer[STREAM_BLOCK];
    npy_intp steps[MAX_OPERANDS], count = stream_head(data[last], width);
    char *here[MAX_OPERANDS];
    for (int k = 0; k <= last; k++) steps[k] = job->strides[k][inner];
    if (!count) count = STREAM_BLOCK / width;
    for (size at = 0; at < n; at += count, count = STREAM_BLOCK / width) {
        if (count > n - at) count = n - at;
        char *const to = data[last] + at * width;
        for (int k = 0; k < last; k++) here[k] = data[k] + at * steps[k];
        here[last] = buffer;
        npy_intp many = count;
        job->loop->function(here, &many, steps, job->loop->data);
        if ((uintptr_t)to % STREAM_LINE) memcpy(to, buffer, count * width);
        else stream_out(to, buffer, count * width);
    }
    stream_end();
}

/* ---- long rows of what loops take longer for than for a row without gaps ---- */

/* Every second to fourth number, or the same one, where the loop wants a row. */
static int is_gathered(const struct fast_job *job, int operand)
{
    const npy_intp step = job->strides[operand][job->axes - 1], width = job->width[operand];
    if (width > 8) return 0; /* more than kernels->gather takes */
    return step ? step > width && step <= 4 * width && step % width == 0 : job->loop->rows == ROWS_WANTED;
}

static int are_gathered(const struct fast_job *job)
{
    const int last = job->operands - 1;
    int found = 0;
    if (job->shape[job->axes - 1] < WHOLE) return 0;
    for (int k = 0; k < last; k++) found |= is_gathered(job, k);
    return found;
}

/* `n` elements of one axis, such operands brought together first. */
static void run_gathered(const struct fast_job *job, char *const *data, size n)
{
    const int inner = job->axes - 1, last = job->operands - 1;
    _Alignas(64) char buffer[MAX_OPERANDS - 1][BLOCK + GATHER_CHUNK];
    const size most = BLOCK / 8;
    for (size at = 0; at < n; at += most) {
        npy_intp steps[MAX_OPERANDS], count = n - at < most ? n - at : most;
        char *here[MAX_OPERANDS];
        for (int k = 0; k <= last; k++) {
            const npy_intp step = steps[k] = job->strides[k][inner];
            here[k] = data[k] + at * step;
            if (k == last || !is_gathered(job, k)) continue;
            if (step || !at) kernels->gather(buffer[k], here[k], NULL, job->width[k], count, step, 1, 0);
            steps[k] = job->width[k], here[k] = buffer[k];
        }
        job->loop->function(here, &count, steps, job->loop->data);
    }
}

/* ---- rows of arithmetic: one call for all of them ---- */

static int are_rows(const struct fast_job *job)
{
    const int inner = job->axes - 1;
    if (!job->loop->rows || job->loop->rows == ROWS_WANTED || job->axes < 2 || job->shape[inner] < WHOLE || job->shape[inner - 1] < FEW) return 0;
    if (job->strides[2][inner] != job->width[2] || (!job->strides[0][inner] && !job->strides[1][inner])) return 0;
    for (int k = 0; k < 3; k++) {
        if (job->strides[k][inner] && job->strides[k][inner] != job->width[k]) return 0;
        if (job->strides[k][inner - 1] % job->width[k]) return 0;
    }
    return 1;
}

static void run_rows(const struct fast_job *job, char *const *data, size rows)
{
    const int inner = job->axes - 1;
    if (job->streamed) {
        for (size r = 0; r < rows; r++) {
            char *here[3];
            for (int k = 0; k < 3; k++) here[k] = data[k] + r * job->strides[k][inner - 1];
            run_streamed(job, here, job->shape[inner]);
        }
        return;
    }
    const size n = job->shape[inner];
    size step[3], row[3];
    for (int k = 0; k < 3; k++) step[k] = job->strides[k][inner] != 0, row[k] = job->strides[k][inner - 1] / job->width[k];
#define RUN(REAL, SUFFIX)                                                                                              \
    kernels->broadcast_rows_##SUFFIX(job->loop->rows, (REAL *)data[2], row[2], (const REAL *)data[0], row[0], step[0], \
                                     (const REAL *)data[1], row[1], step[1], rows, n)
    if (job->width[2] == sizeof(float)) RUN(float, f32);
    else RUN(double, f64);
#undef RUN
}

/* ---- running ---- */

static void fast_task(void *context, size begin, size end, int chunk)
{
    const struct fast_job *job = context;
    const int inner = job->axes - 1;
    npy_intp steps[MAX_OPERANDS], place[MAX_AXES] = {0}, count = job->shape[inner];
    char *data[MAX_OPERANDS];
    (void)chunk;
    if (are_rows(job)) {
        for (size item = begin, rows; item < end; item += rows) {
            rows = rows_from(job, item, end, end, data);
            run_rows(job, data, rows);
        }
        return;
    }
    if (are_short(job)) {
        run_blocks(job, begin, end);
        return;
    }
    for (int k = 0; k < job->operands; k++) data[k] = job->data[k], steps[k] = job->strides[k][inner];
    const int gathered = are_gathered(job);
    if (job->split_inner) {
        count = end - begin;
        for (int k = 0; k < job->operands; k++) data[k] += begin * steps[k];
        if (job->streamed) run_streamed(job, data, count);
        else if (gathered) run_gathered(job, data, count);
        else job->loop->function(data, &count, steps, job->loop->data);
        return;
    }
    size rest = begin;
    for (int axis = inner - 1; axis >= 0; axis--) {
        place[axis] = rest % job->shape[axis], rest /= job->shape[axis];
        for (int k = 0; k < job->operands; k++) data[k] += place[axis] * job->strides[k][axis];
    }
    for (size item = begin; item < end; item++) {
        char *here[MAX_OPERANDS];
        memcpy(here, data, sizeof here); /* loops may change the pointers they are given */
        if (gathered) run_gathered(job, here, count);
        else job->loop->function(here, &count, steps, job->loop->data);
        for (int axis = inner - 1; axis >= 0; axis--) {
            for (int k = 0; k < job->operands; k++) data[k] += job->strides[k][axis];
            if (++place[axis] < job->shape[axis]) break;
            for (int k = 0; k < job->operands; k++) data[k] -= job->shape[axis] * job->strides[k][axis];
            place[axis] = 0;
        }
    }
}

void fast_run(struct fast_job *job, double cost, size total, size bytes)
{
    const size outer = total / (job->shape[job->axes - 1] ? job->shape[job->axes - 1] : 1);
    job->split_inner = job->axes == 1, job->streamed = 0;
    if (!total) return;
    if (bytes < WORTH_RELEASING) {
        fast_task(job, 0, job->split_inner ? total : outer, 0);
        return;
    }
    job->streamed = is_streamed(job, total);
    int chunks = pool_chunks(total, cost);
    if (!job->split_inner && chunks > outer) chunks = (int)outer;
    Py_BEGIN_ALLOW_THREADS
    pool_run(fast_task, job, job->split_inner ? total : outer, chunks);
    Py_END_ALLOW_THREADS
}

/* ---- copies ---- */

/* Whether rows are written a little way on from where they are read, by the last twelve bits of the addresses: what is read then seems to
 * be what was just written, and memcpy takes up to ten times as long as by lines. */
static int follows_closely(const struct fast_job *job, const char *to, const char *from, int along)
{
    const uintptr_t ahead = ((uintptr_t)to - (uintptr_t)from) & 4095;
    const npy_intp apart = job->strides[1][along] - job->strides[0][along];
    return ahead > 0 && ahead < 32 && apart % 4096 == 0 && job->shape[along + 1] * job->width[0] >= 512 &&
           job->strides[0][along + 1] == job->width[0] && job->strides[1][along + 1] == job->width[0];
}
static void copy_by_lines(char *to, const char *from, size bytes)
{
    struct line { char bytes[64]; } line;
    size at = 0;
    for (; at + (size)sizeof line <= bytes; at += sizeof line) {
        memcpy(&line, from + at, sizeof line);
        memcpy(to + at, &line, sizeof line);
    }
    memcpy(to + at, from + at, bytes - at);
}

static void copy_task(void *context, size begin, size end, int chunk)
{
    const struct fast_job *job = context;
    const int inner = job->axes - 1, along = inner - 1;
    const size n = job->shape[inner];
    (void)chunk;
    if (along < 0) {
        const char *from = job->data[0] + begin * job->strides[0][0];
        if (job->streamed) {
            stream_copy(job->data[1] + begin * job->width[0], from, (end - begin) * job->width[0]);
            stream_end();
            return;
        }
        kernels->scatter(job->data[1] + begin * job->strides[1][0], job->strides[1][0], 0, from, job->width[0], end - begin, job->strides[0][0], 1, 0);
        return;
    }
    for (size item = begin; item < end;) {
        size rest = item, rows = job->shape[along] - item % job->shape[along];
        char *from = job->data[0], *to = job->data[1];
        for (int axis = along; axis >= 0; axis--) {
            from += rest % job->shape[axis] * job->strides[0][axis], to += rest % job->shape[axis] * job->strides[1][axis];
            rest /= job->shape[axis];
        }
        if (rows > end - item) rows = end - item;
        if (job->streamed)
            for (size r = 0; r < rows; r++) stream_copy(to + r * job->strides[1][along], from + r * job->strides[0][along], n * job->width[0]);
        else if (follows_closely(job, to, from, along))
            for (size r = 0; r < rows; r++) copy_by_lines(to + r * job->strides[1][along], from + r * job->strides[0][along], n * job->width[0]);
        else kernels->scatter(to, job->strides[1][inner], job->strides[1][along], from, job->width[0], n, job->strides[0][inner], rows, job->strides[0][along]);
        item += rows;
    }
    if (job->streamed) stream_end();
}

void fast_copy(PyArrayObject *x, char *to, const npy_intp *strides)
{
    const int ndim = PyArray_NDIM(x);
    const size total = PyArray_SIZE(x);
    struct fast_job job = {.operands = 2, .data = {PyArray_BYTES(x), to}, .width = {PyArray_ITEMSIZE(x), PyArray_ITEMSIZE(x)}};
    if (!total) return;
    npy_intp shape[NPY_MAXDIMS];
    int order[NPY_MAXDIMS]; /* the steps of what is written become smaller */
    for (int axis = 0; axis < ndim; axis++) {
        int at = axis;
        for (; at > 0 && PyArray_DIM(x, axis) > 1; at--) {
            const int before = order[at - 1];
            if (PyArray_DIM(x, before) > 1 && llabs(strides[before]) >= llabs(strides[axis])) break;
            order[at] = before;
        }
        order[at] = axis;
    }
    for (int k = 0; k < ndim; k++) {
        shape[k] = PyArray_DIM(x, order[k]);
        job.strides[0][k] = PyArray_STRIDE(x, order[k]), job.strides[1][k] = strides[order[k]];
    }
    fast_join_axes(&job, ndim, shape);
    const size items = job.axes == 1 ? total : total / job.shape[job.axes - 1];
    const int inner = job.axes - 1; /* dense rows of some lines */
    job.streamed = job.strides[0][inner] == job.width[0] && job.strides[1][inner] == job.width[0] &&
                   job.shape[inner] * job.width[0] >= BLOCK / 4 && stream_worth(2 * total * job.width[0]);
    for (int axis = 0; axis < inner; axis++) job.streamed &= job.strides[0][axis] != 0; /* what is read again stays */
    if (PyArray_NBYTES(x) < WORTH_RELEASING) {
        copy_task(&job, 0, items, 0);
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    pool_run(copy_task, &job, items, pool_chunks(items, 0.2 * total / items));
    Py_END_ALLOW_THREADS
}
