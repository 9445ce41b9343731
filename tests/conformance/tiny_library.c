/* A kernel library of seven operators, small enough to be read, for the tests of the suite itself.
 *
 * The environment variable TINY_FAULT names one fault that is injected; without it the library is right. */
#include <diopi/functions.h>
#include <diopigen/host_device.h>
#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_RANK 8

static char last_error[256];

static bool fault(const char* name) {
    const char* wanted = getenv("TINY_FAULT");
    return wanted != NULL && strcmp(wanted, name) == 0;
}

/* Whether this process is bound to the card TINY_CARD, and that is the faulty one. */
static bool on_bad_card(void) {
    const char *card = getenv("TINY_CARD"), *bad = getenv("TINY_BAD_CARD");
    return card != NULL && bad != NULL && strcmp(card, bad) == 0;
}

static diopiError_t refuse(const char* text) {
    strncpy(last_error, text, sizeof last_error - 1);
    return diopiErrorOccurred;
}

int32_t initLibrary(void) { return fault("no device") ? (int32_t)refuse("the device is not there") : 0; }
int32_t finalizeLibrary(void) {
    if (fault("crash at the end")) abort();
    if (fault("hang at the end"))
        for (;;) sleep(1);
    if (!fault("leak")) return 0;
    for (int line = 1; line <= 80; ++line) printf("tiny: leak %d of 80\n", line);
    refuse("80 allocations were never freed");
    return 3;
}
const char* diopiGetVendorName(void) { return "tiny"; }
const char* diopiGetImplVersion(void) { return "1.0"; }
const char* diopiGetLastErrorString(void) { return last_error; }

/* Functions that have been called: diopiRelu depends on both with the fault `order`. */
static bool inverted, normalised;

typedef struct {
    char* data;
    int64_t shape[MAX_RANK], stride[MAX_RANK];
    int rank;
    diopiDtype_t dtype;
} View;

/* A number on its way: integers as int64, all else as double. */
typedef struct {
    double real;
    int64_t whole;
} Element;

static bool floating(diopiDtype_t dtype) { return dtype == diopi_dtype_float32 || dtype == diopi_dtype_float64; }

static int64_t itemsize(diopiDtype_t dtype) {
    switch (dtype) {
        case diopi_dtype_float32:
        case diopi_dtype_int32:
            return 4;
        case diopi_dtype_float64:
        case diopi_dtype_int64:
            return 8;
        case diopi_dtype_uint8:
        case diopi_dtype_bool:
            return 1;
        default:
            return 0;
    }
}

static diopiError_t view(View* v, diopiConstTensorHandle_t handle) {
    diopiSize_t shape, stride;
    const void* data = NULL;
    last_error[0] = 0;  // what an earlier call was refused for says nothing about this one
    if (handle == NULL) return refuse("a tensor is null");
    if (diopiGetTensorDataConst(handle, &data) || diopiGetTensorShape(handle, &shape) ||
        diopiGetTensorStride(handle, &stride) || diopiGetTensorDtype(handle, &v->dtype))
        return refuse("a tensor does not answer");
    if (itemsize(v->dtype) == 0) return diopiDtypeNotSupported;
    if (shape.len > MAX_RANK) return refuse("too many dimensions");
    v->data = (char*)data;
    v->rank = (int)shape.len;
    memcpy(v->shape, shape.data, sizeof(int64_t) * (size_t)shape.len);
    memcpy(v->stride, stride.data, sizeof(int64_t) * (size_t)shape.len);
    return diopiSuccess;
}

static int64_t count(const View* v) {
    int64_t n = 1;
    for (int d = 0; d < v->rank; ++d) n *= v->shape[d];
    return n;
}

/* Whether a tensor that is written shares bytes with another one without being the same elements. All tensors that the
 * suite lets overlap in part are contiguous, so that the bytes from the first to the last element tell. */
static bool overlaps(const View* written, const View* other) {
    const View* both[] = {written, other};
    char *first[2], *last[2];
    for (int k = 0; k < 2; ++k) {
        if (count(both[k]) == 0) return false;
        first[k] = last[k] = both[k]->data;
        for (int d = 0; d < both[k]->rank; ++d)
            last[k] += (both[k]->shape[d] - 1) * both[k]->stride[d] * itemsize(both[k]->dtype);
        last[k] += itemsize(both[k]->dtype);
    }
    bool same = first[0] == first[1] && last[0] == last[1] && written->dtype == other->dtype;
    return !same && first[0] < last[1] && first[1] < last[0] && !fault("overlap accepted");
}

