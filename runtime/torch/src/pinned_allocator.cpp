// Page-locked memory of the host, which PyTorch also knows as the host allocator of the device.
#include <c10/core/impl/alloc_cpu.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/device.h>

#include <array>
#include <map>
#include <mutex>
#include <unordered_set>

namespace diopigen::backend {

namespace {

class PinnedAllocator final : public at::HostAllocator {
  public:
    c10::DataPtr allocate(size_t bytes) override {
        void* const data = c10::alloc_cpu(bytes);
        if (data != nullptr) {
            const std::lock_guard<std::mutex> lock(mutex_);
            blocks_.emplace(static_cast<const char*>(data), Pinned{bytes, {}});
            for (auto* counts : {&stats_.active_requests, &stats_.allocations}) {
                counts->increase(1);
            }
            for (auto* sizes : {&stats_.active_bytes, &stats_.allocated_bytes}) {
                sizes->increase(bytes);
            }
            ++stats_.num_host_alloc;
        }
        return {data, data, &release, c10::Device(c10::kCPU)};
    }

    c10::DeleterFnPtr raw_deleter() const override { return &release; }

    void copy_data(void* destination, const void* source, std::size_t count) const override {
        default_copy_data(destination, source, count);
    }

    bool owns(const void* pointer) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return find(pointer) != blocks_.end();
    }

    bool record(const void* pointer, c10::Stream stream) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = find(pointer);
        if (found == blocks_.end()) {
            return false;
        }
        found->second.users.insert(stream);
        return true;
    }

    bool record_event(void* pointer, void* /*context*/, c10::Stream stream) override { return record(pointer, stream); }

    // Nothing is cached: blocks go back to the host when they are freed.
    void empty_cache() override {}

    at::HostStats get_stats() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        return stats_;
    }

    void reset_accumulated_stats() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (auto* stat : all_stats()) {
            stat->reset_accumulated();
        }
        stats_.num_host_alloc = 0;
        stats_.num_host_free = 0;
    }

    void reset_peak_stats() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (auto* stat : all_stats()) {
            stat->reset_peak();
        }
    }

  private:
    struct Pinned {
        size_t bytes;
        std::unordered_set<c10::Stream> users;
    };
    using Blocks = std::map<const char*, Pinned>;

    std::array<c10::CachingAllocator::Stat*, 4> all_stats() {
        return {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes};
    }

    static void release(void* data) { static_cast<PinnedAllocator&>(pinned_allocator()).give_back(data); }

    // The block that an address is in.
    Blocks::iterator find(const void* pointer) {
        const char* const address = static_cast<const char*>(pointer);
        auto after = blocks_.upper_bound(address);
        if (after == blocks_.begin()) {
            return blocks_.end();
        }
        --after;
        return address < after->first + after->second.bytes ? after : blocks_.end();
    }

    void give_back(void* data) {
        std::unordered_set<c10::Stream> users;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto found = blocks_.find(static_cast<const char*>(data));
            if (found != blocks_.end()) {
                users = std::move(found->second.users);
                for (auto* counts : {&stats_.active_requests, &stats_.allocations}) {
                    counts->decrease(1);
                }
                for (auto* sizes : {&stats_.active_bytes, &stats_.allocated_bytes}) {
                    sizes->decrease(found->second.bytes);
                }
                ++stats_.num_host_free;
                blocks_.erase(found);
            }
        }
        for (const c10::Stream user : users) {
            synchronize(user);
        }
        c10::free_cpu(data);
    }

    std::mutex mutex_;
    Blocks blocks_;
    at::HostStats stats_;
};

// Never destroyed: tensors may outlive every static object.
PinnedAllocator& pinned() {
    static auto* const allocator = new PinnedAllocator;
    return *allocator;
}

[[maybe_unused]] const bool kPinnedAllocatorRegistered = [] {
    at::setHostAllocator(kDeviceType, &pinned());
    return true;
}();

}  // namespace

at::HostAllocator& pinned_allocator() { return pinned(); }

bool is_pinned(const void* pointer) { return pinned().owns(pointer); }

void record_pinned(const void* pointer, c10::Stream stream) { pinned().record(pointer, stream); }

}  // namespace diopigen::backend
