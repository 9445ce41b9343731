#include <c10/util/env.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/device.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "blocks.h"
#include "registry.h"

namespace diopigen::backend {

namespace {

using Stat = c10::CachingAllocator::Stat;
using Stats = c10::CachingDeviceAllocator::DeviceStats;

constexpr size_t kExact = size_t{1} << 20;
constexpr size_t kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

size_t rounded_to(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

std::array<size_t, kMostDevices> unlimited() {
    std::array<size_t, kMostDevices> limits{};
    limits.fill(kNoLimit);
    return limits;
}

// Sizes that blocks have: few enough that one that is freed fits what is asked for next, at most an eighth too large.
size_t rounded(size_t bytes) {
    size_t multiple = kGranularity;
    while (bytes > 16 * multiple && bytes > kExact) {
        multiple *= 2;
    }
    return rounded_to(bytes, multiple);
}

class Allocator final : public c10::DeviceAllocator {
  public:
    c10::DataPtr allocate(size_t bytes) override {
        const c10::Stream stream = current_stream(-1);
        const c10::Device location = stream.device();
        if (C10_UNLIKELY(bytes == 0)) {
            return {nullptr, location};
        }
        if (C10_UNLIKELY(is_forked())) {
            initialize();  // throws
        }
        const size_t size = rounded(bytes);
        const std::lock_guard<std::mutex> lock(mutex_);
        if (C10_UNLIKELY(!leaving_.empty())) {
            collect();
        }
        Stats& stats = stats_[static_cast<size_t>(stream.device_index())];
        const bool may_capture = captures_underway.load(std::memory_order_relaxed) != 0;
        Waiting& waiting = C10_UNLIKELY(may_capture) ? waiting_in_capture(stream) : waiting_on(stream);
        Block* block = waiting.take(size);
        if (C10_UNLIKELY(block == nullptr)) {
            block = create_block(stats, bytes, stream, &waiting);
        }
        block->requested = bytes;
        stats.allocation[kAll].increase(1);
        stats.active[kAll].increase(1);
        stats.allocated_bytes[kAll].increase(block->bytes);
        stats.active_bytes[kAll].increase(block->bytes);
        stats.requested_bytes[kAll].increase(bytes);
        return {block->data, block, &release, location};
    }

    // Blocks are known by their records, not by their addresses: there is no way to free a bare pointer.
    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

    void copy_data(void* destination, const void* source, std::size_t count) const override {
        copy_on_device(current_handle(current_device()), destination, source, count);
    }

    bool initialized() override { return is_initialized(); }

    void emptyCache(c10::MempoolId_t /*pool*/ = {0, 0}) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        empty_locked();
    }

    void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
        if (data.get_deleter() != &release) {
            return;  // not of this allocator
        }
        auto* const block = static_cast<Block*>(data.get_context());
        const std::lock_guard<std::mutex> lock(mutex_);
        std::vector<c10::Stream>& users = block->users;
        if (block->stream != stream && std::find(users.begin(), users.end(), stream) == users.end()) {
            users.push_back(stream);
        }
    }

    Stats getDeviceStats(c10::DeviceIndex device) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        return stats_[static_cast<size_t>(device)];
    }

    void resetAccumulatedStats(c10::DeviceIndex device) override {
        for_each(device, [](Stat& stat) { stat.reset_accumulated(); });
    }