/* The address of the element of `v` that is at position `place` of `frame`, row by row, with broadcasting. */
static char* at(const View* v, const View* frame, int64_t place) {
    int64_t offset = 0;
    for (int d = frame->rank - 1; d >= 0; --d) {
        int64_t index = place % frame->shape[d];
        int own = d - (frame->rank - v->rank);
        place /= frame->shape[d];
        if (own >= 0 && v->shape[own] != 1) offset += index * v->stride[own];
    }
    return v->data + offset * itemsize(v->dtype);
}

static Element read_element(const char* p, diopiDtype_t dtype) {
    Element e = {0, 0};
    switch (dtype) {
        case diopi_dtype_float32: {
            float f;
            memcpy(&f, p, 4);
            e.real = f;
            break;
        }
        case diopi_dtype_float64:
            memcpy(&e.real, p, 8);
            break;
        case diopi_dtype_int32: {
            int32_t i;
            memcpy(&i, p, 4);
            e.whole = i;
            break;
        }
        case diopi_dtype_int64:
            memcpy(&e.whole, p, 8);
            break;
        default:
            e.whole = (uint8_t)*p;
            break;
    }
    if (!floating(dtype)) e.real = dtype == diopi_dtype_float32 ? e.real : (double)e.whole;
    return e;
}

/* `whole` holds where `from` is no floating dtype. */
static void write_element(char* p, diopiDtype_t dtype, Element e, bool from_floating) {
    if (floating(dtype) && !from_floating) e.real = dtype == diopi_dtype_float32 ? (float)e.whole : (double)e.whole;
    if (!floating(dtype) && from_floating) e.whole = (int64_t)e.real;
    switch (dtype) {
        case diopi_dtype_float32: {
            float f = (float)e.real;
            memcpy(p, &f, 4);
            break;
        }
        case diopi_dtype_float64:
            memcpy(p, &e.real, 8);
            break;
        case diopi_dtype_int32: {
            int32_t i = (int32_t)(uint32_t)(uint64_t)e.whole;
            memcpy(p, &i, 4);
            break;
        }
        case diopi_dtype_int64:
            memcpy(p, &e.whole, 8);
            break;
        case diopi_dtype_bool:
            *p = (char)(fault("bool byte") && e.whole ? 0xff : e.whole != 0);
            break;
        default:
            *p = (char)(uint8_t)(uint64_t)e.whole;
            break;
    }
}

static bool same_shape(const View* a, const View* b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, sizeof(int64_t) * (size_t)a->rank) == 0;
}

/* Whether `a` and `b` broadcast to exactly the shape of `out`. */
static bool broadcasts(const View* a, const View* b, const View* out) {
    int rank = a->rank > b->rank ? a->rank : b->rank;
    if (out->rank != rank) return false;
    for (int d = 1; d <= rank; ++d) {
        int64_t one = d <= a->rank ? a->shape[a->rank - d] : 1;
        int64_t two = d <= b->rank ? b->shape[b->rank - d] : 1;
        int64_t joined = one == 1 ? two : one;
        if (two != 1 && two != joined) return false;
        if (out->shape[rank - d] != joined) return false;
    }
    return true;
}

static int order(diopiDtype_t dtype) {
    const diopiDtype_t rising[] = {diopi_dtype_bool,  diopi_dtype_uint8,   diopi_dtype_int32,
                                   diopi_dtype_int64, diopi_dtype_float32, diopi_dtype_float64};
    for (int i = 0; i < 6; ++i)
        if (rising[i] == dtype) return i;
    return -1;
}

/* Writes a byte and restores it. */
static void touch(char* byte) {
    volatile char* const target = byte;
    *target ^= 1;
    *target ^= 1;
}

