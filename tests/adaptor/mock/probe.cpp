// The mock vendor's common part, and the probes through which the shims under test reach the host: they count, and let
// the n-th call fail.
#include <diopi/functions.h>
#include <diopigen/device.h>
#include <diopigen/host.h>
#include <diopigen/host_device.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "values.h"
#include "vendor.h"

namespace {

struct Record {
    std::string name;
    diopiConstTensorHandle_t handle;
    diopiDtype_t dtype;
    std::vector<std::int64_t> size;
    std::vector<std::int64_t> stride;
};

struct State {
    std::int64_t calls = 0;        // of the host and of helpers, by shims
    std::int64_t failingCall = 0;  // which of them fails; 0 for none
    std::string failed;            // its name
    diopiError_t operatorStatus = diopiSuccess;
    bool operatorThrows = false;
    bool narrowsResults = false;  // int64 results are made as int32, float64 as float32
    bool refusesOverlap = true;
    std::int64_t descriptions = 0;
    std::int64_t casts = 0;
    std::int64_t copies = 0;
    std::int64_t largestAllocation = 0;
    std::vector<Record> records;
    std::string vendorText;
};

State state;

bool fails(const char* name) {
    if (++state.calls != state.failingCall) {
        return false;
    }
    state.failed = name;
    return true;
}

// New memory is poisoned: what is not written shows.
void* poisoned(std::uint64_t bytes) {
    void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (memory != nullptr) {
        std::memset(memory, 0xa5, bytes);
    }
    if (static_cast<std::int64_t>(bytes) > state.largestAllocation) {
        state.largestAllocation = static_cast<std::int64_t>(bytes);
    }
    return memory;
}

bool overlaps(const mock::Layout& layout) {
    for (std::int64_t i = 0; i < layout.size.len; ++i) {
        if (layout.stride.data[i] == 0 && layout.size.data[i] > 1) {
            return true;
        }
    }
    return false;
}

diopiError_t convert(diopiConstTensorHandle_t from, diopiTensorHandle_t to) {
    const mock::Layout source = mock::describe(from);
    const mock::Layout goal = mock::describe(to);
    if (mock::count(source) != mock::count(goal)) {
        state.vendorText = "sizes differ";
        return diopiErrorOccurred;
    }
    if (state.refusesOverlap && overlaps(goal)) {
        state.vendorText = "the output overlaps itself";
        return diopiErrorOccurred;
    }
    for (std::int64_t i = 0; i < mock::count(source); ++i) {
        mock::store(mock::at(goal, i), goal.dtype, mock::load(mock::at(source, i), source.dtype));
    }
    return diopiSuccess;
}

void record(const char* name, diopiConstTensorHandle_t tensor) {
    if (tensor == nullptr) {
        return;
    }
    bool sparse = false;
    diopiIsTensorSparse(tensor, &sparse);
    Record made;
    made.name = name;
    made.handle = tensor;
    diopiGetTensorDtype(tensor, &made.dtype);
    if (!sparse) {
        const mock::Layout layout = mock::describe(tensor);
        made.size.assign(layout.size.data, layout.size.data + layout.size.len);
        made.stride.assign(layout.stride.data, layout.stride.data + layout.stride.len);
    }
    state.records.push_back(made);
}

}  // namespace

