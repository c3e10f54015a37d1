/* One step of an optimizer over n elements, in place: p parameter, g gradient (only read), a, b, c state. The constants
 * k are those of wengert.arrays.optim_kernels, which has the same formulas in NumPy. */

/* The gradient a step starts from: negated to maximise, plus weight decay. */
#define GRADIENT(sign, decay) ((sign) * g[i] + (decay) * p[i])

#define UPDATE(name)                                                                                                 \
    static void F(name##_update)(REAL *restrict p, const REAL *restrict g, REAL *restrict a, REAL *restrict b,       \
                                 REAL *restrict c, const REAL *k, size n)

/* k: sign, decay, rate, keep, share */
UPDATE(sgd)
{
    (void)a, (void)b, (void)c;
    const REAL sign = k[0], decay = k[1], rate = k[2];
    if (decay == 0) EACH p[i] += rate * (sign * g[i]);
    else EACH p[i] += rate * GRADIENT(sign, decay);
}
UPDATE(sgd_first)
{
    (void)b, (void)c;
    const REAL sign = k[0], decay = k[1], rate = k[2];
    EACH { a[i] = GRADIENT(sign, decay); p[i] += rate * a[i]; }
}
UPDATE(sgd_first_nesterov)
{
    (void)b, (void)c;
    const REAL sign = k[0], decay = k[1], rate = k[2], keep = k[3];
    EACH { a[i] = GRADIENT(sign, decay); p[i] += rate * (a[i] + keep * a[i]); }
}
UPDATE(sgd_momentum)
{
    (void)b, (void)c;
    const REAL sign = k[0], decay = k[1], rate = k[2], keep = k[3], share = k[4];
    EACH { a[i] = keep * a[i] + share * GRADIENT(sign, decay); p[i] += rate * a[i]; }
}
UPDATE(sgd_nesterov)
{
    (void)b, (void)c;
    const REAL sign = k[0], decay = k[1], rate = k[2], keep = k[3], share = k[4];
    EACH {
        const REAL d = GRADIENT(sign, decay);
        a[i] = keep * a[i] + share * d;
        p[i] += rate * (d + keep * a[i]);
    }
}

/* k: sign, decay, shrink, w1, b2, w2, floor, move */
UPDATE(adam)
{
    (void)c;
    const REAL sign = k[0], decay = k[1], shrink = k[2], w1 = k[3], b2 = k[4], w2 = k[5], floor = k[6], move = k[7];
    EACH {
        const REAL d = GRADIENT(sign, decay);
        a[i] += w1 * (d - a[i]);
        b[i] = b2 * b[i] + w2 * (d * d);
        p[i] = p[i] * shrink + move * (a[i] / ((REAL)sqrt(b[i]) + floor));
    }
}
UPDATE(adam_amsgrad)
{
    const REAL sign = k[0], decay = k[1], shrink = k[2], w1 = k[3], b2 = k[4], w2 = k[5], floor = k[6], move = k[7];
    EACH {
        const REAL d = GRADIENT(sign, decay);
        a[i] += w1 * (d - a[i]);
        b[i] = b2 * b[i] + w2 * (d * d);
        c[i] = c[i] > b[i] ? c[i] : b[i];
        p[i] = p[i] * shrink + move * (a[i] / ((REAL)sqrt(c[i]) + floor));
    }
}

/* k: sign, decay, floor, move */
UPDATE(adagrad)
{
    (void)b, (void)c;
    const REAL sign = k[0], decay = k[1], floor = k[2], move = k[3];
    EACH {
        const REAL d = GRADIENT(sign, decay);
        a[i] += d * d;
        p[i] += move * (d / ((REAL)sqrt(a[i]) + floor));
    }
}

/* k: sign, decay, keep, share, floor, move, momentum */
UPDATE(rmsprop)
{
    (void)b, (void)c;
    const REAL sign = k[0], decay = k[1], keep = k[2], share = k[3], floor = k[4], move = k[5];
    EACH {
        const REAL d = GRADIENT(sign, decay);
        a[i] = keep * a[i] + share * (d * d);
        p[i] += move * (d / ((REAL)sqrt(a[i]) + floor));
    }
}
UPDATE(rmsprop_momentum)
{
    (void)c;
    const REAL sign = k[0], decay = k[1], keep = k[2], share = k[3], floor = k[4], move = k[5], momentum = k[6];
    EACH {
        const REAL d = GRADIENT(sign, decay);
        a[i] = keep * a[i] + share * (d * d);
        b[i] = momentum * b[i] + d / ((REAL)sqrt(a[i]) + floor);
        p[i] += move * b[i];
    }
}

/* k: sign, decay, keep, share, floor, move */
UPDATE(adadelta)
{
    (void)c;
    const REAL sign = k[0], decay = k[1], keep = k[2], share = k[3], floor = k[4], move = k[5];
    EACH {
        const REAL d = GRADIENT(sign, decay);
        a[i] = keep * a[i] + share * (d * d);
        const REAL delta = (REAL)sqrt(b[i] + floor) * (d / (REAL)sqrt(a[i] + floor));
        b[i] = keep * b[i] + share * (delta * delta);
        p[i] += move * delta;
    }
}
