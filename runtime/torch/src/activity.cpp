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
    Span(const char* operator_name, c10::Stream on) : name(operator_name), stream(on) {}
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
thread_local bool is_in_span = false;

bool is_on_device(const c10::IValue& value) {
    if (value.isTensor()) {
        return value.toTensor().defined() && value.toTensor().device().type() == kDeviceType;
    }
    return value.isTensorList() &&
           std::ranges::any_of(value.toTensorVector(), [](const at::Tensor& each) { return is_on_device(each); });
}

/// Returns whether a kernel of the device computes: not a view, and not an operator that others make up.
bool computes(const at::RecordFunction& function) {
    const auto name = function.operator_name();
    const auto op = name.has_value() ? c10::Dispatcher::singleton().findOp(*name) : std::nullopt;
    if (!op.has_value() || !op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
        return false;
    }
    const auto is_view = [](const c10::Argument& result) {
        return result.alias_info() != nullptr && !result.alias_info()->isWrite();
    };
    return std::ranges::none_of(op->schema().returns(), is_view) &&
           std::ranges::any_of(function.inputs(), is_on_device);
}

class ActivitySession final : public libkineto::IActivityProfilerSession {
  public:
    ~ActivitySession() override { end(); }

    void start() override {
        if (device_count() == 0) {
            return;
        }
        const c10::Stream stream = current_stream(current_device());
        origin_.record(stream);
        synchronize(stream);
        origin_time_ = c10::getTime();
        try {
            origin_.elapsed_milliseconds(origin_);
        } catch (const c10::NotImplementedError&) {
            return;  // a device without events: there are the CPU's records alone
        }
        current() = this;
        handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&ActivitySession::enter, &ActivitySession::leave)
                                            .needsInputs(true)
                                            .scopes({at::RecordScope::FUNCTION}));
        is_on_ = true;
        status_ = libkineto::TraceStatus::RECORDING;
    }

    void stop() override {
        end();
        status_ = libkineto::TraceStatus::PROCESSING;
    }

    std::vector<std::string> errors() override { return {}; }

    void processTrace(libkineto::ActivityLogger& logger) override {
        buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
        buffer_->span = libkineto::TraceSpan(origin_time_, c10::getTime(), "device");
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
        if (!is_in_span && computes(function)) {
            is_in_span = true;
            context->span = std::make_shared<Span>(function.name(), current_stream(current_device()));
            context->span->first.record(context->span->stream);
        }
        return context;
    }

    static void leave(const at::RecordFunction& /*function*/, at::ObserverContext* context) {
        const std::shared_ptr<Span>& span = static_cast<Observed*>(context)->span;
        if (span == nullptr) {
            return;
        }
        is_in_span = false;
        span->last.record(span->stream);
        if (ActivitySession* const session = current(); session != nullptr) {
            const std::lock_guard<std::mutex> lock(session->mutex_);
            session->spans_.push_back(span);
        }
    }

    void end() {
        if (std::exchange(is_on_, false)) {
            at::removeCallback(handle_);
            current() = nullptr;
        }
    }

    void take(const Span& span, libkineto::ActivityLogger& logger) {
        span.last.synchronize();
        const double from = origin_.elapsed_milliseconds(span.first) * kNanoseconds;
        const double duration = std::max(span.first.elapsed_milliseconds(span.last), 0.0) * kNanoseconds;
        buffer_->emplace_activity(buffer_->span, ActivityType::CONCURRENT_KERNEL, span.name);
        libkineto::GenericTraceActivity& activity = *buffer_->activities.back();
        activity.startTime = origin_time_ + static_cast<int64_t>(from);
        activity.endTime = activity.startTime + static_cast<int64_t>(duration);
        activity.device = span.stream.device_index();
        activity.resource = static_cast<int32_t>(span.stream.id());
        activity.id = ++buffer_->gpuOpCount;
        activity.log(logger);
    }

    Event origin_;
    int64_t origin_time_ = 0;
    bool is_on_ = false;
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