namespace mock {

// Every output element is a small number that depends on its place, on the argument and on all elements that are read:
// numbers that every dtype holds, so that a result must not depend on the dtype in which it was made.
diopiError_t operate(diopiContextHandle_t ctx, std::initializer_list<Argument> arguments) {
    state.records.clear();
    if (state.operatorThrows) {
        throw std::runtime_error("thrown by the operator");
    }
    std::int64_t seed = 0;
    std::int64_t position = 0;
    const auto each = [](const Argument& argument, auto visit) {
        if (argument.list != nullptr) {
            for (std::int64_t i = 0; i < argument.count; ++i) {
                if (argument.list[i] != nullptr) {
                    visit(argument.list[i]);
                }
            }
        } else if (argument.single != nullptr) {
            visit(argument.single);
        }
    };
    for (const Argument& argument : arguments) {
        ++position;
        each(argument, [&](diopiConstTensorHandle_t tensor) {
            record(argument.name, tensor);
            if (argument.access == 'o' || argument.access == 'n') {
                return;
            }
            std::int64_t place = 0;
            for (const Number& number : values(describe(tensor))) {
                seed = (seed + (++place % 5 + position) * static_cast<std::int64_t>(number.real)) % 61;
            }
        });
    }
    // Half-way: an operator that fails has written already.
    position = 0;
    for (const Argument& argument : arguments) {
        ++position;
        if (argument.access == 'i' || argument.access == 'n') {
            continue;
        }
        each(argument, [&](diopiConstTensorHandle_t tensor) {
            const Layout layout = describe(tensor);
            for (std::int64_t i = 0; i < count(layout); ++i) {
                const std::int64_t value = (seed + 3 * i + position) % 50;
                if (argument.access == 'p' && i % 2 == 1) {
                    continue;
                }
                char* const element = at(layout, i);
                Number number = {static_cast<long double>(value), static_cast<long double>(value + 1)};
                if (argument.access == 'b') {
                    number.real += load(element, layout.dtype).real;
                }
                store(element, layout.dtype, number);
            }
        });
    }
    if (state.operatorStatus != diopiSuccess) {
        state.vendorText = "the operator fails";
        return state.operatorStatus;
    }
    for (const Argument& argument : arguments) {
        if (argument.access != 'n' || argument.made == nullptr) {
            continue;
        }
        diopiDtype_t dtype = argument.dtype;
        if (argument.follows >= 0) {
            const Argument& followed = *(arguments.begin() + argument.follows);
            diopiGetTensorDtype(followed.list != nullptr ? followed.list[0] : followed.single, &dtype);
        }
        if (state.narrowsResults) {
            dtype = dtype == diopi_dtype_int64 ? diopi_dtype_int32 : dtype;
            dtype = dtype == diopi_dtype_float64 ? diopi_dtype_float32 : dtype;
        }
        for (std::int64_t k = 0; k < argument.count; ++k) {
            const std::int64_t size[] = {3, 2};
            const diopiSize_t sizes{size, 2};
            if (diopiRequireTensor(ctx, &argument.made[k], &sizes, nullptr, dtype, diopi_device) != diopiSuccess) {
                return diopiErrorOccurred;
            }
            const Layout layout = describe(argument.made[k]);
            for (std::int64_t i = 0; i < 6; ++i) {
                const long double value = static_cast<long double>((seed + 7 * i + k) % 50);
                store(at(layout, i), dtype, {value, value});
            }
        }
    }
    return diopiSuccess;
}

}  // namespace mock

namespace impl {
namespace mock {

diopiError_t diopiCastDtype(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    ++state.casts;
    return fails("diopiCastDtype") ? diopiErrorOccurred : convert(input, out);
}

diopiError_t diopiCopyInp(diopiContextHandle_t, diopiConstTensorHandle_t src, diopiTensorHandle_t dest) {
    ++state.copies;
    return fails("diopiCopyInp") ? diopiErrorOccurred : convert(src, dest);
}

diopiError_t diopiContiguous(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                             diopiMemoryFormat_t format) {
    if (fails("diopiContiguous")) {
        return diopiErrorOccurred;
    }
    const ::mock::Layout layout = ::mock::describe(input);
    std::vector<std::int64_t> stride(static_cast<std::size_t>(layout.size.len));
    std::int64_t step = 1;
    for (std::int64_t k = 0; k < layout.size.len; ++k) {
        std::int64_t dimension = layout.size.len - 1 - k;
        if (format != Contiguous) {
            dimension = k == 0 ? 1 : (k == layout.size.len - 1 ? 0 : layout.size.len - k);
        }
        stride[static_cast<std::size_t>(dimension)] = step;
        step *= layout.size.data[dimension];
    }
    const diopiSize_t strides{stride.data(), layout.size.len};
    const diopiError_t status = diopiRequireTensor(ctx, out, &layout.size, &strides, layout.dtype, diopi_device);
    return status != diopiSuccess ? status : convert(input, *out);
}

diopiError_t diopiEqual(diopiContextHandle_t, bool* out, diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t other) {
    const ::mock::Layout left = ::mock::describe(input);
    const ::mock::Layout right = ::mock::describe(other);
    *out = true;
    for (std::int64_t i = 0; i < ::mock::count(left); ++i) {
        *out = *out && ::mock::load(::mock::at(left, i), left.dtype).real ==
                           ::mock::load(::mock::at(right, i), right.dtype).real;
    }
    return diopiSuccess;
}

const char* lastError() { return state.vendorText.c_str(); }

}  // namespace mock
}  // namespace impl

