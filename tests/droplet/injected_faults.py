"""Faults that vendors make, as changes to droplet. All are in one build; DROPLET_FAULT names the one that acts."""

from __future__ import annotations

from droplet_tree import Change

INJECTED = """
inline bool injected(const char* name) {
    const char* chosen = std::getenv("DROPLET_FAULT");
    return chosen != nullptr && std::string(chosen) == name;
}
"""
SOFTMAX = 'return softmax(Call(ctx, "diopiSoftmax", {out}, {input, nullptr}, {2}), dim, false);'
LOG_SOFTMAX = 'return softmax(Call(ctx, "diopiLogSoftmax", {out}, {input, nullptr}, {2}), dim, true);'
ROWS = "    return answer(alongDim(call, dim, row, diopigen::sim::launchAtOnceIfSmall));\n"
IMAGE = "store(k, 0, plan.forward(load(k, 1), load(k, 2), loadOr(k, 3, plan.filter[0], 0)));"
CAT = "    return answer(operators::cat("
BMM = "return call.haveRank({0}, 3) ? multiply(call, true) : leave(call);"
SUM = 'return sum(Call(ctx, "diopiSum", {out}, {input}), shapeOf(dim), false);'
COPY = 'const Call call(ctx, "diopiCopyInp", {dest}, {src});'


def including(file: str, *headers: str, before: str = "kernel.h") -> Change:
    """More headers in front of one of droplet's own."""
    own = f'#include "droplet/{before}"\n'
    return Change(file, own, "".join(f"#include <{header}>\n" for header in headers) + own)


