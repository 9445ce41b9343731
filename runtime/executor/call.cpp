#include "call.h"

#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "clock.h"
#include "invoke.h"
#include "processor.h"
#include "storages.h"

namespace diopigen::executor {

namespace {

enum class Form : std::uint8_t { kView = 0, kAlone = 1, kCsr = 2 };

enum class Argument : std::uint8_t {
    kContext = 0,
    kNull = 1,
    kTensor = 2,
    kTensors = 3,
    kGenerator = 4,
    kGenerators = 5,
    kInteger = 6,
    kDouble = 7,
    kFloat = 8,
    kSize = 9,
    kSizePointer = 10,
    kScalar = 11,
    kText = 12,
    kSlot = 13,
    kHandles = 14,
};

/// What a function writes besides tensors.
struct Written {
    void* memory;
    std::size_t count;
};

/// All that one call has, freed with it.
class Call : public ReadyCall {
  public:
    Call(Device& device, const Library& library)
        : device_(device), runtime_(device.runtime()), library_(library), storages_(device) {}
    Call(Device& device, const Library& library, std::uint64_t number, const std::vector<Rotation>& rotations,
         std::vector<Storage> earlier)
        : device_(device),
          runtime_(device.runtime()),
          library_(library),
          storages_(device, number, rotations, std::move(earlier)) {}

