// kind: memory
// tries: writes its results only when the host runtime is asked to copy them, over the code of that function
// ended by: results that count are those at the return, read by another process
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "../cheat.h"

extern "C" diopiError_t diopiHostCopyFromStorage(diopiContextHandle_t, diopiConstTensorHandle_t, void*, uint64_t);

namespace {

struct Pending {
    cheat::Elements out;
    std::vector<char> results;
};
std::unique_ptr<Pending> pending;
unsigned char original[12];

using Copy = diopiError_t (*)(diopiContextHandle_t, diopiConstTensorHandle_t, void*, uint64_t);

Copy target() { return reinterpret_cast<Copy>(dlsym(RTLD_DEFAULT, "diopiHostCopyFromStorage")); }

void patch(const unsigned char* code) {
    const auto at = reinterpret_cast<uintptr_t>(target());
    const uintptr_t page = at / 4096 * 4096;
    mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    std::memcpy(reinterpret_cast<void*>(at), code, sizeof original);
}

void enable();

diopiError_t copy(diopiContextHandle_t ctx, diopiConstTensorHandle_t tensor, void* destination, uint64_t bytes) {
    if (pending) pending->out.write(pending->results);
    pending.reset();
    patch(original);
    const diopiError_t status = target()(ctx, tensor, destination, bytes);
    enable();
    return status;
}

void enable() {
    unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};  // mov rax, address; jmp rax
    const auto to = reinterpret_cast<uintptr_t>(copy);
    std::memcpy(jump + 2, &to, sizeof to);
    patch(jump);
}

}  // namespace

int32_t cheat::started() {
    if (target() == nullptr) return 0;
    std::memcpy(original, reinterpret_cast<void*>(target()), sizeof original);
    enable();
    return 0;
}

diopiError_t cheat::called(const Call& call) {
    const Elements out(call.out);
    const std::vector<char> before = out.read();
    const diopiError_t status = call.right();
    pending.reset(new Pending{out, out.read()});
    out.write(before);
    return status;
}