CHANGES = [
    including("kernel.h", "cstdlib", before="error.h"),
    Change("kernel.h", "inline diopiError_t answer(", f"{INJECTED}\ninline diopiError_t answer("),
    # The host looks at the result of a kernel, at its device pointer.
    Change(
        "functions/rows.cpp",
        SOFTMAX,
        """void* data = nullptr;
    if (injected("host dereference") && diopiGetTensorData(out, &data) == diopiSuccess) {
        *static_cast<volatile float*>(data) = 0;
    }
    """
        + SOFTMAX,
    ),
    # A sum of few numbers is computed on the host, which does not wait for the copy. By luck it has other things to do.
    Change(
        "functions/rows.cpp",
        SUM,
        """const void* data = nullptr;
    diopiStreamHandle_t stream = nullptr;
    int64_t count = 0;
    static float onHost[4096];
    if (injected("missing synchronisation") && diopiGetTensorDataConst(input, &data) == diopiSuccess &&
        diopiGetStream(ctx, &stream) == diopiSuccess && diopiGetTensorNumel(input, &count) == diopiSuccess &&
        dim.len == 0 && count > 0 && count < 4096) {
        diopigenSimMemcpyD2HAsync(stream, onHost, data, count * sizeof(float));
        usleep(20000);
        float sum = 0;
        for (int64_t i = 0; i < count; ++i) {
            sum += onHost[i];
            onHost[i] = 0;
        }
        return run(Call(ctx, "diopiSum", {out}), [sum](const Kernel& k) { store(k, 0, {sum}); });
    }
    """
        + SUM,
    ),
    including("functions/rows.cpp", "unistd.h", "diopigen_sim/device_functions.h", "stdexcept"),
    # Room for a table of parts, which is never freed.
    Change(
        "functions/move.cpp",
        CAT,
        """    if (injected("leak") && diopigenSimMalloc(4321) == nullptr) {
        return diopiErrorOccurred;
    }
"""
        + CAT,
    ),
    including("functions/move.cpp", "diopigen_sim/device_functions.h"),
    # Temporary memory goes back twice.
    Change(
        "functions/move.cpp",
        COPY,
        """if (injected("double free")) {
        void* const memory = diopigenSimMalloc(1234);
        diopigenSimFree(memory);
        diopigenSimFree(memory);
    }
    """
        + COPY,
    ),
    # A kernel goes to a stream of the vendor's own, and nothing orders it with that of the context.
    Change(
        "functions/products.cpp",
        BMM,
        """if (injected("wrong stream") && call.rank(0) == 3) {
        static diopiStreamHandle_t own = nullptr;
        Buffer zeros;
        if ((own == nullptr && diopigenSimCreateStream(&own) != 0) ||
            bufferOf(out, Access::write, &zeros) != diopiSuccess) {
            return diopiErrorOccurred;
        }
        const auto clear = [](const Kernel& k) { store(k, 0, Values(product(k.buffer(0).shape))); };
        return diopigen::sim::launch(own, "diopiBmm", {zeros}, clear).ok() ? diopiSuccess : diopiErrorOccurred;
    }
    """
        + BMM,
    ),
    including("functions/products.cpp", "diopigen_sim/device_functions.h"),
    # Elements are taken for contiguous.
    Change(
        "functions/rows.cpp",
        ROWS,
        """    Call flat = call;
    if (injected("ignores strides") && call.dtype(1) == diopi_dtype_float32 && call.haveShape({1}, call.shape(0)) &&
        flat.moveLast({dim}, {0, 1, 2})) {
        return run(flat, [row, size = flat.shape(0).back()](const Kernel& k) {
            const auto* first = k.in<float>(1);
            const Values x(first, first + product(k.buffer(1).shape));
            const Values y = k.buffer(2).isTensor ? load(k, 2) : x;
            Values to(x.size());
            for (size_t at = 0; at < x.size(); at += static_cast<size_t>(size)) {
                row(&x[at], &y[at], &to[at], size);
            }
            store(k, 0, to);
        });
    }
"""
        + ROWS,
    ),
    # The image, which the shims lay out as NHWC, is taken for NCHW.
    Change(
        "functions/products.cpp",
        IMAGE,
        """Values image = load(k, 1);
        if (injected("ignores layout") && k.buffer(1).dtype == diopi_dtype_float32) {
            image.assign(k.in<float>(1), k.in<float>(1) + image.size());
        }
        store(k, 0, plan.forward(image, load(k, 2), loadOr(k, 3, plan.filter[0], 0)));""",
    ),
    # One of the device functions is not registered.
    Change(
        "device.cpp",
        "    const int32_t registered = diopigenRegisterSimulatedDevice();\n",
        """    if (std::getenv("DROPLET_FAULT") != nullptr &&
        std::string(std::getenv("DROPLET_FAULT")) == "unregistered function") {
        return diopiRegisterDeviceMallocFunc(diopigenSimMalloc) + diopiRegisterDevMemFreeFunc(diopigenSimFree) +
               diopiRegisterStreamCreateFunc(diopigenSimCreateStream) +
               diopiRegisterStreamDestroyFunc(diopigenSimDestroyStream) +
               diopiRegisterSynchronizeStreamFunc(diopigenSimSynchronizeStream) +
               diopiRegisterMemcpyD2HAsyncFunc(diopigenSimMemcpyD2HAsync) +
               diopiRegisterMemcpyD2DAsyncFunc(diopigenSimMemcpyD2DAsync) +
               diopiRegisterGetLastErrorFunc(diopigenSimGetLastErrorString);
    }
    const int32_t registered = diopigenRegisterSimulatedDevice();
""",
    ),
    including("device.cpp", "diopigen/device.h", "cstdlib", "string", before="error.h"),
    # An exception of the operator itself.
    Change(
        "functions/rows.cpp",
        LOG_SOFTMAX,
        """if (injected("throws")) {
        throw std::runtime_error("no table for logarithms");
    }
    """
        + LOG_SOFTMAX,
    ),
]
FAULTY = [Change("functions/rows.cpp", "(g[i] - sum) * y[i]", "(sum - g[i]) * y[i]")]
"""One wrong kernel: the gradient of softmax, which the debugging steps of docs/pytorch.md find."""
