// Activity of the device for torch.profiler: a record for each operator with a kernel of the device, from an event on
// the stream before it to one after it. It is next to the CPU's records in tables and Chrome traces.
#define FMT_HEADER_ONLY
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/util/ApproximateClock.h>
#include <diopigen_torch/device.h>
#include <libkineto.h>
#include <output_base.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace diopigen::backend {

namespace {

using libkineto::ActivityType;

constexpr double kNanoseconds = 1e6;  // in a millisecond

/// An operator on a stream.
struct Span {
    Span(const char* operatorName, c10::Stream on) : name(operatorName), stream(on) {}
    const std::string name;
    const c10::Stream stream;
    Event first;
    Event last;
};

/// A call that is observed; its span is null where the device has nothing to do with it.
struct Observed final : at::ObserverContext {
    std::shared_ptr<Span> span;
};
/// True if the thread is in an operator that has a span: what that one calls is part of it.
thread_local bool isInSpan = false;

bool isOnDevice(const c10::IValue& value) {
    if (value.isTensor()) {
        return value.toTensor().defined() && value.toTensor().device().type() == kDeviceType;
    }
    return value.isTensorList() &&
           std::ranges::any_of(value.toTensorVector(), [](const at::Tensor& each) { return isOnDevice(each); });
}

/// Returns whether a kernel of the device computes: not a view, and not an operator that others make up.
bool computes(const at::RecordFunction& function) {
    const auto name = function.operator_name();
    const auto op = name.has_value() ? c10::Dispatcher::singleton().findOp(*name) : std::nullopt;
    if (!op.has_value() || !op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
        return false;
    }
    const auto isView = [](const c10::Argument& result) {
        return result.alias_info() != nullptr && !result.alias_info()->isWrite();
    };
    return std::ranges::none_of(op->schema().returns(), isView) && std::ranges::any_of(function.inputs(), isOnDevice);
}

class ActivitySession final : public libkineto::IActivityProfilerSession {
  public:
    ~ActivitySession() override { end(); }

    void start() override {
        if (deviceCount() == 0) {
            return;
        }
        const c10::Stream stream = currentStream(currentDevice());
        origin_.record(stream);
        synchronize(stream);
        originTime_ = c10::getTime();
        try {
            origin_.elapsedMilliseconds(origin_);
        } catch (const c10::NotImplementedError&) {
            return;  // a device without events: there are the CPU's records alone
        }
        current() = this;
        handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&ActivitySession::enter, &ActivitySession::leave)
                                            .needsInputs(true)
                                            .scopes({at::RecordScope::FUNCTION}));
        isOn_ = true;
        status_ = libkineto::TraceStatus::RECORDING;
    }

    void stop() override {
        end();
        status_ = libkineto::TraceStatus::PROCESSING;
    }

    std::vector<std::string> errors() override { return {}; }

    void processTrace(libkineto::ActivityLogger& logger) override {
        buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
        buffer_->span = libkineto::TraceSpan(originTime_, c10::getTime(), "device");
        buffer_->gpuOpCount = 0;
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const std::shared_ptr<Span>& span : spans_) {
            take(*span, logger);
        }
        spans_.clear();
    }

    std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
    std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }
    std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(buffer_); }

  private:
    // One session at a time, as kineto has it.
    static ActivitySession*& current() {
        static ActivitySession* session = nullptr;
        return session;
    }

    static std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
        auto context = std::make_unique<Observed>();
        if (!isInSpan && computes(function)) {
            isInSpan = true;
            context->span = std::make_shared<Span>(function.name(), currentStream(currentDevice()));
            context->span->first.record(context->span->stream);
        }
        return context;
    }

    static void leave(const at::RecordFunction& /*function*/, at::ObserverContext* context) {
        const std::shared_ptr<Span>& span = static_cast<Observed*>(context)->span;
        if (span == nullptr) {
            return;
        }
        isInSpan = false;
        span->last.record(span->stream);
        if (ActivitySession* const session = current(); session != nullptr) {
            const std::lock_guard<std::mutex> lock(session->mutex_);
            session->spans_.push_back(span);
        }
    }

    void end() {
        if (std::exchange(isOn_, false)) {
            at::removeCallback(handle_);
            current() = nullptr;
        }
    }

    void take(const Span& span, libkineto::ActivityLogger& logger) {
        span.last.synchronize();
        const double from = origin_.elapsedMilliseconds(span.first) * kNanoseconds;
        const double duration = std::max(span.first.elapsedMilliseconds(span.last), 0.0) * kNanoseconds;
        buffer_->emplace_activity(buffer_->span, ActivityType::CONCURRENT_KERNEL, span.name);
        libkineto::GenericTraceActivity& activity = *buffer_->activities.back();
        activity.startTime = originTime_ + static_cast<int64_t>(from);
        activity.endTime = activity.startTime + static_cast<int64_t>(duration);
        activity.device = span.stream.device_index();
        activity.resource = static_cast<int32_t>(span.stream.id());
        activity.id = ++buffer_->gpuOpCount;
        activity.log(logger);
    }

    Event origin_;
    int64_t originTime_ = 0;
    bool isOn_ = false;
    at::CallbackHandle handle_ = 0;
    std::mutex mutex_;
    std::vector<std::shared_ptr<Span>> spans_;
    std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class Profiler final : public libkineto::IActivityProfiler {
  public:
    const std::string& name() const override { return name_; }
    const std::set<ActivityType>& availableActivities() const override { return activities_; }
    std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType>& /*types*/,
                                                                   const libkineto::Config& /*config*/) override {
        return std::make_unique<ActivitySession>();
    }
    std::unique_ptr<libkineto::IActivityProfilerSession> configure(int64_t /*time*/, int64_t /*duration*/,
                                                                   const std::set<ActivityType>& types,
                                                                   const libkineto::Config& config) override {
        return configure(types, config);
    }

  private:
    std::string name_ = "diopi";
    std::set<ActivityType> activities_ = {ActivityType::CONCURRENT_KERNEL};
};

REGISTER_PRIVATEUSE1_PROFILER(Profiler);

}  // namespace

}  // namespace diopigen::backend
