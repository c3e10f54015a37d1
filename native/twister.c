/* The Mersenne Twister (Matsumoto and Nishimura, 1998) with what is used here of numpy.random.MT19937, whose import takes as long as
 * half of this package's. */
#include "draws.h"

enum { WORDS = 624, MIDDLE = 397 };

typedef struct {
    PyObject_HEAD
    PyObject *capsule; /* of `bits`, as NumPy's generators have it */
    bitgen_t bits;
    int at; /* of the next word; WORDS: all are used */
    uint32_t words[WORDS];
} Twister;

static void begin(Twister *self, uint32_t seed)
{
    for (int i = 0; i < WORDS; i++) {
        self->words[i] = seed;
        seed = 1812433253u * (seed ^ seed >> 30) + i + 1;
    }
    self->at = WORDS;
}

static inline uint32_t twisted(uint32_t first, uint32_t second)
{
    const uint32_t both = (first & 0x80000000u) | (second & 0x7fffffffu);
    return both >> 1 ^ (-(both & 1) & 0x9908b0dfu);
}

static void next_words(Twister *self)
{
    uint32_t *w = self->words;
    int i = 0;
    for (; i < WORDS - MIDDLE; i++) w[i] = w[i + MIDDLE] ^ twisted(w[i], w[i + 1]);
    for (; i < WORDS - 1; i++) w[i] = w[i + MIDDLE - WORDS] ^ twisted(w[i], w[i + 1]);
    w[WORDS - 1] = w[MIDDLE - 1] ^ twisted(w[WORDS - 1], w[0]);
    self->at = 0;
}

static inline uint32_t tempered(uint32_t word)
{
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

static uint32_t next_word(void *state)
{
    Twister *self = state;
    if (self->at == WORDS) next_words(self);
    return tempered(self->words[self->at++]);
}

void draw_words(bitgen_t *from, uint32_t *to, size n)
{
    if (from->next_uint32 != next_word) {
        for (size i = 0; i < n; i++) to[i] = from->next_uint32(from->state);
        return;
    }
    Twister *self = from->state;
    while (n) {
        if (self->at == WORDS) next_words(self);
        const size some = n < WORDS - self->at ? n : WORDS - self->at;
        for (size i = 0; i < some; i++) to[i] = tempered(self->words[self->at + i]);
        self->at += (int)some, to += some, n -= some;
    }
}

static uint64_t next_raw(void *state) { return next_word(state); }

static uint64_t next_pair(void *state)
{
    const uint64_t high = next_word(state);
    return high << 32 | next_word(state);
}

static double next_double(void *state)
{
    const uint32_t high = next_word(state) >> 5, low = next_word(state) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

/* random_raw(count): the next words, as unsigned integers of 64 bits */
static PyObject *random_raw(PyObject *object, PyObject *argument)
{
    npy_intp count = PyLong_AsSsize_t(argument);
    if (count < 0) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "a negative number of words");
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(1, &count, NPY_UINT64);
    if (!out) return NULL;
    uint64_t *to = PyArray_DATA(out);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(count);
    for (npy_intp i = 0; i < count; i++) to[i] = next_word(object);
    NPY_END_THREADS
    return (PyObject *)out;
}

static PyObject *seed(PyObject *object, PyObject *argument)
{
    const unsigned long value = PyLong_AsUnsignedLongMask(argument);
    if (value == (unsigned long)-1 && PyErr_Occurred()) return NULL;
    begin((Twister *)object, (uint32_t)value);
    Py_RETURN_NONE;
}

static PyObject *get_state(PyObject *object, void *unused)
{
    (void)unused;
    Twister *self = (Twister *)object;
    npy_intp count = WORDS;
    PyObject *key = PyArray_SimpleNew(1, &count, NPY_UINT32);
    if (!key) return NULL;
    memcpy(PyArray_DATA((PyArrayObject *)key), self->words, sizeof self->words);
    return Py_BuildValue("{s:s,s:{s:N,s:i}}", "bit_generator", "MT19937", "state", "key", key, "pos", self->at);
}

static int set_state(PyObject *object, PyObject *value, void *unused)
{
    (void)unused;
    PyObject *state = value ? PyMapping_GetItemString(value, "state") : NULL;
    PyObject *key = state ? PyMapping_GetItemString(state, "key") : NULL, *at = key ? PyMapping_GetItemString(state, "pos") : NULL;
    PyArrayObject *words = at ? (PyArrayObject *)PyArray_FROM_OTF(key, NPY_UINT32, NPY_ARRAY_IN_ARRAY) : NULL;
    const long place = words ? PyLong_AsLong(at) : -1;
    int done = -1;
    if (words && !PyErr_Occurred()) {
        if (PyArray_SIZE(words) != WORDS || place < 0 || place > WORDS) PyErr_SetString(PyExc_ValueError, "no state of a Mersenne Twister");
        else {
            memcpy(((Twister *)object)->words, PyArray_DATA(words), sizeof ((Twister *)object)->words);
            ((Twister *)object)->at = (int)place;
            done = 0;
        }
    } else if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "the state cannot be deleted");
    Py_XDECREF(words), Py_XDECREF(at), Py_XDECREF(key), Py_XDECREF(state);
    return done;
}

static PyObject *get_capsule(PyObject *object, void *unused)
{
    (void)unused;
    return Py_NewRef(((Twister *)object)->capsule);
}

static void dealloc(PyObject *object)
{
    Py_XDECREF(((Twister *)object)->capsule);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef methods[] = {{"random_raw", random_raw, METH_O, NULL}, {"seed", seed, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyGetSetDef fields[] = {{"state", get_state, set_state, NULL, NULL}, {"capsule", get_capsule, NULL, NULL, NULL},
                               {NULL, NULL, NULL, NULL, NULL}};
static PyTypeObject TwisterType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "wengert.arrays._kernels.Twister", .tp_basicsize = sizeof(Twister),
    .tp_flags = Py_TPFLAGS_DEFAULT, .tp_dealloc = dealloc, .tp_methods = methods, .tp_getset = fields,
};

PyObject *twister(PyObject *module, PyObject *argument)
{
    (void)module;
    if (PyType_Ready(&TwisterType) < 0) return NULL;
    Twister *self = PyObject_New(Twister, &TwisterType);
    if (!self) return NULL;
    self->bits = (bitgen_t){.state = self, .next_uint64 = next_pair, .next_uint32 = next_word, .next_double = next_double, .next_raw = next_raw};
    self->capsule = PyCapsule_New(&self->bits, "BitGenerator", NULL);
    PyObject *begun = self->capsule ? seed((PyObject *)self, argument) : NULL;
    if (!begun) Py_CLEAR(self);
    Py_XDECREF(begun);
    return (PyObject *)self;
}
