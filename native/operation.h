/* What the files of the native call of an operator share: the operation, its call, tensors and what is known of their classes. */
#ifndef WENGERT_OPERATION_H
#define WENGERT_OPERATION_H

#include "node.h"

enum { MAX_PARAMS = 16, MAX_SAVED = 16 };
enum { TENSOR = 't', OPTIONAL = 'o', LIST = 'l', DTYPE = 'd', FLAG = 'b', OTHER = 'x' }; /* kinds of parameters */
enum { FROM_PARAM = 'p', FROM_OUTPUT = 'r', FROM_AUX = 'a', SHAPE_OF = 's' };           /* sources of what is saved */
enum { RULES_TAKE_FIRST = 1 << MAX_PARAMS }; /* in `numbers`: a Python number that comes first may stay as it is */
enum { HOLES = 'h' }; /* a list in which elements may be None; a LIST with a bit in `holes` */
enum { NO_PROMOTION = 'n', ELEMENTWISE = 'e', TO_FLOAT = 'f' };
enum { NO_TRUTHS = 2 }; /* of `mixes` */
enum { NO_VIEW = 'n', ALWAYS_VIEW = 'v', PERHAPS_VIEW = 'p', IN_ROWS = 'r', IN_ORDER = 'e' }; /* the last two: no view, and row by
 row in memory, or as its operands */

/* bits of `halves`: the forward in float32; the kernel as they are; no complex numbers */
enum { IN_FLOAT32 = 1, KERNEL_TAKES = 2, REAL = 4 };

enum { TO_COPY = 1, TO_FILL, TO_ZERO }; /* copy_, fill_, zero_ */
enum { BY_COPY = 1, BY_KERNEL = 2 }; /* how an in-place form writes; the kernel takes the memory as its last argument */

typedef struct {
    unsigned char source, index;
    unsigned int users; /* bits over wrt: whose gradient needs it */
} Saved;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *op, *name, *forward, *kernel, *keywords, *node, *result_type, *defaults;
    PyObject *numbered; /* None, or a kernel of all arguments: tensors, and numbers after them */
    PyObject *numbers_of; /* NULL, or a function that makes its numbers of those of the operator: a tuple, or None where the forward has to say it */
    PyObject *others; /* None, or for each parameter the class of the node where it is no tensor */
    int params, floats, wrt, saved, consts, outputs, live, aux; /* outputs: 0 where the forward gives any number */
    char promote, view, sets; /* `sets`: 0, or which of those in-place forms it is that set all elements to something */
    int numbers; /* bit i: parameter i may be a Python number */
    int holes;   /* bit i: parameter i is a list in which elements may be None */
    int mixes;   /* the tensors that decide the type are those that are brought to it; NO_TRUTHS: only where none is of truth values */
    int halves;  /* how numbers of 16 bits are computed: bits, or 0 for as all others */
    PyObject *(*early)(PyArrayObject *, PyObject *const *); /* a forward of the everyday case, which is asked first, or NULL */
    PyObject *(*row)(PyObject *const *);                              /* the same, of a list of arrays of one type */
    int writes;  /* 0, or the in-place form: the result goes into the first argument's memory */
    char kind[MAX_PARAMS];
    unsigned char float_at[MAX_PARAMS], wrt_at[MAX_PARAMS], live_at[MAX_PARAMS];
    Saved save[MAX_SAVED], constant[MAX_SAVED];
} Operation;

/* Classes registered from Python, and the offsets of the slots in their objects: tape.c. */
struct classes {
    PyObject *tensor, *plain, *dtype, *meta_class, *view_class, *unset, *modes, *record, *silent, *inference, *uncounted, *sequence, *leaf_row, *edge_of, *unversioned, *accumulate,
        *in_order_of, *flags, *ignored, *rebase, *cast,
        *native_calls, *default_float;
    PyObject *conjugating; /* a dict: what the method of this name gave */
    PyObject *false_, *zero, *one, *cast_name, *no_grad, *in_inference, *multi, *outputs, *np;
    PyObject *made; /* NULL, or called for every new node */
    PyArray_Descr *f32, *f64, *c64, *c128;
    Py_ssize_t data, edge, meta, vc;                              /* of a tensor */
    Py_ssize_t base, creation, last, version, window;             /* of a view */
    Py_ssize_t variable;                                          /* of an accumulator */
    Py_ssize_t grad, quick, passes, grad_scope;                       /* of the modes */
    Py_ssize_t requires_grad, accumulator, meta_view, meta_hooks, grad_dtype, retained; /* of a tensor's meta */
    PyObject **meta_defaults;                                     /* pairs: offset as an int, value */
};
#ifdef __GNUC__
__attribute__((visibility("hidden"))) /* one instruction reaches it, as if it were in each file */
#endif
extern struct classes at;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

static inline void put(PyObject *object, Py_ssize_t offset, PyObject *owned)
{
    PyObject *old = SLOT(object, offset);
    SLOT(object, offset) = owned;
    Py_XDECREF(old);
}