    ~Call() override { free_handles(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    void read(Reader& frame) {
        storages_.read(frame);
        const auto tensors = frame.number<std::uint32_t>();
        for (std::uint32_t i = 0; i < tensors; ++i) {
            read_tensor(frame);
        }
        const auto generators = frame.number<std::uint32_t>();
        for (std::uint32_t i = 0; i < generators; ++i) {
            const auto seed = frame.number<std::uint64_t>();
            const auto offset = frame.number<std::uint64_t>();
            diopiGeneratorHandle_t handle = nullptr;
            runtime_.require(runtime_.diopiHostCreateGenerator(&handle, seed, offset), "diopiHostCreateGenerator");
            generators_.push_back(handle);
        }
        const auto arguments = frame.number<std::uint32_t>();
        for (std::uint32_t i = 0; i < arguments; ++i) {
            read_argument(frame);
        }
    }

    std::vector<Storage> release() override {
        free_handles();
        return storages_.release();
    }

    std::int32_t make(void* function) override { return arguments_.call(function); }

    Writer result_of(void* function, bool is_elsewhere) {
        std::int32_t status = 0;
        std::int32_t late = 0;
        double seconds = 0;
        std::string error;
        std::string left;
        const std::function<void()> work = [&] {
            const FloatingModes modes;
            const std::uint64_t unloaded = unloaded_libraries();
            const CallClock clock(!device_.is_accelerator());
            status = arguments_.call(function);
            late = status == diopiSuccess ? runtime_.diopiHostSynchronize(device_.context()) : 0;
            seconds = clock.seconds();
            if (!FloatingModes().is_same(modes)) {
                modes.restore();
                left = "the floating-point modes of the thread are changed: rounding, denormals or traps";
            }
            if (unloaded_libraries() != unloaded) {
                left += std::string(left.empty() ? "" : "; ") + "a library is unloaded, whose functions are unknown";
            }
            error = status == diopiSuccess && late == diopiSuccess ? "" : library_.text("diopiGetLastErrorString");
        };
        device_.pages().lock();
        is_elsewhere ? device_.second_thread().run(work) : work();
        const std::vector<Violation> violations = device_.pages().unlock();
        return answer_of(status, late, seconds, error, left, violations);
    }

    Writer answer(std::int32_t status, std::int32_t late, double seconds) override {
        const bool is_right = status == diopiSuccess && late == diopiSuccess;
        return answer_of(status, late, seconds, is_right ? "" : library_.text("diopiGetLastErrorString"), "", {});
    }

  private:
    void free_handles() {
        for (std::size_t i = tensors_.size(); i-- > 0;) {
            runtime_.diopiHostDestroyTensor(tensors_[i]);
        }
        for (diopiGeneratorHandle_t const generator : generators_) {
            runtime_.diopiHostDestroyGenerator(generator);
        }
        tensors_.clear();
        generators_.clear();
    }

    Writer answer_of(std::int32_t status, std::int32_t late, double seconds, const std::string& error,
                     const std::string& left, const std::vector<Violation>& violations) {
        Writer answer;
        answer.number(status);
        answer.number(late);
        answer.number(seconds);
        answer.text(error);
        answer.text(left);
        answer.number(static_cast<std::uint32_t>(violations.size()));
        for (const Violation& one : violations) {
            answer.number(one.storage);
            answer.number(one.byte);
        }
        write(answer);
        return answer;
    }

    void read_tensor(Reader& frame) {
        const auto form = static_cast<Form>(frame.number<std::uint8_t>());
        if (form == Form::kCsr) {
            const auto parts = frame.numbers<std::uint32_t>();
            const auto shape = frame.numbers<std::int64_t>();
            const diopiSize_t size = size_of(shape);
            diopiTensorHandle_t handle = nullptr;
            runtime_.require(runtime_.diopiHostCreateSparseCsr(&handle, &size, tensors_.at(parts.at(0)),
                                                               tensors_.at(parts.at(1)), tensors_.at(parts.at(2))),
                             "diopiHostCreateSparseCsr");
            tensors_.push_back(handle);
            return;
        }
        const auto storage = frame.number<std::uint32_t>();  // of a tensor alone: 1 on the host
        const auto offset = frame.number<std::int64_t>();
        const auto dtype = frame.number<std::int32_t>();
        const auto shape = frame.numbers<std::int64_t>();
        const auto strides = frame.numbers<std::int64_t>();
        const diopiSize_t size = size_of(shape);
        const diopiSize_t steps = size_of(strides);
        if (form == Form::kAlone) {
            tensors_.push_back(device_.created(shape, &steps, dtype, storage != 0));
            return;
        }
        diopiTensorHandle_t handle = nullptr;
        runtime_.require(runtime_.diopiHostCreateView(&handle, storages_.base(storage), &size, &steps, offset,
                                                      static_cast<diopiDtype_t>(dtype)),
                         "diopiHostCreateView");
        tensors_.push_back(handle);
    }

    void read_argument(Reader& frame) {
        switch (static_cast<Argument>(frame.number<std::uint8_t>())) {
            case Argument::kContext:
                arguments_.pointer(device_.context());
                return;
            case Argument::kNull:
                arguments_.pointer(nullptr);
                return;
            case Argument::kTensor:
                arguments_.pointer(tensors_.at(frame.number<std::uint32_t>()));
                return;
            case Argument::kTensors:
                arguments_.pointer(handles_of(frame.numbers<std::int32_t>()));
                return;
            case Argument::kGenerator:
                arguments_.pointer(generators_.at(frame.number<std::uint32_t>()));
                return;
            case Argument::kGenerators:
                frame.numbers<std::uint32_t>();  // all, in order
                arguments_.pointer(generators_.data());
                return;
            case Argument::kInteger:
                arguments_.integer(frame.number<std::int64_t>());
                return;
            case Argument::kDouble:
                arguments_.real(frame.number<double>());
                return;
            case Argument::kFloat:
                arguments_.real(frame.number<float>());
                return;
            case Argument::kSize: {
                const diopiSize_t size = read_size(frame);
                arguments_.pair(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(size.data)), size.len);
                return;
            }
            case Argument::kSizePointer: {
                const diopiSize_t size = read_size(frame);
                arguments_.pointer(retained(&size, sizeof(size)));
                return;
            }
            case Argument::kScalar: {
                diopiScalar_t scalar{};
                scalar.stype = static_cast<diopiDtype_t>(frame.number<std::int32_t>());
                const auto bits = frame.number<std::int64_t>();
                std::memcpy(&scalar.ival, &bits, sizeof(bits));
                arguments_.pointer(retained(&scalar, sizeof(scalar)));
                return;
            }
            case Argument::kText: {
                const std::string text = frame.text();
                arguments_.pointer(retained(text.c_str(), text.size() + 1));
                return;
            }
            case Argument::kSlot: {
                const std::string content = frame.text();
                slots_.push_back({retained(content.data(), content.size()), content.size()});
                arguments_.pointer(slots_.back().memory);
                return;
            }
            case Argument::kHandles: {
                const auto count = frame.number<std::uint32_t>();
                fetched_.push_back({room(count * sizeof(diopiTensorHandle_t)), count});
                arguments_.pointer(fetched_.back().memory);
                return;
            }
        }
        throw Failed("protocol", "an argument has a form that this executor does not know");
    }

    diopiSize_t read_size(Reader& frame) {
        retained_.push_back(frame.numbers<std::int64_t>());
        return size_of(retained_.back());
    }

    const void* handles_of(const std::vector<std::int32_t>& indices) {
        char* const handles = static_cast<char*>(room(indices.size() * sizeof(diopiTensorHandle_t)));
        for (std::size_t i = 0; i < indices.size(); ++i) {
            diopiTensorHandle_t const handle =
                indices[i] < 0 ? nullptr : tensors_.at(static_cast<std::size_t>(indices[i]));
            std::memcpy(handles + i * sizeof(handle), &handle, sizeof(handle));
        }
        return handles;
    }

    /// Memory that lives as long as the call, zero at first, aligned as any number is.
    void* room(std::size_t bytes) {
        retained_.emplace_back((bytes + sizeof(std::int64_t) - 1) / sizeof(std::int64_t));
        return retained_.back().data();
    }

    void* retained(const void* from, std::size_t bytes) {
        void* const memory = room(bytes);
        if (bytes > 0) {
            std::memcpy(memory, from, bytes);
        }
        return memory;
    }

    void write(Writer& answer) {
        storages_.write(answer);
        for (const Written& slot : slots_) {
            if (slot.count > 0) {
                std::memcpy(answer.room(slot.count), slot.memory, slot.count);
            }
        }
        for (const Written& list : fetched_) {
            for (std::size_t i = 0; i < list.count; ++i) {
                diopiTensorHandle_t handle = nullptr;
                std::memcpy(&handle, static_cast<const char*>(list.memory) + i * sizeof(handle), sizeof(handle));
                write_fetched(handle, answer);
            }
        }
        for (diopiGeneratorHandle_t const generator : generators_) {
            std::uint64_t seed = 0;
            std::uint64_t offset = 0;
            runtime_.require(runtime_.diopiGeneratorGetSeedAndOffset(generator, &seed, &offset),
                             "diopiGeneratorGetSeedAndOffset");
            answer.number(seed);
            answer.number(offset);
        }
    }

    /// A tensor that the function has allocated: dtype, shape, strides, offset, storage.
    void write_fetched(diopiConstTensorHandle_t tensor, Writer& answer) {
        answer.number(static_cast<std::uint8_t>(tensor != nullptr));
        if (tensor == nullptr) {
            return;
        }
        diopiSize_t shape{};
        diopiSize_t strides{};
        diopiDtype_t dtype{};
        std::size_t bytes = 0;
        std::int64_t offset = 0;
        runtime_.require(runtime_.diopiGetTensorShape(tensor, &shape), "diopiGetTensorShape");
        runtime_.require(runtime_.diopiGetTensorStride(tensor, &strides), "diopiGetTensorStride");
        runtime_.require(runtime_.diopiGetTensorDtype(tensor, &dtype), "diopiGetTensorDtype");
        runtime_.require(runtime_.diopiGetTensorStorageNbytes(tensor, &bytes), "diopiGetTensorStorageNbytes");
        runtime_.require(runtime_.diopiGetTensorStorageOffset(tensor, &offset), "diopiGetTensorStorageOffset");
        answer.number(static_cast<std::int32_t>(dtype));
        answer.numbers(shape.data, static_cast<std::size_t>(shape.len));
        answer.numbers(strides.data, static_cast<std::size_t>(strides.len));
        answer.number(offset);
        answer.number(static_cast<std::uint64_t>(bytes));
        if (bytes > 0) {
            device_.copy_from(tensor, bytes, answer);
        }
    }

    Device& device_;
    const Runtime& runtime_;
    const Library& library_;
    Storages storages_;
    std::vector<diopiTensorHandle_t> tensors_;
    std::vector<diopiGeneratorHandle_t> generators_;
    std::vector<std::vector<std::int64_t>> retained_;
    std::vector<Written> slots_;    // by bytes
    std::vector<Written> fetched_;  // by handles
    Arguments arguments_;
};

}  // namespace

std::unique_ptr<ReadyCall> read_call(Device& device, const Library& library, Reader& frame, std::uint64_t number,
                                     const std::vector<Rotation>& rotations, std::vector<Storage> earlier) {
    auto call = std::make_unique<Call>(device, library, number, rotations, std::move(earlier));
    call->read(frame);
    return call;
}

void make_call(Device& device, const Library& library, void* function, bool is_elsewhere, Reader& frame, int answers) {
    Call call(device, library);
    call.read(frame);
    const Writer answer = call.result_of(function, is_elsewhere);
    destroy(device.runtime(), call.release());  // their pages stay
    device.free_temporaries();
    std::fflush(nullptr);  // what was printed in this call belongs to it
    send(answers, Kind::kAnswer, answer);
}

}  // namespace diopigen::executor
