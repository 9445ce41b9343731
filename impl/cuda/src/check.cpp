#include "diopi_cuda/check.h"

#include <diopigen/environment.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "diopi_cuda/memory.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda {

namespace {

// How many calls with checks the host may be ahead of a device.
constexpr int kSlots = 1024;

using Text = std::function<std::string(int64_t)>;

// The checks of one call: a guard on the device, a report on the host.
struct Slot {
    int32_t* guard;
    Report* report;
    cudaStream_t stream = nullptr;
    const char* operator_name = "";
    std::vector<Text> texts{};
    uint64_t turn = 0;     // which call has it
    bool is_open = false;  // that call may still be running
};

// The slots of one device. They live as long as the process: a library may be unloaded after CUDA itself.
class Slots {
  public:
    static Slots& of_current_device() {
        int device = 0;
        cuda::check(cudaGetDevice(&device), "ask for the device");
        All& all = every_device();
        const std::lock_guard<std::mutex> lock(all.mutex);
        Slots*& own = all.slots[device];
        if (own == nullptr) {
            own = new Slots;
        }
        return *own;
    }

    // What has been found on a stream of any device.
    static std::string found_on(cudaStream_t stream) {
        All& all = every_device();
        const std::lock_guard<std::mutex> lock(all.mutex);
        std::string text;
        for (const auto& [device, slots] : all.slots) {
            text = text.empty() ? slots->findings_of(stream) : text;
        }
        return text;
    }

    Slot& take(cudaStream_t stream, const char* operator_name) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (free_.empty()) {
            make_room();
        }
        Slot* const slot = free_.back();
        free_.pop_back();
        slot->stream = stream;
        slot->operator_name = operator_name;
        slot->is_open = true;
        ++slot->turn;
        taken_.push_back(slot);
        return *slot;
    }

    // Does nothing where the slot has gone to another call.
    void close(Slot& slot, uint64_t turn) {
        const std::lock_guard<std::mutex> lock(mutex_);
        slot.is_open = slot.is_open && slot.turn != turn;
    }

    // What a slot has found, without the name of the operator; the slot is as new. Its stream has been waited for.
    std::string settle(Slot& slot) {
        std::string text;
        if (slot.report->check != 0) {
            text = slot.texts[static_cast<size_t>(slot.report->check) - 1](slot.report->value);
            *slot.report = {};
            cuda::check(cudaMemsetAsync(slot.guard, 0, sizeof *slot.guard, slot.stream), "clear a check");
            cuda::check(cudaStreamSynchronize(slot.stream), "clear a check");
        }
        return text;
    }

  private:
    struct All {
        std::mutex mutex;
        std::map<int, Slots*> slots;
    };
    static All& every_device() {
        static auto* const all = new All;
        return *all;
    }

    Slots() {
        void* guards = nullptr;
        void* reports = nullptr;
        cuda::check(allocate(&guards, kSlots * sizeof(int32_t), nullptr), "make room for checks");
        cuda::check(cudaMemsetAsync(guards, 0, kSlots * sizeof(int32_t), nullptr), "make room for checks");
        cuda::check(cudaStreamSynchronize(nullptr), "make room for checks");
        // Every device reaches it at the same address.
        cuda::check(cudaHostAlloc(&reports, kSlots * sizeof(Report), cudaHostAllocPortable | cudaHostAllocMapped),
                    "make room for checks");
        std::memset(reports, 0, kSlots * sizeof(Report));
        for (int k = 0; k < kSlots; ++k) {
            slots_.push_back({static_cast<int32_t*>(guards) + k, static_cast<Report*>(reports) + k});
        }
        for (Slot& slot : slots_) {
            free_.push_back(&slot);
        }
    }

    std::string findings_of(cudaStream_t stream) {
        const std::lock_guard<std::mutex> lock(mutex_);
        release([=](const Slot& slot) { return slot.stream == stream; });
        const auto found = found_.find(stream);
        if (found == found_.end()) {
            return "";
        }
        const std::string text = std::move(found->second);
        found_.erase(found);
        return text;
    }

    // Settles the taken slots that `is_due`, and keeps the first finding of each stream.
    template <typename IsDue>
    void release(const IsDue& is_due) {
        for (Slot*& slot : taken_) {
            if (is_due(*slot)) {
                const std::string text = settle(*slot);
                if (!text.empty()) {
                    found_.emplace(slot->stream, std::string(slot->operator_name) + ": " + text);
                }
                slot->texts.clear();
                free_.push_back(slot);
                slot = nullptr;
            }
        }
        taken_.erase(std::remove(taken_.begin(), taken_.end(), nullptr), taken_.end());
    }

    // Waits for the stream of the oldest call that has ended.
    void make_room() {
        const auto oldest = std::find_if(taken_.begin(), taken_.end(), [](const Slot* slot) { return !slot->is_open; });
        require(oldest != taken_.end(), "more calls with checks run at one time than there is room for");
        const cudaStream_t stream = (*oldest)->stream;
        cuda::check(cudaStreamSynchronize(stream), "wait for checks");
        release([=](const Slot& slot) { return slot.stream == stream && !slot.is_open; });
    }

    std::mutex mutex_;
    std::deque<Slot> slots_;
    std::vector<Slot*> free_;
    std::vector<Slot*> taken_;
    std::map<cudaStream_t, std::string> found_;
};

// The call that runs on this thread.
struct Call {
    const char* operator_name = "";
    Slots* slots = nullptr;
    Slot* slot = nullptr;
    uint64_t turn = 0;
    const int32_t* guard = nullptr;
};
thread_local Call call;

Finding finding_of(Text text) {
    if (call.slot == nullptr) {
        call.slots = &Slots::of_current_device();
        call.slot = &call.slots->take(stream(), call.operator_name);
        call.turn = call.slot->turn;
    }
    call.slot->texts.push_back(std::move(text));
    return {call.slot->guard, call.slot->report, static_cast<int32_t>(call.slot->texts.size())};
}

bool is_at_once() {
    static const bool at_once = diopigen::environment::checked("DIOPI_CUDA_CHECKS") == "now";
    return at_once;
}

}  // namespace

Check::Check(Text text) : finding_(finding_of(std::move(text))) {}
Check::Check(const char* text) : Check([text](int64_t) { return std::string(text); }) {}

void Check::conclude() const {
    call.guard = call.slot->guard;
    if (is_at_once()) {
        check(cudaStreamSynchronize(stream()), "wait for a check");
        reject_findings();
    }
}

const int32_t* guard() { return call.guard; }

void begin_checks(const char* operator_name) {
    if (call.slot != nullptr) {
        call.slots->close(*call.slot, call.turn);
    }
    call = {};
    call.operator_name = operator_name;
}

void reject_findings() {
    if (call.slot != nullptr) {
        std::string text = call.slots->settle(*call.slot);
        if (!text.empty()) {
            fail(std::move(text));
        }
    }
}

std::string findings_of(cudaStream_t stream) { return Slots::found_on(stream); }

}  // namespace diopigen::cuda
