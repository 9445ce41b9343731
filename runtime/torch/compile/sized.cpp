// Values derived from the sizes of a call: layouts, numbers, the plan of the arena. Those of recent sizes are cached.
#include "sized.h"

#include <diopigen_torch/device.h>
#include <diopigen_torch/resolved.h>

#include <algorithm>

namespace diopigen::backend {

namespace {

LaunchPlan launch_of(const Json& plan, const Numbers& numbers) {
    LaunchPlan launch;
    for (const Json& buffer : plan.at("buffers").list()) {
        launch.buffers.push_back(
            {nullptr, static_cast<uint64_t>(numbers.integer(buffer.at("bytes"))), buffer.at("written").boolean()});
    }
    launch.numbers = numbers.integers(plan.at("numbers"));
    launch.items = numbers.integer(plan.at("items"));
    launch.grain = numbers.integer(plan.at("grain"));
    return launch;
}

}  // namespace

Program::~Program() = default;

Program::Sized::~Sized() {
    if (!constants.empty()) {
        synchronize_device(device);
    }
}

// Null where an input or a number is missing, or a size is not in its range.
std::optional<std::vector<int64_t>> Program::symbols_of(const std::vector<at::Tensor>& inputs,
                                                        const std::vector<int64_t>& numbers) const {
    std::vector<int64_t> values;
    values.reserve(symbols_.size());
    for (const SymbolPlan& symbol : symbols_) {
        if (symbol.is_number) {
            if (symbol.index >= numbers.size()) {
                return std::nullopt;
            }
            values.push_back(numbers[symbol.index]);
        } else {
            if (symbol.index >= inputs.size() || !inputs[symbol.index].defined() ||
                inputs[symbol.index].dim() <= static_cast<int64_t>(symbol.dimension)) {
                return std::nullopt;
            }
            values.push_back(inputs[symbol.index].size(static_cast<int64_t>(symbol.dimension)));
        }
        if (values.back() < symbol.least || values.back() > symbol.most) {
            return std::nullopt;
        }
    }
    return values;
}

std::shared_ptr<Program::Sized> Program::sized_for(const std::vector<at::Tensor>& inputs,
                                                   const std::vector<int64_t>& numbers) {
    if (symbols_.empty()) {
        return cached_.front();
    }
    std::optional<std::vector<int64_t>> symbols = symbols_of(inputs, numbers);
    if (!symbols) {
        return nullptr;
    }
    const auto find = [&] {
        const auto found = std::find_if(cached_.begin(), cached_.end(),
                                        [&](const std::shared_ptr<Sized>& each) { return each->symbols == *symbols; });
        if (found == cached_.end()) {
            return false;
        }
        std::rotate(cached_.begin(), found, found + 1);
        return true;
    };
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (find()) {
            return cached_.front();
        }
    }
    std::shared_ptr<Sized> created = make_sized(*symbols, true);
    if (created == nullptr) {
        return nullptr;
    }
    std::shared_ptr<Sized> last;  // freed after the lock: its memory goes back to the device
    const std::lock_guard<std::mutex> lock(mutex_);
    if (find()) {
        return cached_.front();
    }
    ++sized_;
    if (cached_.size() >= most_sizes_) {
        last = std::move(cached_.back());
        cached_.pop_back();
    }
    cached_.insert(cached_.begin(), created);
    return created;
}

// Null where the plan has a condition that does not hold.
std::shared_ptr<Program::Sized> Program::make_sized(std::vector<int64_t> symbols, bool is_offered) const {
    auto created = std::make_shared<Sized>();
    created->device = device_;
    created->numbers = Numbers(expressions_->values(symbols));
    created->symbols = std::move(symbols);
    const Numbers& numbers = created->numbers;
    for (const Json& condition : document_.at("conditions").list()) {
        if (!numbers.boolean(condition)) {
            return nullptr;
        }
    }
    const ArenaPlan arena = arena_of(document_, numbers);
    created->arena_bytes = arena.bytes;
    created->slots = slots_;
    const std::vector<Json>& slots = document_.at("slots").list();
    for (size_t i = 0; i < slots.size(); ++i) {
        SlotPlan& slot = created->slots[i];
        if (slot.is_open) {
            slot = slot_of(slots[i], numbers);
        }
        if (slot.kind == SlotPlan::Kind::kArena) {
            slot.offset += arena.offsets[slot.storage];
        }
    }
    for (const Json* launch : launches_) {
        created->launches.push_back(launch_of(*launch, numbers));
    }
    for (size_t i = 0; i < operands_.size(); ++i) {
        if (const OperandPlan& operand = operands_[i]; operand.open != nullptr) {
            created->operands.emplace_back(i, created->values.read(*operand.open, operand.kind, numbers, device_));
        }
    }
    for (const Json& number : document_.at("numbers").list()) {
        created->results.push_back(numbers.scalar(number));
    }
    if (first_ != nullptr) {
        created->constants = first_->run(*first_->make_sized(created->symbols, false), {});
        synchronize_device(device_);  // other streams will read them
    }
    if (is_offered && !steps_.empty() && dispatched_count() == 0 && has_graph_compiler()) {
        try {
            created->graph = std::make_unique<DeviceGraph>(resolved_document(document_, numbers, arena));
        } catch (const c10::Error& error) {
            TORCH_WARN("a compiled graph runs step by step: ", error.what_without_backtrace());
        }
    }
    return created;
}

std::shared_ptr<Program::Sized> Program::latest() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return cached_.empty() ? nullptr : cached_.front();
}

int64_t Program::arena_bytes() const {
    const std::shared_ptr<Sized> sized = latest();
    return sized == nullptr ? 0 : sized->arena_bytes;
}

bool Program::is_whole() const {
    const std::shared_ptr<Sized> sized = latest();
    return sized != nullptr && sized->graph != nullptr;
}

int64_t Program::cached_count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int64_t>(cached_.size());
}

const std::vector<c10::Scalar>& Program::results(const Sized& sized) const { return sized.results; }

const SlotPlan* Program::input_slot(size_t index, const Sized* sized) const {
    const std::vector<SlotPlan>& slots = sized == nullptr ? slots_ : sized->slots;
    const auto found = std::find_if(slots.begin(), slots.end(), [&](const SlotPlan& slot) {
        return slot.kind == SlotPlan::Kind::kInput && slot.index == index;
    });
    return found == slots.end() || !found->has_layout ? nullptr : &*found;
}

}  // namespace diopigen::backend