extern "C" {

// The host as shims see it: `renamed.h` sends them here.
#define PROBE(name, parameters, arguments) \
    diopiError_t probed_##name parameters { return fails(#name) ? diopiErrorOccurred : name arguments; }
PROBE(diopiGetTensorDtype, (diopiConstTensorHandle_t t, diopiDtype_t* d), (t, d))
PROBE(diopiGetTensorShape, (diopiConstTensorHandle_t t, diopiSize_t* s), (t, s))
PROBE(diopiGetTensorStride, (diopiConstTensorHandle_t t, diopiSize_t* s), (t, s))
PROBE(diopiGetTensorDevice, (diopiConstTensorHandle_t t, diopiDevice_t* d), (t, d))
PROBE(diopiGetTensorDataConst, (diopiConstTensorHandle_t t, const void** d), (t, d))
PROBE(diopiGetTensorStorageOffset, (diopiConstTensorHandle_t t, int64_t* o), (t, o))
PROBE(diopiGetTensorStorageNbytes, (diopiConstTensorHandle_t t, size_t* n), (t, n))
PROBE(diopiGetTensorElemSize, (diopiConstTensorHandle_t t, int64_t* n), (t, n))
PROBE(diopiIsTensorSparse, (diopiConstTensorHandle_t t, bool* s), (t, s))
PROBE(diopiRequireTensor,
      (diopiContextHandle_t c, diopiTensorHandle_t* t, const diopiSize_t* s, const diopiSize_t* r, diopiDtype_t d,
       diopiDevice_t v),
      (c, t, s, r, d, v))
// It cannot fail: it knows nothing then, and the shim asks for each thing.
uint32_t probed_diopiHostDescribeTensor(diopiConstTensorHandle_t tensor) {
    ++state.descriptions;
    return fails("diopiHostDescribeTensor") ? 1U << 31 : diopiHostDescribeTensor(tensor);
}
PROBE(diopiHostReleaseTemporary, (diopiContextHandle_t c, diopiTensorHandle_t t), (c, t))
PROBE(diopiHostCreateView,
      (diopiTensorHandle_t * t, diopiConstTensorHandle_t b, const diopiSize_t* s, const diopiSize_t* r, int64_t o,
       diopiDtype_t d),
      (t, b, s, r, o, d))
PROBE(diopiHostDestroyTensor, (diopiTensorHandle_t t), (t))
PROBE(diopiHostCopyFromStorage, (diopiContextHandle_t c, diopiConstTensorHandle_t t, void* d, uint64_t n), (c, t, d, n))

void mock_reset() { state = State(); }
int32_t mock_initialise() {
    return diopigenRegisterHostDevice() + diopiRegisterDeviceMallocFunc(poisoned) +
           diopiRegisterDevMemFreeFunc(std::free);
}
void mock_fail_at(int64_t call) {
    state.calls = 0;
    state.failed.clear();
    state.failingCall = call;
}
int64_t mock_calls() { return state.calls; }
const char* mock_failed() { return state.failed.c_str(); }
void mock_operator_status(int32_t status) { state.operatorStatus = static_cast<diopiError_t>(status); }
void mock_operator_throws(bool throws) { state.operatorThrows = throws; }
void mock_narrows_results(bool narrows) { state.narrowsResults = narrows; }
void mock_refuses_overlap(bool refuses) { state.refusesOverlap = refuses; }
int64_t mock_descriptions() { return state.descriptions; }
int64_t mock_casts() { return state.casts; }
int64_t mock_copies() { return state.copies; }
int64_t mock_largest_allocation() { return state.largestAllocation; }
int64_t mock_record_count() { return static_cast<int64_t>(state.records.size()); }
void mock_record(int64_t index, const char** name, void const** handle, int32_t* dtype, int64_t* rank,
                 const int64_t** size, const int64_t** stride) {
    const Record& found = state.records[static_cast<std::size_t>(index)];
    *name = found.name.c_str();
    *handle = found.handle;
    *dtype = found.dtype;
    *rank = static_cast<int64_t>(found.size.size());
    *size = found.size.data();
    *stride = found.stride.data();
}
// The values of a tensor in row-major order, and back.
void mock_read(diopiConstTensorHandle_t tensor, double* real, double* imaginary) {
    int64_t i = 0;
    for (const mock::Number& number : mock::values(mock::describe(tensor))) {
        real[i] = static_cast<double>(number.real);
        imaginary[i++] = static_cast<double>(number.imaginary);
    }
}
// `imaginary` may be null.
void mock_write(diopiConstTensorHandle_t tensor, const double* real, const double* imaginary) {
    const mock::Layout layout = mock::describe(tensor);
    for (int64_t i = 0; i < mock::count(layout); ++i) {
        const long double second = imaginary == nullptr ? 0 : static_cast<long double>(imaginary[i]);
        mock::store(mock::at(layout, i), layout.dtype, {static_cast<long double>(real[i]), second});
    }
}

}  // extern "C"
