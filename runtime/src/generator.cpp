// Random generators: a seed and an offset under a lock.
#include <diopigen/host.h>

#include <cstring>
#include <mutex>

#include "context.h"
#include "failure.h"
#include "tensor.h"

namespace diopigen {

struct GeneratorState {
    uint64_t seed = 0;
    uint64_t offset = 0;
};

namespace {

// Goes into a tensor of bytes as it is: seed, then offset, without padding.
static_assert(sizeof(GeneratorState) == 16, "the state tensor has 16 bytes");
constexpr int64_t kStateBytes = sizeof(GeneratorState);

const void* require_state_bytes(diopiConstTensorHandle_t state) {
    const Storage& storage = require_storage(state, "state");
    const bool is_bytes = state->dtype == diopi_dtype_uint8 && state->device == diopi_host &&
                          state->layout.size == std::vector<int64_t>{kStateBytes} && state->layout.stride.front() == 1;
    if (!is_bytes) {
        fail("parameter 'state' is not a contiguous 1-d uint8 tensor of 16 elements on the host");
    }
    return static_cast<const char*>(storage.data()) + state->storage_offset;
}

}  // namespace
}  // namespace diopigen

struct diopiGenerator {
    mutable std::mutex mutex;
    diopigen::GeneratorState state;
};

using diopigen::GeneratorState;
using diopigen::guarded;
using diopigen::require_not_null;

namespace {

GeneratorState load(const diopiGenerator& generator) {
    const std::lock_guard<std::mutex> lock(generator.mutex);
    return generator.state;
}

void store(diopiGenerator& generator, const GeneratorState& state) {
    const std::lock_guard<std::mutex> lock(generator.mutex);
    generator.state = state;
}

}  // namespace

diopiError_t diopiGeneratorGetState(diopiContextHandle_t ctx, diopiConstGeneratorHandle_t th,
                                    diopiTensorHandle_t* data) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(th, "th");
        require_not_null(data, "data");
        const diopiSize_t size{&diopigen::kStateBytes, 1};
        const diopiTensorHandle_t bytes = diopigen::require_tensor(*ctx, &size, nullptr, diopi_dtype_uint8, diopi_host);
        const GeneratorState state = load(*th);
        std::memcpy(bytes->storage->data(), &state, sizeof(state));
        *data = bytes;
    });
}

diopiError_t diopiGeneratorSetState(diopiGeneratorHandle_t th, diopiConstTensorHandle_t state) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        GeneratorState read;
        std::memcpy(&read, diopigen::require_state_bytes(state), sizeof(read));
        store(*th, read);
    });
}

diopiError_t diopiGeneratorGetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t* ptrSeed, uint64_t* ptrOffset) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        require_not_null(ptrSeed, "ptrSeed");
        require_not_null(ptrOffset, "ptrOffset");
        const GeneratorState state = load(*th);
        *ptrSeed = state.seed;
        *ptrOffset = state.offset;
    });
}

diopiError_t diopiGeneratorSetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t seed, uint64_t offset) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        store(*th, GeneratorState{seed, offset});
    });
}

diopiError_t diopiHostCreateGenerator(diopiGeneratorHandle_t* generator, uint64_t seed, uint64_t offset) {
    return guarded(__func__, [&] {
        require_not_null(generator, "generator");
        auto* const created = new diopiGenerator;
        created->state = GeneratorState{seed, offset};
        *generator = created;
    });
}

diopiError_t diopiHostDestroyGenerator(diopiGeneratorHandle_t generator) {
    return guarded(__func__, [&] {
        require_not_null(generator, "generator");
        delete generator;
    });
}
