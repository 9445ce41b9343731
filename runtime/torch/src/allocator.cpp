#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/env.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/device.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "registry.h"

namespace diopigen::backend {

namespace {

using Stat = c10::CachingAllocator::Stat;
using Stats = c10::CachingDeviceAllocator::DeviceStats;

constexpr size_t kGranularity = 512;
constexpr size_t kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

struct Block {
    void* data = nullptr;
    size_t bytes = 0;
    size_t requested = 0;
    c10::Stream stream;
    // Other streams that use the block.
    std::vector<c10::Stream> users;
};

// Blocks that wait for the next use on their stream, by size.
using Waiting = std::multimap<size_t, void*>;

class Allocator final : public c10::DeviceAllocator {
  public:
    c10::DataPtr allocate(size_t bytes) override {
        initialize();
        const c10::DeviceIndex device = currentDevice();
        const c10::Device place(kDeviceType, device);
        if (bytes == 0) {
            return {nullptr, place};
        }
        const c10::Stream stream = currentStream(device);
        const size_t rounded = (bytes + kGranularity - 1) / kGranularity * kGranularity;
        const std::lock_guard<std::mutex> lock(mutex_);
        Stats& stats = stats_[device];
        Block block = reused(stream, rounded).value_or(Block{nullptr, rounded, bytes, stream, {}});
        block.requested = bytes;
        if (block.data == nullptr) {
            block.data = made(stats, rounded, stream);
            stats.segment[kAll].increase(1);
            stats.reserved_bytes[kAll].increase(rounded);
        }
        stats.allocation[kAll].increase(1);
        stats.active[kAll].increase(1);
        stats.allocated_bytes[kAll].increase(block.bytes);
        stats.active_bytes[kAll].increase(block.bytes);
        stats.requested_bytes[kAll].increase(bytes);
        void* const data = block.data;
        live_.emplace(data, std::move(block));
        return {data, data, &release, place};
    }

    c10::DeleterFnPtr raw_deleter() const override { return &release; }

    void copy_data(void* destination, const void* source, std::size_t count) const override {
        const c10::DeviceIndex device = currentDevice();
        copyOnDevice(currentHandle(device), destination, source, count);
    }

    bool initialized() override { return isInitialized(); }

    void emptyCache(c10::MempoolId_t /*pool*/ = {0, 0}) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        emptyLocked();
    }

    void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = live_.find(data.get());
        if (found == live_.end() || found->second.stream == stream) {
            return;
        }
        std::vector<c10::Stream>& users = found->second.users;
        if (std::find(users.begin(), users.end(), stream) == users.end()) {
            users.push_back(stream);
        }
    }

