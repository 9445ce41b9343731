// Kernels of the members of a list, launched together: one launch for all that are of one type. Which elements of which
// member a group computes is told by chunks in the memory of the device.
#ifndef DIOPI_CUDA_KERNEL_LIST_H_
#define DIOPI_CUDA_KERNEL_LIST_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <type_traits>
#include <vector>

#include "diopi_core/tensor.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/to_device.h"

namespace diopigen::cuda {

// Some calls of one kernel.
struct ListChunk {
    int64_t kernel;
    int64_t first;
    int64_t end;
};

// Chunks of kernels that are called so many times each.
std::vector<ListChunk> chunks_of(const std::vector<int64_t>& counts);

// A group brings the kernel of its chunk to shared memory and calls it for each index.
template <typename Kernel>
struct ListedKernels {
    const Kernel* kernels;
    const ListChunk* chunks;

    DIOPI_DEVICE void operator()(Group& group, int64_t at) const {
        using Word = uint32_t;
        static_assert(sizeof(Kernel) % sizeof(Word) == 0);
        const ListChunk chunk = chunks[at];
        const auto* from = reinterpret_cast<const Word*>(kernels + chunk.kernel);
        auto* to = group.template shared<Word>();
        for (int i = group.thread(); i < static_cast<int>(sizeof(Kernel) / sizeof(Word)); i += group.size()) {
            to[i] = from[i];
        }
        group.sync();
        const Kernel& kernel = *reinterpret_cast<const Kernel*>(to);
        for (int64_t i = chunk.first + group.thread(); i < chunk.end; i += group.size()) {
            kernel(i);
        }
    }
};

class KernelList {
  public:
    // Ranges of memory, joined where they overlap.
    class Ranges {
      public:
        bool overlap(const core::Tensor& tensor) const;
        void add(const core::Tensor& tensor);
        void clear() { ends_.clear(); }

      private:
        std::map<uintptr_t, uintptr_t> ends_;  // by begin
    };

    // Calls `kernel(i)` for i in [0, count) when the list is launched.
    template <typename Kernel>
    void append(const Kernel& kernel, int64_t count) {
        static_assert(std::is_trivially_copyable_v<Kernel>, "a launch copies nothing but bytes");
        Kind& kind = kind_of(&launch_kind<Kernel>);
        const size_t end = kind.bytes.size();
        kind.bytes.resize(end + sizeof(Kernel));
        std::memcpy(kind.bytes.data() + end, &kernel, sizeof(Kernel));
        kind.counts.push_back(count);
    }
    // The member that is appended next reads and writes these. What depends on members before it waits for them.
    void reserve(const std::vector<const core::Tensor*>& read, const std::vector<const core::Tensor*>& written);
    // What has been appended, of each type by one launch.
    void launch();

  private:
    struct Kind {
        void (*launch)(const Kind&);
        std::vector<char> bytes;
        std::vector<int64_t> counts;
    };
    Kind& kind_of(void (*launch)(const Kind&));

    template <typename Kernel>
    static void launch_kind(const Kind& kind) {
        const std::vector<ListChunk> chunks = chunks_of(kind.counts);
        const Buffer kernels = to_device(kind.bytes);
        const Buffer table = to_device(chunks);
        for_groups(static_cast<int64_t>(chunks.size()), kThreads, sizeof(Kernel),
                   ListedKernels<Kernel>{static_cast<const Kernel*>(kernels.data()),
                                         static_cast<const ListChunk*>(table.data())});
    }

    std::vector<Kind> kinds_;
    Ranges read_;
    Ranges written_;
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_KERNEL_LIST_H_
