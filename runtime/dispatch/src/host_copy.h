// The tensors of a call, copied to host memory.
//
// Memory is copied, not tensors: ranges of addresses that overlap are one range, so that tensors which share memory
// still do, and gaps between elements keep their bytes. What the operator only writes, without gaps, is not read.
#ifndef DIOPIGEN_DISPATCH_HOST_COPY_H_
#define DIOPIGEN_DISPATCH_HOST_COPY_H_

#include <diopi/diopirt.h>

#include <deque>
#include <memory>
#include <vector>

#include "operands.h"

namespace diopigen::dispatch {

// What is copied from the device at first: what the operator reads, or everything.
enum class Fetch { kRead, kAll };

// A dense tensor of the call: its form, and where its elements are in host memory.
struct HostTensor {
    const Operand* operand;
    int64_t index;  // in an array of tensors
    TensorInfo info;
    const char* data;
};

class HostCopy {
  public:
    // Throws a Failure; then nothing has been done that needs undoing.
    HostCopy(diopiContextHandle_t ctx, Operands operands, Fetch fetch);
    HostCopy(const HostCopy&) = delete;
    HostCopy& operator=(const HostCopy&) = delete;
    ~HostCopy();

    // Puts the copies in the place of the tensors, for one call of a function; `restore` puts the tensors back.
    void substitute();
    void restore();

    // Copies what the operator has written to the device, and moves tensors that it made there.
    void write_back();

    // Also those that the operator made, after a call.
    const std::vector<HostTensor>& tensors() const { return tensors_; }

  private:
    struct Free {
        void operator()(char* data) const;
    };
    struct Destroy {
        void operator()(diopiTensorHandle_t tensor) const;
    };
    using Handle = std::unique_ptr<std::remove_pointer_t<diopiTensorHandle_t>, Destroy>;

    struct Range {
        uintptr_t begin;
        uintptr_t end;
        diopiDevice_t device;
        bool is_read;
        bool is_written;
        std::unique_ptr<char, Free> memory;
        char* data;
    };
    struct Replaced {
        diopiTensorHandle_t* slot;
        diopiTensorHandle_t original;
        diopiTensorHandle_t copy;
    };
    // A copy of an array of handles, which the operator gets instead of the caller's.
    struct List {
        const Operand* operand;
        diopiTensorHandle_t* original;
        std::vector<diopiTensorHandle_t> handles;
    };

    void collect(const Operand& operand, int64_t index, diopiTensorHandle_t tensor, Fetch fetch);
    void collect_dense(const Operand& operand, int64_t index, diopiConstTensorHandle_t tensor, Fetch fetch);
    void merge_ranges();
    void fetch_ranges();
    Range* range_of(const TensorInfo& info);
    diopiTensorHandle_t copy_of(diopiTensorHandle_t tensor);
    diopiTensorHandle_t copy_of_dense(diopiConstTensorHandle_t tensor);
    Handle wrapped(void* data, uint64_t bytes, const diopiSize_t& size, const diopiSize_t& stride, diopiDtype_t dtype,
                   diopiDevice_t device) const;
    Handle on_device(const Range& range) const;
    void move_allocated(diopiTensorHandle_t& allocated);

    diopiContextHandle_t ctx_;
    Operands operands_;
    bool has_allocated_ = false;
    bool has_device_ = false;
    bool has_host_ = false;
    std::vector<Range> ranges_;
    std::vector<HostTensor> tensors_;
    std::vector<Handle> handles_;
    std::vector<Replaced> replaced_;
    std::deque<List> lists_;
    std::vector<std::pair<diopiTensorHandle_t, diopiTensorHandle_t>> known_;
};

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_HOST_COPY_H_