    Stats getDeviceStats(c10::DeviceIndex device) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        return stats_[device];
    }

    void resetAccumulatedStats(c10::DeviceIndex device) override {
        forEach(device, [](Stat& stat) { stat.reset_accumulated(); });
    }

    void resetPeakStats(c10::DeviceIndex device) override {
        forEach(device, [](Stat& stat) { stat.reset_peak(); });
    }

    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
        const MemoryInfo info = memoryInfo(device);
        return {info.free, info.total};
    }

  private:
    static void release(void* data) { static_cast<Allocator&>(deviceAllocator()).giveBack(data); }

    template <typename Action>
    void forEach(c10::DeviceIndex device, const Action& action) {
        const std::lock_guard<std::mutex> lock(mutex_);
        Stats& stats = stats_[device];
        for (auto* array :
             {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split, &stats.allocated_bytes,
              &stats.reserved_bytes, &stats.active_bytes, &stats.inactive_split_bytes, &stats.requested_bytes}) {
            for (Stat& stat : *array) {
                action(stat);
            }
        }
    }

    std::optional<Block> reused(c10::Stream stream, size_t bytes) {
        const auto place = waiting_.find(stream);
        if (place == waiting_.end()) {
            return std::nullopt;
        }
        const auto found = place->second.lower_bound(bytes);
        // Not much larger than asked for: the rest would be lost as long as the block lives.
        if (found == place->second.end() || found->first > bytes + std::max(bytes / 4, kGranularity)) {
            return std::nullopt;
        }
        Block block{found->second, found->first, 0, stream, {}};
        place->second.erase(found);
        return block;
    }

    void* made(Stats& stats, size_t bytes, c10::Stream stream) {
        const malloc_func_t allocate = deviceFunctions().requireAllocate();
        void* data = allocate(bytes);
        if (data == nullptr) {
            ++stats.num_alloc_retries;
            emptyLocked();
            data = allocate(bytes);
        }
        if (data == nullptr) {
            ++stats.num_ooms;
            const auto text = deviceFunctions().getLastErrorString;
            const char* const reason = text == nullptr ? nullptr : text();
            TORCH_CHECK_WITH(OutOfMemoryError, false, "device ", static_cast<int>(stream.device_index()),
                             " is out of memory: ", bytes, " bytes are asked for, ",
                             stats.allocated_bytes[kAll].current, " are in use", reason == nullptr ? "" : ": ",
                             reason == nullptr ? "" : reason);
        }
        return data;
    }

    void giveBack(void* data) {
        Block block{nullptr, 0, 0, defaultStream(0), {}};
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto found = live_.find(data);
            if (found == live_.end()) {
                return;
            }
            block = std::move(found->second);
            live_.erase(found);
        }
        // Other streams are rare: waiting for them here is simpler than asking them later.
        for (const c10::Stream user : block.users) {
            synchronize(user);
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        Stats& stats = stats_[block.stream.device_index()];
        stats.allocation[kAll].decrease(1);
        stats.active[kAll].decrease(1);
        stats.allocated_bytes[kAll].decrease(block.bytes);
        stats.active_bytes[kAll].decrease(block.bytes);
        stats.requested_bytes[kAll].decrease(block.requested);
        waiting_[block.stream].emplace(block.bytes, block.data);
    }

    void emptyLocked() {
        if (!isInitialized()) {
            return;
        }
        const free_func_t release = deviceFunctions().requireFree();
        for (auto& [stream, blocks] : waiting_) {
            if (blocks.empty()) {
                continue;
            }
            synchronize(stream);
            Stats& stats = stats_[stream.device_index()];
            for (const auto& [bytes, data] : blocks) {
                release(data);
                stats.segment[kAll].decrease(1);
                stats.reserved_bytes[kAll].decrease(bytes);
            }
            blocks.clear();
        }
    }

    std::mutex mutex_;
    std::unordered_map<void*, Block> live_;
    std::unordered_map<c10::Stream, Waiting> waiting_;
    std::unordered_map<c10::DeviceIndex, Stats> stats_;
};

class PinnedAllocator final : public c10::Allocator {
  public:
    c10::DataPtr allocate(size_t bytes) override {
        void* const data = c10::alloc_cpu(bytes);
        if (data != nullptr) {
            const std::lock_guard<std::mutex> lock(mutex_);
            blocks_.emplace(static_cast<const char*>(data), Pinned{bytes, {}});
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

    void record(const void* pointer, c10::Stream stream) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = find(pointer);
        if (found != blocks_.end()) {
            found->second.users.insert(stream);
        }
    }

  private:
    struct Pinned {
        size_t bytes;
        std::unordered_set<c10::Stream> users;
    };
    using Blocks = std::map<const char*, Pinned>;

    static void release(void* data) { static_cast<PinnedAllocator&>(pinnedAllocator()).giveBack(data); }

    // The block that an address lies in.
    Blocks::iterator find(const void* pointer) {
        const char* const address = static_cast<const char*>(pointer);
        auto after = blocks_.upper_bound(address);
        if (after == blocks_.begin()) {
            return blocks_.end();
        }
        --after;
        return address < after->first + after->second.bytes ? after : blocks_.end();
    }

    void giveBack(void* data) {
        std::unordered_set<c10::Stream> users;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto found = blocks_.find(static_cast<const char*>(data));
            if (found != blocks_.end()) {
                users = std::move(found->second.users);
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
};

PinnedAllocator& pinned() {
    static auto* const allocator = new PinnedAllocator;
    return *allocator;
}

}  // namespace

// Never destroyed: tensors may outlive every static object.
c10::DeviceAllocator& deviceAllocator() {
    static auto* const allocator = new Allocator;
    return *allocator;
}

c10::Allocator& pinnedAllocator() { return pinned(); }

bool isPinned(const void* pointer) { return pinned().owns(pointer); }

void recordPinned(const void* pointer, c10::Stream stream) { pinned().record(pointer, stream); }

}  // namespace diopigen::backend
