/* data.c - reads the inputs and expected values of a case. */
#include "data.h"

#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- elements ----------------------------------------------------------------------- */

/* in the order of enum element */
static const char *const element_names[] = {"F32", "F16", "BF16", "I32", "I64", "U8"};
static const size_t element_sizes[] = {4, 2, 2, 4, 8, 1};

size_t element_bytes(enum element e)
{
    return e < ELEMENT_OTHER ? element_sizes[e] : 2;
}

static enum element element_named(const char *name)
{
    for (int e = 0; e < ELEMENT_OTHER; e++)
        if (name && !strcmp(name, element_names[e])) return (enum element)e;
    return ELEMENT_OTHER;
}

static double half_value(uint16_t bits)
{
    uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = fraction * 0x1p-24; /* subnormal */
    if (exponent == 31) value = fraction ? NAN : INFINITY;
    if (exponent && exponent < 31) {
        uint64_t wide = (uint64_t)(exponent + 1008) << 52 | (uint64_t)fraction << 42;
        memcpy(&value, &wide, sizeof value);
    }
    return bits >> 15 ? -value : value;
}

static double float_value(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* little-endian, as the files are */
static inline uint64_t whole(const unsigned char *p, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, p, bytes);
    return value;
}

void element_values(double *to, enum element e, const unsigned char *p, size_t n)
{
    size_t i;
    switch (e) { /* of constant size, a copy is quick */
    case ELEMENT_F32:
        for (i = 0; i < n; i++)
            to[i] = float_value((uint32_t)whole(p + 4 * i, 4));
        break;
    case ELEMENT_F16:
        for (i = 0; i < n; i++)
            to[i] = half_value((uint16_t)whole(p + 2 * i, 2));
        break;
    case ELEMENT_BF16:
        for (i = 0; i < n; i++)
            to[i] = float_value((uint32_t)whole(p + 2 * i, 2) << 16);
        break;
    case ELEMENT_I32:
        for (i = 0; i < n; i++)
            to[i] = (double)(int32_t)whole(p + 4 * i, 4);
        break;
    case ELEMENT_I64:
        for (i = 0; i < n; i++)
            to[i] = (double)(int64_t)whole(p + 8 * i, 8);
        break;
    default:
        for (i = 0; i < n; i++)
            to[i] = (double)p[i];
    }
}

double element_value(enum element e, const unsigned char *p)
{
    double value;
    element_values(&value, e, p, 1);
    return value;
}

size_t view_index(const struct view *v, size_t i)
{
    return v->offset + i / v->cols * v->stride + i % v->cols;
}

const unsigned char *
buffer_bytes(const struct case_data *d, const unsigned char *result, int b)
{
    for (int i = 0; i < b; i++)
        result += d->buffer[i].bytes + 2 * RED_ZONE;
    return result + RED_ZONE;
}

/* --- reading them ------------------------------------------------------------------- */

const void *
tensor(const st_file *f, const char *name, st_dtype dtype, size_t elements)
{
    const st_tensor *t = st_find(f, name);
    return t && t->dtype == dtype && t->elements == elements ? t->data : NULL;
}

json_t *json_metadata(const st_file *f, const char *key)
{
    const char *text = st_metadata(f, key);
    return json_loads(text ? text : "{}", 0, NULL);
}

static const char *string(json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static size_t count(json_t *o, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(o, key));
    return n > 0 ? (size_t)n : 0;
}

static enum role role_named(const char *name)
{
    return !strcmp(name, "out")     ? ROLE_OUT
           : !strcmp(name, "inout") ? ROLE_INOUT
           : !strcmp(name, "acc")   ? ROLE_ACC
                                    : ROLE_IN;
}

static const char *read_view(struct case_data *d, struct view *v, json_t *a)
{
    size_t i;
    json_t *n, *shape = json_object_get(a, "shape");
    snprintf(v->name, sizeof v->name, "%s", string(a, "name"));
    snprintf(v->owner, sizeof v->owner, "%s", string(a, "owner"));
    v->role = role_named(string(a, "role"));
    v->element = element_named(string(a, "dtype"));
    v->buffer = -1;
    v->rows = v->cols = 1;
    if (v->element == ELEMENT_OTHER) return "has an unknown dtype";
    if (json_is_true(json_object_get(a, "null"))) return NULL;
    if (json_array_size(shape) > MAX_DIMS) return "has too many dimensions";
    json_array_foreach(shape, i, n) {
        v->shape[v->dims++] = (size_t)json_integer_value(n);
        v->rows *= v->cols;
        v->cols = v->shape[i];
    }
    v->elements = v->rows * v->cols;
    v->offset = count(a, "offset");
    v->stride = count(a, "stride");
    for (int b = 0; b < d->buffers; b++)
        if (!strcmp(d->buffer[b].name, string(a, "buffer"))) v->buffer = b;
    if (v->buffer < 0) return "is not in any buffer";
    if (v->elements && (view_index(v, v->elements - 1) + 1) * element_bytes(v->element) >
                           d->buffer[v->buffer].bytes)
        return "extends past the end of its buffer";
    return NULL;
}

