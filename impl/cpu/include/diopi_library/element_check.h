// How kernels that libraries share (impl/core/kernels) reject a call for what its elements are.
#ifndef DIOPI_LIBRARY_ELEMENT_CHECK_H_
#define DIOPI_LIBRARY_ELEMENT_CHECK_H_

#include <atomic>
#include <cstdint>

#include "diopi_core/error.h"

namespace diopigen::core {

class ElementCheck {
  public:
    class Finding {
      public:
        explicit Finding(std::atomic<bool>* found) : found_(found) {}
        // By any number of threads.
        void operator()(int64_t = 0) const { found_->store(true, std::memory_order_relaxed); }

      private:
        std::atomic<bool>* found_;
    };

    // `text` says what is wrong.
    explicit ElementCheck(const char* text) : text_(text) {}
    Finding finding() { return Finding(&found_); }
    // Rejects the call if the finding was called.
    void conclude() const { require(!found_, text_); }

  private:
    const char* text_;
    std::atomic<bool> found_{false};
};

}  // namespace diopigen::core

#endif  // DIOPI_LIBRARY_ELEMENT_CHECK_H_