/* object.__new__(type) */
static inline PyObject *new_instance(PyObject *type)
{
#if PY_VERSION_HEX < 0x030C0000
    /* Without a table of attribute values, which few tensors and nodes need: Python makes a dictionary at the first use. */
    return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
#else
    static PyObject *empty = NULL;
    if (!empty && !(empty = PyTuple_New(0))) return NULL;
    return PyBaseObject_Type.tp_new((PyTypeObject *)type, empty, NULL);
#endif
}

static inline int is_plain(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    return type == at.tensor || (PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)at.tensor) && PySet_Contains(at.plain, type) == 1);
}

/* A plain tensor, and one with an array. */
static inline int is_whole(PyObject *object)
{
    return is_plain(object) && SLOT(object, at.data) && SLOT(object, at.vc) && SLOT(object, at.meta) && SLOT(object, at.edge);
}

static inline int has_array(PyObject *object) { return is_whole(object) && PyArray_CheckExact(SLOT(object, at.data)); }

static inline int is_counted(PyObject *object) { return PyList_CheckExact(SLOT(object, at.vc)) && PyList_GET_SIZE(SLOT(object, at.vc)) >= 1; }

/* One with an ordinary version counter. */
static inline int is_usable(PyObject *object) { return has_array(object) && is_counted(object); }

/* One that may be read in inference mode, or outside of it. */
static inline int is_readable(PyObject *object, int inference)
{
    return is_usable(object) || (inference && has_array(object) && SLOT(object, at.vc) == at.uncounted);
}

/* A lazy conjugate: the class of what `is_lazy` holds for; the memory of one, or the array itself; its numbers as an array of their own,
 * NULL where they are Python's to compute; and the view of an array that it is. lazy.c */
int is_lazy(PyObject *array);
PyArrayObject *memory_behind(PyObject *array);
PyObject *lazy_numbers(PyObject *array);
PyObject *conjugated_view(PyArrayObject *a, PyObject *const *args);

/* One call. */
struct call {
    PyObject *const *args;
    PyObject *raw[MAX_PARAMS]; /* what the forward is given; owned where the argument is a tensor, or a list of them */
    char owned[MAX_PARAMS];
    PyObject *types[MAX_PARAMS]; /* NumPy's dtype where ours was given; owned */
    PyObject *boxed;         /* the array of a number among them, or NULL */
    PyObject *results, *aux; /* a tuple of tensors; the forward's answer */
    int lists, kept; /* kept: raw[0] is a copy of what is about to be overwritten */
    int conjugates;  /* the numbers are complex */
    int inference;
};

/* Where a gradient goes: NULL for nowhere. */
typedef struct {
    PyObject *node; /* owned */
    long output;
} Edge;

/* A plain tensor around an array; takes the reference. `grad_scope`: NULL, or the scope of the derivative in whose function it is made:
 * its version counter refers to it. `inference`: it is an inference tensor. tape.c */
PyObject *tensor_of(PyObject *array, PyObject *grad_scope, int inference);

/* Where the slot `name` lies in objects of `type`; -1 with an error if it is none. tape.c */
Py_ssize_t slot_of(PyObject *type, const char *name);

/* A forward's answer as an array; takes the reference. operation.c */
PyObject *array_of(PyObject *value);

/* Where the gradient of a tensor goes, and a node on the tape where some input asks for one; -1 on error. record.c */
int edge_of(PyObject *t, Edge *to);
void drop_edges(Edge *edges, Py_ssize_t count);
int record(const Operation *self, const struct call *c);

/* What the kernel or the forward gives; NULL where it fails or the general path has to be taken, which `general` says. `into`: where
 * the kernel writes its result, or NULL. And its place in memory. forward.c */
PyObject *computed(const Operation *self, struct call *c, PyObject *into, int *general);
int in_order(const Operation *self, const struct call *c, PyArrayObject *y);
PyObject *ordered(const Operation *self, const struct call *c, PyObject *y);

/* The in-place form: the target, into whose memory the result has gone; NULL as above. writes.c */
PyObject *written(const Operation *self, struct call *c, int recording, int *general);
/* What the operator gives left in the tensor `out`, which is given back; NotImplemented, with nothing changed, where the general path has to do it. writes.c */
PyObject *performed_into(const Operation *self, PyObject *const *args, PyObject *out);

/* A view that an everyday call gives, NULL where the forward in Python has to; and the C forward of an operator, or NULL. views.c */
typedef PyObject *(*view_forward)(PyArrayObject *, PyObject *const *);
view_forward view_forward_of(PyObject *op);
PyObject *view_of(const Operation *self, const struct call *c);

/* The same of an operator of this name on a few numbers, where it is a kernel, and of places. early.c, direct.c, places.c */
view_forward early_forward_of(PyObject *name);
view_forward writing_forward_of(PyObject *name); /* of those that may write to their first argument; early.c, and those by masks: places.c */
view_forward masking_forward_of(PyObject *name);
view_forward direct_forward_of(PyObject *name);
view_forward places_forward_of(PyObject *name);