    void resetPeakStats(c10::DeviceIndex device) override {
        for_each(device, [](Stat& stat) { stat.reset_peak(); });
    }

    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
        const MemoryInfo info = memory_info(device);
        return {info.free, info.total};
    }

    void set_limit(c10::DeviceIndex device, size_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        limits_[static_cast<size_t>(device)] = bytes;
    }

    void open_pool(c10::MempoolId_t pool) {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++pools_[pool].graphs;
    }

    void close_pool(c10::MempoolId_t id) {
        const std::lock_guard<std::mutex> lock(mutex_);
        Pool& pool = pools_.at(id);
        if (--pool.graphs != 0) {
            return;
        }
        for (Block* const block : pool.blocks) {
            block->waiting = &waiting_[block->stream];
        }
        for (auto& [stream, waiting] : pool.waiting) {
            Block* block = waiting.take_all();
            while (block != nullptr) {
                Block* const next = block->next;
                block->waiting->put(block);
                block = next;
            }
        }
        pools_.erase(id);
    }

    void return_deferred(c10::MempoolId_t id) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (Block* const block : std::exchange(pools_.at(id).deferred, {})) {
            put(block);
        }
    }

  private:
    static void release(void* block) {
        static_cast<Allocator&>(device_allocator()).give_back(static_cast<Block*>(block));
    }

    template <typename Action>
    void for_each(c10::DeviceIndex device, const Action& action) {
        const std::lock_guard<std::mutex> lock(mutex_);
        Stats& stats = stats_[static_cast<size_t>(device)];
        for (auto* array :
             {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split, &stats.allocated_bytes,
              &stats.reserved_bytes, &stats.active_bytes, &stats.inactive_split_bytes, &stats.requested_bytes}) {
            for (Stat& stat : *array) {
                action(stat);
            }
        }
    }

    // Returns whether the process may have so many bytes more of the device.
    bool fits(const Stats& stats, size_t bytes, c10::DeviceIndex device) const {
        const size_t limit = limits_[static_cast<size_t>(device)];
        return limit == kNoLimit || static_cast<size_t>(stats.reserved_bytes[kAll].current) + bytes <= limit;
    }

    Waiting& waiting_on(c10::Stream stream) {
        if (C10_UNLIKELY(latest_ == nullptr || latest_stream_ != stream)) {
            latest_ = &waiting_[stream];
            latest_stream_ = stream;
        }
        return *latest_;
    }

    Waiting& waiting_in_capture(c10::Stream stream) {
        const std::optional<c10::MempoolId_t> id = pool_of_capture(stream);
        if (!id.has_value()) {
            return waiting_on(stream);
        }
        Pool& pool = pools_.at(*id);
        Waiting& waiting = pool.waiting[stream];
        waiting.pool = &pool;
        return waiting;
    }

    Block* create_block(Stats& stats, size_t requested, c10::Stream stream, Waiting* waiting) {
        initialize();
        const malloc_func_t allocate = device_functions().require_allocate();
        const auto attempt = [&](size_t size) {
            return fits(stats, size, stream.device_index()) ? allocate(size) : nullptr;
        };
        size_t bytes = rounded(requested);
        void* data = attempt(bytes);
        if (data == nullptr) {
            ++stats.num_alloc_retries;
            empty_locked();
            data = attempt(bytes);
        }
        if (data == nullptr) {
            // The bytes added by rounding may be those that are missing.
            bytes = rounded_to(requested, kGranularity);
            data = attempt(bytes);
        }
        if (data == nullptr) {
            ++stats.num_ooms;
            const auto text = device_functions().get_last_error_string;
            const char* const reason = text == nullptr ? nullptr : text();
            TORCH_CHECK_WITH(OutOfMemoryError, false, "device ", static_cast<int>(stream.device_index()),
                             " is out of memory: ", bytes, " bytes are asked for, ",
                             stats.allocated_bytes[kAll].current, " are in use", reason == nullptr ? "" : ": ",
                             reason == nullptr ? "" : reason);
        }
        stats.segment[kAll].increase(1);
        stats.reserved_bytes[kAll].increase(bytes);
        auto* const block = new Block{data, bytes, 0, stream, waiting, nullptr, {}};
        if (waiting->pool != nullptr) {
            waiting->pool->blocks.push_back(block);
        }
        return block;
    }

    void give_back(Block* block) {
        if (C10_UNLIKELY(is_forked())) {
            return;  // the device and its memory are the parent's
        }
        if (C10_UNLIKELY(!block->users.empty())) {
            leave(block);
            return;
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        end(*block);
        put(block);
    }

    // The same for a block that other streams use.
    void leave(Block* block) {
        if (captures_underway.load(std::memory_order_relaxed) != 0) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (Pool* const pool = block->waiting->pool) {
                block->users.clear();
                end(*block);
                pool->deferred.push_back(block);
                return;
            }
        }
        Leaving leaving{block, ends_of_uses(*block)};
        block->users.clear();
        const std::lock_guard<std::mutex> lock(mutex_);
        end(*block);
        if (leaving.is_over()) {
            put(block);
        } else {
            leaving_.push_back(std::move(leaving));
        }
    }

    // Notes that the tensor of a block has ended.
    void end(const Block& block) {
        Stats& stats = stats_[static_cast<size_t>(block.stream.device_index())];
        stats.allocation[kAll].decrease(1);
        stats.allocated_bytes[kAll].decrease(block.bytes);
        stats.requested_bytes[kAll].decrease(block.requested);
    }

    // The streams that use a block besides its own go on with it: the host does not wait for them.
    static std::vector<std::unique_ptr<Event>> ends_of_uses(const Block& block) {
        std::vector<std::unique_ptr<Event>> ends;
        for (const c10::Stream user : block.users) {
            try {
                ends.push_back(std::make_unique<Event>());
                ends.back()->record(user);
            } catch (const std::exception&) {
                // A destructor asks. Work that failed is over too, and streams that wait for it have failed as well.
            }
        }
        return ends;
    }

    // A block that no stream but its own uses may be used again.
    void put(Block* block) {
        Stats& stats = stats_[static_cast<size_t>(block->stream.device_index())];
        stats.active[kAll].decrease(1);
        stats.active_bytes[kAll].decrease(block->bytes);
        block->waiting->put(block);
    }

    void collect() {
        const auto over = std::remove_if(leaving_.begin(), leaving_.end(), [this](const Leaving& leaving) {
            const bool is_over = leaving.is_over();
            if (is_over) {
                put(leaving.block);
            }
            return is_over;
        });
        leaving_.erase(over, leaving_.end());
    }

    void empty_locked() {
        if (!is_initialized() || is_forked()) {
            return;
        }
        const free_func_t release = device_functions().require_free();
        for (const Leaving& leaving : leaving_) {
            for (const std::unique_ptr<Event>& end : leaving.ends) {
                try {
                    end->synchronize();
                } catch (const std::exception&) {
                    // As in ends_of_uses.
                }
            }
            put(leaving.block);
        }
        leaving_.clear();
        for (auto& [stream, waiting] : waiting_) {
            if (captures_underway.load(std::memory_order_relaxed) != 0 && is_capturing(handle_of(stream))) {
                continue;  // the host cannot wait for it
            }
            Stats& stats = stats_[static_cast<size_t>(stream.device_index())];
            if (!waiting.is_empty()) {
                synchronize(stream);  // may throw: the blocks are where they were then
            }
            Block* block = waiting.take_all();
            while (block != nullptr) {
                release(block->data);
                stats.segment[kAll].decrease(1);
                stats.reserved_bytes[kAll].decrease(block->bytes);
                delete std::exchange(block, block->next);
            }
        }
    }

    std::mutex mutex_;
    std::unordered_map<c10::Stream, Waiting> waiting_;
    Waiting* latest_ = nullptr;  // of latest_stream_: most tensors are of the stream of the one before
    c10::Stream latest_stream_ = c10::Stream(c10::Stream::UNSAFE, c10::Device(kDeviceType, 0), 0);
    std::map<c10::MempoolId_t, Pool> pools_;
    std::vector<Leaving> leaving_;
    std::array<Stats, kMostDevices> stats_;
    std::array<size_t, kMostDevices> limits_ = unlimited();
};

// Never destroyed: tensors may outlive every static object.
Allocator& allocator_of_devices() {
    static auto* const allocator = new Allocator;
    return *allocator;
}

}  // namespace

c10::DeviceAllocator& device_allocator() { return allocator_of_devices(); }

void set_memory_fraction(c10::DeviceIndex device, double fraction) {
    const uint64_t total = memory_info(device).total;
    TORCH_CHECK(total != 0 || fraction == 1, "the device does not tell how much memory it has");
    allocator_of_devices().set_limit(
        device, fraction == 1 ? kNoLimit : static_cast<size_t>(fraction * static_cast<double>(total)));
}

void open_pool(c10::MempoolId_t pool) { allocator_of_devices().open_pool(pool); }

void close_pool(c10::MempoolId_t pool) { allocator_of_devices().close_pool(pool); }

void return_deferred(c10::MempoolId_t pool) { allocator_of_devices().return_deferred(pool); }

}  // namespace diopigen::backend
