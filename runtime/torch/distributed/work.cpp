#include "work.h"

#include <ATen/core/ivalue.h>
#include <c10/core/StreamGuard.h>

#include <sstream>
#include <utility>

namespace diopigen::distributed {

namespace {

constexpr std::size_t kRecords = 64;
constexpr auto kLook = std::chrono::milliseconds(50);

c10::intrusive_ptr<c10::ivalue::Future> futureOn(c10::Device device) {
    auto type = c10::ListType::create(c10::TensorType::get());
    return c10::make_intrusive<c10::ivalue::Future>(std::move(type), std::vector<c10::Device>{device});
}

}  // namespace

Work::Work(int rank, c10d::OpType op, std::vector<std::shared_ptr<Communicator>> communicators,
           std::chrono::milliseconds timeout, std::shared_ptr<Record> record)
    : c10d::Work(rank, op),
      communicators_(std::move(communicators)),
      timeout_(timeout),
      record_(std::move(record)),
      future_(futureOn(communicators_.front()->device())) {}

void Work::issued(const std::vector<c10::Stream>& streams, std::vector<at::Tensor> outputs) {
    outputs_ = std::move(outputs);
    for (const c10::Stream& stream : streams) {
        ends_.emplace_back(kDevice);
        ends_.back().record(stream);
    }
    // Its callbacks run on streams that wait for what is on the current one now.
    const c10::StreamGuard guard(streams.back());
    for (const c10::Event& end : ends_) {
        end.block(streams.back());
    }
    future_->markCompleted(c10::IValue(outputs_));
}

bool Work::isDone() {
    for (const c10::Event& end : ends_) {
        if (!end.query()) {
            return false;
        }
    }
    return true;
}

bool Work::isCompleted() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (exception_) {
            return true;
        }
    }
    return isDone();
}

bool Work::isSuccess() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !exception_;
}

std::string Work::error() const {
    for (const std::shared_ptr<Communicator>& each : communicators_) {
        if (std::string text = each->error(); !text.empty()) {
            return text;
        }
    }
    return "";
}

void Work::fail(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!exception_) {
        exception_ = std::make_exception_ptr(C10_BUILD_ERROR(DistBackendError, text));
    }
}

void Work::rethrow() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (exception_) {
        std::rethrow_exception(exception_);
    }
}

void Work::synchronize() {
    const c10::Stream current = currentStream(communicators_.front()->device());
    for (const c10::Event& end : ends_) {
        end.block(current);
    }
}

bool Work::wait(std::chrono::milliseconds timeout) {
    rethrow();
    synchronize();
    if (!isBlocking_ && timeout == kNoTimeout) {
        return true;
    }
    const Clock::time_point end = Clock::now() + timeout;
    auto pause = std::chrono::microseconds(20);
    while (!isDone()) {
        rethrow();
        TORCH_CHECK_WITH(DistBackendError, timeout == kNoTimeout || Clock::now() < end, record_->text,
                         " has not finished within ", timeout.count(), " ms");
        std::this_thread::sleep_for(pause);
        pause = std::min<std::chrono::microseconds>(pause * 2, std::chrono::milliseconds(1));
    }
    if (const std::string text = error(); !text.empty()) {
        fail(record_->text + ": " + text);
    }
    rethrow();
    return true;
}

void Work::abort() {
    for (const std::shared_ptr<Communicator>& each : communicators_) {
        each->abort();
    }
}

Watchdog::Watchdog(std::function<void(const std::string&)> onFailure)
    : onFailure_(std::move(onFailure)), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        isEnding_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Watchdog::add(c10::intrusive_ptr<Work> work) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        works_.push_back(std::move(work));
    }
    changed_.notify_all();
}

std::shared_ptr<Record> Watchdog::record(uint64_t number, std::string text) {
    auto created = std::make_shared<Record>();
    created->number = number;
    created->text = std::move(text);
    created->issued = Clock::now();
    const std::lock_guard<std::mutex> lock(mutex_);
    records_.push_back(created);
    if (records_.size() > kRecords) {
        records_.pop_front();
    }
    return created;
}

std::string Watchdog::dump() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::ostringstream text;
    const auto now = Clock::now();
    const auto milliseconds = [](Clock::duration time) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    };
    for (const std::shared_ptr<Record>& each : records_) {
        text << '#' << each->number << ' ' << each->text << ": issued " << milliseconds(now - each->issued)
             << " ms ago, ";
        if (each->isFinished) {
            text << "finished after " << milliseconds(each->finished - each->issued) << " ms\n";
        } else {
            text << "not finished\n";
        }
    }
    return text.str();
}

std::string Watchdog::failure() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return failure_;
}

void Watchdog::drain() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!works_.empty() && failure_.empty()) {
        changed_.wait_for(lock, kLook);
    }
}

void Watchdog::end(const std::string& text) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_.empty()) {
            return;
        }
        failure_ = text;
        for (const c10::intrusive_ptr<Work>& work : works_) {
            work->fail(text);
        }
        works_.clear();
    }
    changed_.notify_all();
    onFailure_(text);
}

void Watchdog::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!isEnding_) {
        changed_.wait(lock, [this] { return isEnding_ || !works_.empty(); });
        if (isEnding_) {
            return;
        }
        changed_.wait_for(lock, kLook, [this] { return isEnding_; });
        lock.unlock();
        try {
            look();
        } catch (const std::exception& error) {  // the device itself has failed
            end(error.what());
        }
        lock.lock();
    }
}

void Watchdog::look() {
    std::list<c10::intrusive_ptr<Work>> works;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        works = works_;
    }
    for (const c10::intrusive_ptr<Work>& work : works) {
        const bool isDone = work->isDone();
        if (const std::string error = work->error(); !error.empty()) {
            end(work->record()->text + " (number " + std::to_string(work->record()->number) + "): " + error);
            return;
        }
        if (isDone) {
            const std::lock_guard<std::mutex> lock(mutex_);
            work->record()->isFinished = true;
            work->record()->finished = Clock::now();
            works_.remove(work);
            changed_.notify_all();
        } else if (Clock::now() > work->deadline()) {
            end(work->record()->text + " (number " + std::to_string(work->record()->number) +
                ") has not finished within its timeout of " + std::to_string(work->timeout().count()) + " ms");
            return;
        }
    }
}

}  // namespace diopigen::distributed
