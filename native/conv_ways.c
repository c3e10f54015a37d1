/* How convolutions are computed: what each way costs, and which one is taken. */
#include "conv.h"

int conv_is_near(const struct conv *v)
{
    return v->source.channels * v->source.plane * v->width <= 5 << 16;
}

int conv_is_flat(const struct conv *v, const struct lattice *l)
{
    return v->source.split == 1 && l->step[1] == v->source.padded[2] && l->step[1] < tiles_of(l->count[2], tile_columns(v)) * tile_columns(v);
}

/* How many windows are computed for one that there is: by tiles, along planes (which fill none if they are small) or rows, or by rows whose
 * last two vectors overlap. */
static double by_tiles(const struct conv *v, const struct lattice *l)
{
    const int flat = conv_is_flat(v, l);
    const size wide = tile_columns(v), lines = flat ? l->count[1] : 1, length = flat ? l->step[1] * (lines - 1) + l->count[2] : l->count[2];
    return (double)(tiles_of(length, wide) * wide) / (double)(l->count[2] * lines);
}
static double by_lines(const struct conv *v, const struct lattice *l)
{
    const size lanes = tile_columns(v) / 2;
    return (double)(tiles_of(l->count[2], lanes) * lanes) / (double)l->count[2];
}
/* Whether the latter takes less time: what tiles compute beside rows has to be left out, for every filter. */
int conv_is_by_lines(const struct conv *v, const struct lattice *l)
{
    if (v->rows < THIN || l->to_step[2] > 1 || l->count[2] < tile_columns(v) / 2) return 0;
    return by_lines(v, l) < by_tiles(v, l) + 20 / (double)(l->depth + 1);
}

/* Cycles for a panel of windows and a tap, of reading windows where they lie or of packing them: one for each row of the tiles, more
 * where the sums do not stay in registers; some for every move of a vector; and a tap's share of what it takes to put results where they
 * belong, one by one where they lie in steps, to list where a panel's windows lie, and to split images up. Rows of filters beyond the first find the windows less and less in
 * the first cache. Filters of one tap read another plane for each, which packing asks for ahead of time where the second cache does not
 * have the image. Constants: measured. */
double conv_cost_of(const struct conv *v, int in_place)
{
    const struct lattice *l = v->lattice;
    const double wide = (double)tile_columns(v), row = (double)l->count[2], taps = l->depth ? (double)l->depth : 1;
    const double high = (double)kernels->gemm_rows, tiles = (double)tiles_of(v->rows, kernels->gemm_rows);
    const double product = v->rows <= high / 2 ? high / 2 : tiles * high, spread = are_narrow() && l->to_step[2] > 1 ? 1.6 * wide * (double)v->rows / taps : 0;
    const double few = v->rows < THIN ? (are_narrow() ? 2.2 : 1) * (double)v->rows : are_narrow() && v->rows <= high / 2 ? 4.6 : product; /* wait for their sums */
    const int lines = conv_is_by_lines(v, l);
    const double computed = lines ? by_lines(v, l) : by_tiles(v, l), runs = wide / row + 1 > 2 ? wide / row + 1 : 2;
    const double split = v->source.split > 1 ? 0.4 * (double)(v->source.channels * v->source.plane) * wide / (taps * (double)v->results) : 0;
    const int near = are_narrow() && conv_is_near(v);
    /* Planes a multiple of what a way of the first cache holds apart push each other out of it, for every tile of filters again. */
    const int collides = are_narrow() && v->kernel == 1 && v->source.plane * v->width % 4096 == 0 && v->channels >= 8;
    const double pushed = collides ? few * (tiles < 10 ? 0.07 * tiles : 0.7) : 0;
    const double waits = are_narrow() && v->rows >= THIN && !near ? 6 / (double)v->kernel : 0, far = lines ? 0.006 : near && v->kernel == 1 ? 0.002 : 0.01;
    if (!in_place) return split + spread + product * (taps > CONV_WHOLE ? 1.08 : 1) + 1 + 1.3 * runs + 200 / taps;
    return split + spread + waits + pushed + computed * (v->rows < THIN ? few : few * (1 + far * tiles)) + (row < 2 * wide && !lines ? 5 * runs * v->rows / taps : 0);
}
double conv_cost(const struct conv *v)
{
    const double packed = conv_cost_of(v, 0), in_place = conv_cost_of(v, 1);
    return packed < in_place ? packed : in_place;
}

/* ---- which way ---- */

static const char *const WAY_NAMES[WAYS] = {"product", "depthwise", "winograd", "broad", "columns", "folded", "in place", "packed", "dots", "tiles"};

/* The last convolution of a thread. */
static _Thread_local struct chosen {
    int only; /* the one way that a test lets it go, plus 1; 0: any */
    enum way way;
    double cycles[WAYS], others[WAYS]; /* of ways that were weighed, else 0 */
} chosen;

int conv_pays(enum way way, double cycles, double others)
{
    chosen.cycles[way] = cycles, chosen.others[way] = others;
    return chosen.only ? chosen.only == (int)way + 1 : cycles < others;
}
int conv_took(enum way way, int done)
{
    if (done) chosen.way = way;
    return done;
}
void conv_forget(void)
{
    chosen = (struct chosen){.only = chosen.only};
}

/* conv_chosen(): the way of this thread's last convolution, and for each way that was weighed its cycles and those of the others, in
 * a unit of its own. */
PyObject *conv_chosen(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args;
    if (count) return PyErr_Format(PyExc_TypeError, "expected no arguments");
    PyObject *weighed = PyDict_New();
    for (int k = 0; weighed && k < WAYS; k++) {
        PyObject *pair = chosen.others[k] > 0 ? Py_BuildValue("dd", chosen.cycles[k], chosen.others[k]) : NULL;
        if (pair && PyDict_SetItemString(weighed, WAY_NAMES[k], pair) < 0) PyErr_Clear();
        Py_XDECREF(pair);
    }
    return weighed ? Py_BuildValue("sN", WAY_NAMES[chosen.way], weighed) : NULL;
}

/* conv_only(name | None): convolutions of this thread go this way wherever they can, for measurements. */
PyObject *conv_only(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 1) return PyErr_Format(PyExc_TypeError, "expected 1 argument");
    int only = args[0] == Py_None ? 0 : -1;
    for (int k = 0; k < WAYS && only < 0; k++)
        if (PyUnicode_Check(args[0]) && !PyUnicode_CompareWithASCIIString(args[0], WAY_NAMES[k])) only = k + 1;
    if (only < 0) return PyErr_Format(PyExc_ValueError, "no way to compute convolutions: %R", args[0]);
    chosen.only = only;
    Py_RETURN_NONE;
}

