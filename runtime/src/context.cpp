#include "context.h"

#include <diopigen/host.h>

#include <string>
#include <utility>

#include "failure.h"

namespace diopigen {

diopiTensorHandle_t require_tensor(diopiContext& context, const diopiSize_t* size, const diopiSize_t* stride,
                                   diopiDtype_t dtype, diopiDevice_t device) {
    std::unique_ptr<diopiTensor> tensor = allocate_tensor(make_layout(size, stride), 0, dtype, device, context.stream);
    tensor->owner = &context;
    const diopiTensorHandle_t handle = tensor.get();
    context.temporaries.emplace(handle, std::move(tensor));
    return handle;
}

}  // namespace diopigen

using diopigen::guarded;
using diopigen::require_not_null;

diopiError_t diopiGetStream(diopiContextHandle_t ctx, diopiStreamHandle_t* stream) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(stream, "stream");
        *stream = ctx->stream->handle();
    });
}

diopiError_t diopiRequireTensor(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                const diopiSize_t* stride, const diopiDtype_t dtype, const diopiDevice_t device) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(tensor, "tensor");
        *tensor = diopigen::require_tensor(*ctx, size, stride, dtype, device);
    });
}

diopiError_t diopiRequireBuffer(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, int64_t num_bytes,
                                diopiDevice_t device) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(tensor, "tensor");
        if (num_bytes < 0) {
            diopigen::fail("parameter 'num_bytes' is negative (" + std::to_string(num_bytes) + ")");
        }
        const diopiSize_t size{&num_bytes, 1};
        *tensor = diopigen::require_tensor(*ctx, &size, nullptr, diopi_dtype_int8, device);
    });
}

diopiError_t diopiHostCreateContext(diopiContextHandle_t* ctx) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        *ctx = new diopiContext;
    });
}

diopiError_t diopiHostDestroyContext(diopiContextHandle_t ctx) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        ctx->stream->require_destroy_function();
        for (const auto& temporary : ctx->temporaries) {
            temporary.second->storage->require_free_function();
        }
        ctx->stream->synchronize();
        // The stream goes before the memory: ending it can fail, freeing cannot, and a failure must leave all in place.
        ctx->stream->destroy();
        delete ctx;
    });
}

diopiError_t diopiHostSynchronize(diopiContextHandle_t ctx) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        ctx->stream->synchronize();
    });
}

diopiError_t diopiHostGetTemporaryCount(diopiContextHandle_t ctx, int64_t* count) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(count, "count");
        *count = static_cast<int64_t>(ctx->temporaries.size());
    });
}

diopiError_t diopiHostReleaseTemporary(diopiContextHandle_t ctx, diopiTensorHandle_t tensor) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(tensor, "tensor");
        const auto found = ctx->temporaries.find(tensor);
        if (found == ctx->temporaries.end()) {
            diopigen::fail("parameter 'tensor' is not a temporary of this context");
        }
        diopigen::prepare_to_free(*tensor);
        ctx->temporaries.erase(found);
    });
}

diopiError_t diopiHostReleaseTemporaries(diopiContextHandle_t ctx) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        if (ctx->temporaries.empty()) {
            return;
        }
        for (const auto& temporary : ctx->temporaries) {
            temporary.second->storage->require_free_function();
        }
        ctx->stream->synchronize();
        ctx->temporaries.clear();
    });
}