/* Forwards that laid.c knows; a new array of the shape of `a` without gaps, its axes in memory in the order of those of `a`, and the numbers
 * in another type in such a one, NULL (perhaps with an error) where its steps do not say it; whether each place of the memory of `a` is taken once. */
view_forward laid_forward_of(PyObject *name);
PyArrayObject *laid_like(PyArrayObject *a, PyArray_Descr *d);
PyObject *laid_copy(PyArrayObject *a);
PyObject *laid_cast(PyArrayObject *a, PyArray_Descr *d);
int is_gapless(PyArrayObject *a);

/* A reduction of an array in C order, and of any: in the order in which it lies in memory. laid.c */
typedef PyObject *(*reduction)(PyArrayObject *a, PyObject *dims, PyObject *keep, int which);
PyObject *reduced_in_memory_order(reduction f, PyArrayObject *a, PyObject *dims, PyObject *keep, int which);

/* The forwards of `cat` and `stack` for arrays of one type, given a list of them and where; NULL, perhaps with an error, where Python's has
 * to. layout.c */
PyObject *cat_forward(PyObject *const *raw);
PyObject *stack_forward(PyObject *const *raw);

/* Forwards that direct.c knows. ranks.c */
PyObject *search_forward(PyArrayObject *edges, PyObject *const *args);
PyObject *bucket_forward(PyArrayObject *values, PyObject *const *args);

/* Forwards that early.c knows. counts.c */
PyObject *trace_forward(PyArrayObject *a, PyObject *const *args);
PyObject *bincount_forward(PyArrayObject *a, PyObject *const *args);
PyObject *runs_forward(PyArrayObject *a, PyObject *const *args);
PyObject *repeat_places_forward(PyArrayObject *a, PyObject *const *args);
PyObject *histc_forward(PyArrayObject *a, PyObject *const *args);

typedef PyObject *(*kernel_of_arrays)(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* Kernels that direct.c calls, with their arguments in order; and places(mask): the places where it is true, an array for each axis. */
PyObject *avg_pool(PyObject *module, PyObject *const *args, Py_ssize_t count);        /* pools.c */
PyObject *max_pool(PyObject *module, PyObject *const *args, Py_ssize_t count);        /* pools.c */
PyObject *max_pool_values(PyObject *module, PyObject *const *args, Py_ssize_t count); /* pools.c */
PyObject *im2col(PyObject *module, PyObject *const *args, Py_ssize_t count);          /* windows.c */
PyObject *softmax(PyObject *module, PyObject *const *args, Py_ssize_t count);         /* rows.c */
PyObject *log_softmax(PyObject *module, PyObject *const *args, Py_ssize_t count);     /* rows.c */
PyObject *sum_kernel(PyObject *module, PyObject *const *args, Py_ssize_t count);      /* sums.c */
PyObject *mean_kernel(PyObject *module, PyObject *const *args, Py_ssize_t count);     /* sums.c */
PyObject *norm_kernel(PyObject *module, PyObject *const *args, Py_ssize_t count);     /* sums.c */
PyObject *product(PyObject *module, PyObject *const *args, Py_ssize_t count);         /* sums.c */
PyObject *sum_of_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count);  /* sums.c */
PyObject *places(PyObject *module, PyObject *const *args, Py_ssize_t count);          /* places.c */
PyObject *top_places(PyObject *module, PyObject *const *args, Py_ssize_t count);      /* ranks.c */
PyObject *take_along(PyObject *module, PyObject *const *args, Py_ssize_t count);      /* lines.c */
PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t count);          /* shortcuts.c */
PyObject *stacked(PyObject *module, PyObject *const *args, Py_ssize_t count);         /* product.c */
PyObject *cross(PyObject *module, PyObject *const *args, Py_ssize_t count);           /* distances.c */
PyObject *class_losses(PyObject *module, PyObject *const *args, Py_ssize_t count);    /* logsumexp.c */

/* The product by a kernel of two arrays of so many dimensions each, all of one real type, that fit; NULL for all others. direct.c */
PyObject *fitting_product(kernel_of_arrays f, PyArrayObject *a, PyObject *const *args, int dims);

/* What the first argument and the key were taken apart to, where the forward's answer is known already. forward.c */
int take_view(const Operation *self, struct call *c);

/* The call of an operation of a tensor and a key whose forward gives `view`, to which it takes the reference. operation.c */
PyObject *operation_view(const Operation *self, PyObject *const *args, PyObject *view);

/* Write a number, or a tensor of its shape, to a part of a tensor where nothing is recorded; 0 with nothing done where there is more to
 * it, -1 with an error. writes.c */
int write_part(PyObject *target, PyArrayObject *part, PyObject *value);

/* Have `write` fill the memory of a tensor where nothing is recorded; what it gives: 1, 0 with nothing done where there is more to it, -1
 * with an error. writes.c */
int write_whole(PyObject *target, int (*write)(PyArrayObject *array, void *context), void *context);

extern PyTypeObject OperationType; /* operation.c */

#endif