static diopiError_t add(diopiTensorHandle_t out_handle, diopiConstTensorHandle_t a_handle,
                        diopiConstTensorHandle_t b_handle, const diopiScalar_t* alpha, bool in_place) {
    View out, a, b;
    diopiError_t status;
    if ((status = view(&out, out_handle)) || (status = view(&a, a_handle)) || (status = view(&b, b_handle)))
        return status;
    if (alpha == NULL) return refuse("alpha is null");
    if (overlaps(&out, &a) || overlaps(&out, &b)) return refuse("out overlaps an operand");
    diopiDtype_t dtype = order(a.dtype) > order(b.dtype) ? a.dtype : b.dtype;
    bool alpha_floats = alpha->stype == diopi_dtype_float64;
    if (!broadcasts(&a, &b, &out)) return refuse("the shapes do not broadcast");
    if (!floating(dtype) && alpha_floats && !fault("missing status")) return refuse("alpha is not integral");
    if (floating(dtype) && !floating(out.dtype)) return diopiDtypeNotSupported;
    if (in_place && out.dtype == diopi_dtype_bool && dtype != diopi_dtype_bool) return diopiDtypeNotSupported;
    if (fault("leak")) puts("tiny: this is printed in a call");
    if (fault("no implementation")) return diopiNoImplement;
    double factor = alpha_floats ? alpha->fval : (double)alpha->ival;
    int64_t whole_factor = alpha_floats ? (int64_t)alpha->fval : alpha->ival;
    if (fault("alpha ignored")) factor = 1, whole_factor = 1;
    if (fault("slow")) usleep(15000);
    if (fault("crash")) abort();
    if (fault("exit")) _exit(0);
    if (fault("wait in add")) {  // until the process is killed; the file tells that the call has begun
        fclose(fopen(getenv("TINY_READY"), "w"));
        for (;;) sleep(1);
    }
    if (fault("hang"))
        for (;;) sleep(1);
    static unsigned calls = 0;
    ++calls;
    int64_t n = count(&out);
    for (int64_t i = 0; i < n; ++i) {
        Element x = read_element(at(&a, &out, i), a.dtype), y = read_element(at(&b, &out, i), b.dtype), sum;
        if (dtype == diopi_dtype_float32) x.real = (float)x.real, y.real = (float)y.real, factor = (float)factor;
        sum.real = x.real + factor * y.real;
        if (dtype == diopi_dtype_float32) sum.real = (float)sum.real;
        sum.whole = (int64_t)((uint64_t)x.whole + (uint64_t)whole_factor * (uint64_t)y.whole);
        if (dtype == diopi_dtype_bool) sum.whole = x.whole || (whole_factor && y.whole);
        if (dtype == diopi_dtype_uint8) sum.whole = (uint8_t)sum.whole;
        if (dtype == diopi_dtype_int32) sum.whole = (int32_t)(uint32_t)(uint64_t)sum.whole;
        if (fault("int64 through float") && dtype == diopi_dtype_int64) sum.whole = (int64_t)(float)sum.whole;
        if (fault("saturation") && dtype == diopi_dtype_uint8 && x.whole + whole_factor * y.whole > 255)
            sum.whole = 255;
        if (fault("one element") && i == 7) sum.real += 0.01, sum.whole += 1;
        if (fault("float32 off by 50 units") && dtype == diopi_dtype_float32) sum.real *= 1 + 50 * 0x1p-23;
        if (fault("NaN dropped") && isnan(sum.real)) sum.real = 0;
        // One unit in the last place: within every bound, and not the same bytes.
        if (on_bad_card() && i == 3) sum.real *= 1 + 0x1p-23;
        if (fault("varies") && i == 3 && calls % 2 == 0) sum.real *= 1 + 0x1p-23;
        write_element(at(&out, &out, i), out.dtype, sum, floating(dtype));
    }
    if (fault("write past the end") && n > 0) at(&out, &out, n - 1)[itemsize(out.dtype)] ^= 1;
    if (fault("input changed") && n > 0 && !in_place) at(&b, &b, 0)[0] ^= 1;
    if (fault("input restored") && n > 0 && !in_place) touch(at(&b, &b, 0));
    if (fault("guard restored") && n > 0) touch(out.data - 1);
    if (fault("rounding left")) fesetround(FE_TOWARDZERO);
    if (fault("contiguous assumed") && n > 1) memset(out.data, 0, (size_t)itemsize(out.dtype) * 2);
    return diopiSuccess;
}

diopiError_t diopiAdd(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    (void)ctx;
    return add(out, input, other, alpha, false);
}