static const char *read_call(struct case_data *d, const st_file *f, json_t *call)
{
    size_t i;
    json_t *o;
    const char *code = string(call, "dtype");
    d->dtype = !strcmp(code, "f16")    ? CODE_F16
               : !strcmp(code, "bf16") ? CODE_BF16
                                       : CODE_F32;
    snprintf(d->function, sizeof d->function, "%s", string(call, "function"));
    d->seed = (uint64_t)json_integer_value(json_object_get(call, "seed"));
    d->dry = json_is_true(json_object_get(call, "dry"));
    snprintf(d->drawn, sizeof d->drawn, "%s", string(call, "drawn"));
    d->scalars = json_incref(json_object_get(call, "scalars"));
    if (json_array_size(json_object_get(call, "buffers")) > MAX_BUFFERS ||
        json_array_size(json_object_get(call, "args")) > MAX_ARGS ||
        json_object_size(d->scalars) > MAX_SCALARS)
        return "has too many buffers, arguments or scalars";
    json_array_foreach(json_object_get(call, "buffers"), i, o) {
        struct buffer *b = &d->buffer[d->buffers++];
        enum element e = element_named(string(o, "dtype"));
        if (e == ELEMENT_OTHER) return "has a buffer of unknown dtype";
        snprintf(b->name, sizeof b->name, "%s", string(o, "name"));
        b->element = e;
        b->bytes = count(o, "elements") * element_bytes(e);
        b->filled = st_find(f, b->name) != NULL;
        d->host_code |= in_host_memory(b->name);
    }
    json_array_foreach(json_object_get(call, "args"), i, o) {
        const char *error = read_view(d, &d->view[d->views++], o);
        if (error) return error;
    }
    return NULL;
}

static const char *read_want(struct case_data *d, struct data_set *set, const st_file *f)
{
    const char *error = NULL;
    for (int i = 0; i < d->views && !error; i++) {
        struct view *v = &d->view[i];
        char tolerance[MAX_NAME + 8];
        if (v->role == ROLE_IN || v->buffer < 0) continue;
        if (!st_find(f, v->name)) continue; /* not judged in this case */
        snprintf(tolerance, sizeof tolerance, "%s.tol", v->name);
        set->want[i] = tensor(f, v->name, ST_F64, v->elements);
        set->tol[i] = tensor(f, tolerance, ST_F32, v->elements);
        if (!set->want[i] || !set->tol[i])
            error = "has an expected value of the wrong size";
    }
    return error;
}

static const char *read_in(struct case_data *d, struct data_set *set, const st_file *f)
{
    for (int b = 0; b < d->buffers; b++) {
        const st_tensor *t = st_find(f, d->buffer[b].name);
        if (!d->buffer[b].filled) continue;
        if (!t || t->bytes != d->buffer[b].bytes) return "has a buffer of the wrong size";
        set->bytes[b] = t->data;
    }
    return NULL;
}

static st_file *open_kind(const char *folder, const char *name, int s, const char *kind)
{
    char *path = text_of("%s/%s.%c.%s.safetensors", folder, name, 'a' + s, kind);
    st_file *f = st_open(path, NULL);
    free(path);
    return f;
}

/* The reference wrote these files, so an error in one is a fault of the workbook. */
static const char *
load_set(struct case_data *d, const char *folder, const char *name, int s)
{
    struct data_set *set = &d->set[s];
    const char *error = NULL;
    set->in = open_kind(folder, name, s, "in");
    set->out = open_kind(folder, name, s, "want");
    if (!set->in || !set->out) return "has no data file that can be read";
    if (s == 0) {
        json_t *call = json_metadata(set->in, "call");
        error = read_call(d, set->in, call);
        json_decref(call);
        d->tolerance = json_metadata(set->out, "tolerance");
        set->causes = xalloc(sizeof *set->causes);
        set->causes->path = text_of("%s/%s.a.causes.safetensors", folder, name);
    }
    if (!error) error = read_in(d, set, set->in);
    if (!error) error = read_want(d, set, set->out);
    return error;
}

int data_load(
    struct case_data *d, const char *folder, const char *name, int sets, char *error,
    size_t error_bytes)
{
    memset(d, 0, sizeof *d);
    for (int s = 0; s < sets; s++) {
        const char *what = load_set(d, folder, name, s);
        if (!what) continue;
        snprintf(error, error_bytes, "case %s %s (%s)", name, what, folder);
        return -1;
    }
    return 0;
}

void data_free(struct case_data *d)
{
    for (int s = 0; s < 2; s++) {
        st_close(d->set[s].in);
        st_close(d->set[s].out);
        causes_free(d->set[s].causes);
    }
    json_decref(d->scalars);
    json_decref(d->tolerance);
}
