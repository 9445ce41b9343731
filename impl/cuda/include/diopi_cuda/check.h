// Device-side validation without host synchronisation: what must be rejected and only the device can see, such as an
// index out of range.
//
// A kernel looks, and calls the finding where it meets what is wrong. From `conclude` on, kernels of the same call do
// nothing where there is one: no output is written, and no index leads out of memory. The status comes with the next
// wait of the host for the stream (device.cpp), or at once where the call itself waits for a result of its own.
// DIOPI_CUDA_CHECKS=now waits at each check, so that the call at fault gives the status.
#ifndef DIOPI_CUDA_CHECK_H_
#define DIOPI_CUDA_CHECK_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>

#include "diopi_cuda/group.h"

namespace diopigen::cuda {

// What a kernel found, in memory of the host: which check of the call, and the value that was wrong.
struct Report {
    int64_t value;
    int32_t check;  // 0: nothing
};

class Finding {
  public:
    Finding(int32_t* guard, Report* report, int32_t check) : guard_(guard), report_(report), check_(check) {}
    // By any number of threads: one of them is reported.
    DIOPI_DEVICE void operator()(int64_t value = 0) const {
        report_->value = value;
        report_->check = check_;
        *guard_ = 1;
    }

  private:
    int32_t* guard_;
    Report* report_;
    int32_t check_;
};

class Check {
  public:
    // `text` says what is wrong with a value.
    explicit Check(std::function<std::string(int64_t value)> text);
    explicit Check(const char* text);

    const Finding& finding() const { return finding_; }
    void conclude() const;

  private:
    Finding finding_;
};

// The word that kernels look at before they start: 0 lets them go on. Null where the call has concluded no check.
const int32_t* guard();

// A call of an operator begins on this thread.
void begin_checks(const char* operator_name);
// Throws what this call's own checks have found. The host has waited for the stream.
void reject_findings();
// What checks of all calls on a stream have found, the first of them; empty where there is none. The host has waited
// for the stream. What is told is forgotten.
std::string findings_of(cudaStream_t stream);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_CHECK_H_