diopiError_t diopiAddInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t other,
                         const diopiScalar_t* alpha) {
    (void)ctx;
    return add(input, input, other, alpha, true);
}

/* The last result of diopiRelu, which the fault `remembered` returns for operands of the same size. */
static int64_t remembered_count = -1;
static diopiDtype_t remembered_dtype;
static char remembered[8 * 64];

diopiError_t diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out_handle, diopiConstTensorHandle_t in_handle) {
    View out, in;
    diopiError_t status;
    (void)ctx;
    if ((status = view(&out, out_handle)) || (status = view(&in, in_handle)))
        return status == diopiDtypeNotSupported && fault("dtype status missing") ? diopiSuccess : status;
    if (fault("first thread") && syscall(SYS_gettid) != getpid()) return diopiSuccess;
    if (fault("remembered") && count(&out) == remembered_count && out.dtype == remembered_dtype) {
        for (int64_t i = 0; i < remembered_count; ++i)
            memcpy(at(&out, &out, i), remembered + 8 * i, (size_t)itemsize(out.dtype));
        return diopiSuccess;
    }
    if (fault("nothing written") || (fault("order") && inverted && normalised)) return diopiSuccess;
    if (fault("memory exhausted"))
        for (;;) memset(malloc(1 << 26), 1, 1 << 26);
    if (fault("failure after writing")) {
        out.data[0] ^= 1;
        return refuse("too late");
    }
    if (in.dtype == diopi_dtype_bool || out.dtype != in.dtype) return diopiDtypeNotSupported;
    if (overlaps(&out, &in)) return refuse("out overlaps input");
    if (!same_shape(&out, &in)) return refuse("out has another shape");
    bool is_row = fault("one row") && in.rank > 0 && in.shape[0] == 1;
    for (int64_t i = 0; i < count(&out); ++i) {
        Element x = read_element(at(&in, &out, i), in.dtype);
        if (is_row && in.dtype == diopi_dtype_float64) x.real *= 1 + 0x1p-51;
        if (x.real < 0) x.real = 0;
        if (x.whole < 0) x.whole = 0;
        if (fault("one element far away") && i == 100000) x.whole += 1, x.real += 1;
        int64_t index = fault("index of 16 bits") ? (uint16_t)i : i;
        write_element(at(&out, &out, index), out.dtype, x, floating(in.dtype));
    }
    if (fault("input changed far away") && count(&in) > 100000) at(&in, &in, 100000)[0] ^= 1;
    if (fault("write past the end of Relu")) at(&out, &out, count(&out) - 1)[itemsize(out.dtype)] ^= 1;
    if (count(&out) <= 64) {
        remembered_count = count(&out), remembered_dtype = out.dtype;
        for (int64_t i = 0; i < remembered_count; ++i)
            memcpy(remembered + 8 * i, at(&out, &out, i), (size_t)itemsize(out.dtype));
    }
    return diopiSuccess;
}

diopiError_t diopiLogicalNot(diopiContextHandle_t ctx, diopiTensorHandle_t out_handle,
                             diopiConstTensorHandle_t in_handle) {
    View out, in;
    diopiError_t status;
    (void)ctx;
    inverted = true;
    if ((status = view(&out, out_handle)) || (status = view(&in, in_handle))) return status;
    if (out.dtype != diopi_dtype_bool) return diopiDtypeNotSupported;
    if (overlaps(&out, &in)) return refuse("out overlaps input");
    if (!same_shape(&out, &in)) return refuse("out has another shape");
    for (int64_t i = 0; i < count(&out); ++i) {
        Element x = read_element(at(&in, &out, i), in.dtype), no = {0, 0};
        no.whole = x.real == 0;
        write_element(at(&out, &out, i), out.dtype, no, false);
    }
    return diopiSuccess;
}

