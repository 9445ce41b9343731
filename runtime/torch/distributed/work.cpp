#include "work.h"

#include <ATen/core/ivalue.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace diopigen::distributed {

namespace {

constexpr std::size_t kRecords = 64;
constexpr auto kLook = std::chrono::milliseconds(50);

}  // namespace

std::string Record::text() const {
    std::ostringstream text;
    text << c10d::opTypeToString(op);
    if (dtype != c10::ScalarType::Undefined) {
        text << " of " << c10::IntArrayRef(sizes) << ' ' << dtype;
    }
    return text.str();
}

Flight::Flight(std::vector<std::shared_ptr<Communicator>> communicators, std::chrono::milliseconds timeout,
               std::shared_ptr<Record> record)
    : communicators_(std::move(communicators)), timeout_(timeout), record_(std::move(record)) {}

void Flight::issued(const std::vector<c10::Stream>& streams) {
    streams_ = streams;
    for (const c10::Stream& stream : streams) {
        ends_.emplace_back(kDevice);
        ends_.back().record(stream);
    }
}

bool Flight::is_done() const {
    return std::all_of(ends_.begin(), ends_.end(), [](const c10::Event& end) { return end.query(); });
}

void Flight::block(c10::Stream stream) const {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        if (streams_[i] != stream) {  // a stream waits for itself anyway
            ends_[i].block(stream);
        }
    }
}

void Flight::abort() {
    for (const std::shared_ptr<Communicator>& each : communicators_) {
        each->abort();
    }
}

void Flight::fail(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!exception_) {
        exception_ = std::make_exception_ptr(C10_BUILD_ERROR(DistBackendError, text));
    }
}

std::exception_ptr Flight::exception() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return exception_;
}

std::string Flight::error() const {
    for (const std::shared_ptr<Communicator>& each : communicators_) {
        if (std::string text = each->error(); !text.empty()) {
            return text;
        }
    }
    return "";
}

Work::Work(int rank, std::shared_ptr<Flight> flight, std::vector<at::Tensor> outputs)
    : c10d::Work(rank, flight->record()->op), flight_(std::move(flight)), outputs_(std::move(outputs)) {}

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() {
    const std::lock_guard<std::mutex> lock(future_mutex_);
    if (future_ == nullptr) {
        auto type = c10::ListType::create(c10::TensorType::get());
        future_ =
            c10::make_intrusive<c10::ivalue::Future>(std::move(type), std::vector<c10::Device>{flight_->device()});
        // It notes what is on the current stream.
        const c10::StreamGuard guard(flight_->last_stream());
        flight_->block(flight_->last_stream());
        future_->markCompleted(c10::IValue(outputs_));
    }
    return future_;
}

void Work::rethrow() const {
    if (const std::exception_ptr exception = flight_->exception()) {
        std::rethrow_exception(exception);
    }
}

void Work::synchronize() { flight_->block(current_stream(flight_->device())); }

bool Work::wait(std::chrono::milliseconds timeout) {
    rethrow();
    synchronize();
    if (!is_blocking_ && timeout == kNoTimeout) {
        return true;
    }
    const Clock::time_point end = Clock::now() + timeout;
    auto pause = std::chrono::microseconds(20);
    while (!flight_->is_done()) {
        rethrow();
        TORCH_CHECK_WITH(DistBackendError, timeout == kNoTimeout || Clock::now() < end, flight_->record()->text(),
                         " has not finished within ", timeout.count(), " ms");
        std::this_thread::sleep_for(pause);
        pause = std::min<std::chrono::microseconds>(pause * 2, std::chrono::milliseconds(1));
    }
    if (const std::string text = flight_->error(); !text.empty()) {
        flight_->fail(flight_->record()->text() + ": " + text);
    }
    rethrow();
    return true;
}

Watchdog::Watchdog(std::function<void(const std::string&)> on_failure)
    : on_failure_(std::move(on_failure)), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Watchdog::add(std::shared_ptr<Flight> flight) {
    bool was_idle = false;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        was_idle = flights_.empty();
        flights_.push_back(std::move(flight));
    }
    if (was_idle) {  // else it looks soon, and to wake it costs more than a small call
        changed_.notify_all();
    }
}

std::shared_ptr<Record> Watchdog::record(uint64_t number, c10d::OpType op, const at::Tensor* tensor) {
    auto created = std::make_shared<Record>();
    created->number = number;
    created->op = op;
    if (tensor != nullptr) {
        created->sizes = tensor->sizes().vec();
        created->dtype = tensor->scalar_type();
    }
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
        text << '#' << each->number << ' ' << each->text() << ": issued " << milliseconds(now - each->issued)
             << " ms ago, ";
        if (each->is_finished) {
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
    while (!flights_.empty() && failure_.empty()) {
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
        for (const std::shared_ptr<Flight>& flight : flights_) {
            flight->fail(text);
        }
        flights_.clear();
    }
    changed_.notify_all();
    on_failure_(text);
}

void Watchdog::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!is_ending_) {
        changed_.wait(lock, [this] { return is_ending_ || !flights_.empty(); });
        if (is_ending_) {
            return;
        }
        changed_.wait_for(lock, kLook, [this] { return is_ending_; });
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
    std::list<std::shared_ptr<Flight>> flights;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        flights = flights_;
    }
    for (const std::shared_ptr<Flight>& flight : flights) {
        Record& record = *flight->record();
        const std::string name = record.text() + " (number " + std::to_string(record.number) + ")";
        const bool is_done = flight->is_done();
        if (const std::string error = flight->error(); !error.empty()) {
            end(name + ": " + error);
            return;
        }
        if (is_done) {
            const std::lock_guard<std::mutex> lock(mutex_);
            record.is_finished = true;
            record.finished = Clock::now();
            flights_.remove(flight);
            changed_.notify_all();
        } else if (Clock::now() > flight->deadline()) {
            end(name + " has not finished within its timeout of " + std::to_string(flight->timeout().count()) + " ms");
            return;
        }
    }
}

}  // namespace diopigen::distributed
