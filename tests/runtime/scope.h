// A context for the length of a test, and short forms of what tests make most.
#ifndef DIOPIGEN_TESTS_RUNTIME_SCOPE_H_
#define DIOPIGEN_TESTS_RUNTIME_SCOPE_H_

#include <vector>

#include "check.h"
#include "fake_device.h"

namespace check {

class ContextScope {
  public:
    ContextScope() { CHECK_OK(diopiHostCreateContext(&handle_)); }
    ~ContextScope() {
        // The test may have taken functions away.
        fake::registerAll();
        CHECK_OK(diopiHostDestroyContext(handle_));
    }
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;
    operator diopiContextHandle_t() const { return handle_; }

    diopiTensorHandle_t temporary(const std::vector<int64_t>& size, diopiDtype_t dtype, diopiDevice_t device) const {
        const diopiSize_t shape = sizeOf(size);
        diopiTensorHandle_t tensor = nullptr;
        CHECK_OK(diopiRequireTensor(handle_, &tensor, &shape, nullptr, dtype, device));
        return tensor;
    }

    diopiTensorHandle_t tensor(const std::vector<int64_t>& size, diopiDtype_t dtype, diopiDevice_t device) const {
        const diopiSize_t shape = sizeOf(size);
        diopiTensorHandle_t tensor = nullptr;
        CHECK_OK(diopiHostCreateTensor(handle_, &tensor, &shape, nullptr, 0, dtype, device));
        return tensor;
    }

    int64_t temporaryCount() const {
        int64_t count = -1;
        CHECK_OK(diopiHostGetTemporaryCount(handle_, &count));
        return count;
    }

  private:
    diopiContextHandle_t handle_ = nullptr;
};

}  // namespace check

#endif  // DIOPIGEN_TESTS_RUNTIME_SCOPE_H_