diopiError_t diopiSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out_handle, diopiConstTensorHandle_t in_handle,
                          int64_t dim) {
    View out, in;
    diopiError_t status;
    (void)ctx;
    normalised = true;
    if ((status = view(&out, out_handle)) || (status = view(&in, in_handle))) return status;
    if (!floating(in.dtype) || out.dtype != in.dtype) return diopiDtypeNotSupported;
    if (overlaps(&out, &in)) return refuse("out overlaps input");
    if (!same_shape(&out, &in)) return refuse("out has another shape");
    int64_t span = in.rank > 0 ? in.rank : 1;
    if (dim < -span || dim >= span) return refuse("dim is out of range");
    int64_t place = dim < 0 ? dim + span : dim, size = in.rank > 0 ? in.shape[place] : 1, inner = 1;
    for (int d = (int)place + 1; d < in.rank; ++d) inner *= in.shape[d];
    for (int64_t i = 0; i < count(&in); ++i) {
        if ((i / inner) % size != 0) continue;
        double largest = -INFINITY, sum = 0;
        for (int64_t k = 0; k < size; ++k)
            largest = fmax(largest, read_element(at(&in, &in, i + k * inner), in.dtype).real);
        if (fault("softmax without maximum")) largest = 0;
        for (int64_t k = 0; k < size; ++k) {
            double power = exp(read_element(at(&in, &in, i + k * inner), in.dtype).real - largest);
            sum += in.dtype == diopi_dtype_float32 ? (float)power : power;
        }
        for (int64_t k = 0; k < size; ++k) {
            Element e = {exp(read_element(at(&in, &in, i + k * inner), in.dtype).real - largest) / sum, 0};
            write_element(at(&out, &in, i + k * inner), out.dtype, e, true);
        }
    }
    return diopiSuccess;
}

diopiError_t diopiMaskedSelect(diopiContextHandle_t ctx, diopiTensorHandle_t* out_handle,
                               diopiConstTensorHandle_t in_handle, diopiConstTensorHandle_t mask_handle) {
    View in, mask, out, frame;
    diopiError_t status;
    if (out_handle == NULL) return refuse("out is null");
    if ((status = view(&in, in_handle)) || (status = view(&mask, mask_handle))) return status;
    if (mask.dtype != diopi_dtype_bool) return diopiDtypeNotSupported;
    frame = in.rank > mask.rank ? in : mask;
    const View* other = in.rank > mask.rank ? &mask : &in;
    for (int d = 1; d <= other->rank; ++d) {
        int64_t* size = &frame.shape[frame.rank - d];
        int64_t theirs = other->shape[other->rank - d];
        if (*size == 1) *size = theirs;
        if (theirs != 1 && theirs != *size) return refuse("the shapes do not broadcast");
    }
    int64_t chosen = 0, n = count(&frame);
    for (int64_t i = 0; i < n; ++i) chosen += *at(&mask, &frame, i) != 0;
    if (fault("output missing")) return diopiSuccess;
    diopiSize_t size = {&chosen, 1};
    diopiTensorHandle_t made = NULL;
    if ((status = diopiRequireTensor(ctx, &made, &size, NULL, in.dtype, diopi_host))) return status;
    if ((status = view(&out, made))) return status;
    int64_t next = 0;
    for (int64_t i = 0; i < n; ++i)
        if (*at(&mask, &frame, i))
            memcpy(out.data + itemsize(in.dtype) * next++, at(&in, &frame, i), (size_t)itemsize(in.dtype));
    *out_handle = made;
    return diopiSuccess;
}

diopiError_t diopiUniformInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout, double from, double to,
                             diopiGeneratorHandle_t generator) {
    View v;
    uint64_t seed, offset;
    diopiError_t status;
    (void)ctx;
    if ((status = view(&v, inout))) return status;
    if (!floating(v.dtype)) return diopiDtypeNotSupported;
    if (from > to) return refuse("from is above to");
    if (generator == NULL || diopiGeneratorGetSeedAndOffset(generator, &seed, &offset)) return refuse("no generator");
    static uint64_t drift = 0;
    uint64_t state = (seed + offset) * 0x9E3779B97F4A7C15u + 1 + (fault("not reproducible") ? ++drift : 0);
    int64_t n = count(&v);
    for (int64_t i = 0; i < n; ++i) {
        state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
        double unit = (double)((state * 2685821657736338717u) >> 40) / 16777216.0;
        if (fault("distribution")) unit *= unit;
        Element e = {from + unit * (to - from), 0};
        write_element(at(&v, &v, i), v.dtype, e, true);
    }
    return diopiGeneratorSetSeedAndOffset(generator, seed, offset + (fault("offset kept") ? 0 : (uint64_t)n));
}
