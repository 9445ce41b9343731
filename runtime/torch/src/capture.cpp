// Graphs of captured streams, which torch.accelerator.Graph captures and launches.
#include <ATen/core/Generator.h>
#include <ATen/core/GraphImplInterface.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>
#include <diopigen/stream_capture.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/device.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "failure.h"
#include "registry.h"

namespace diopigen::backend {

std::atomic<int> capturesUnderway{0};

namespace {

diopigenStreamCapture_t table{};

// Memory of the seed and the offset of a generator, and how far it advances in each launch.
struct CapturedSeed {
    at::Generator generator;
    at::Tensor memory;
    uint64_t offset = 0;
    bool isRead = false;  // by diopigenGetCapturedSeed, since diopiGeneratorGetSeedAndOffset

    void set() const {
        c10::GeneratorImpl* const own = generator.unsafeGetGeneratorImpl();
        const std::lock_guard<std::mutex> lock(own->mutex_);
        memory.select(0, 0).fill_(static_cast<int64_t>(own->current_seed()));
        memory.select(0, 1).fill_(static_cast<int64_t>(own->get_offset()));
        own->set_offset(own->get_offset() + offset);
    }
};

// Memory and state that a graph owns in addition to the device's graph.
struct Captured {
    c10::MempoolId_t pool;
    std::map<const c10::GeneratorImpl*, CapturedSeed> seeds;
    std::vector<std::shared_ptr<const void>> objects;
};

thread_local std::string rejection;

std::mutex mutex;
// Captures that are underway, by their numbers.
std::unordered_map<uint64_t, Captured*> underway;

uint64_t numberOf(diopiStreamHandle_t stream) {
    uint64_t number = 0;
    requireDone(table.capture_of(stream, &number), "tell whether a stream is being captured");
    return number;
}

Captured* captureOf(diopiStreamHandle_t stream) {
    if (capturesUnderway.load(std::memory_order_relaxed) == 0) {
        return nullptr;
    }
    const uint64_t number = numberOf(stream);
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = underway.find(number);
    return found == underway.end() ? nullptr : found->second;
}

// That of the calling thread's stream.
Captured* currentCapture(c10::DeviceIndex device) {
    return capturesUnderway.load(std::memory_order_relaxed) == 0 ? nullptr : captureOf(currentHandle(device));
}

class Graph final : public at::GraphImplInterface {
  public:
    explicit Graph(const at::GraphImplArgs& /*args*/) {}
    ~Graph() override {
        try {
            if (isUnderway_) {
                finish();
            }
            reset();
        } catch (const std::exception&) {
            // A destructor cannot report it.
        }
    }

    void capture_begin(c10::MempoolId_t pool, at::GraphCaptureMode /*mode*/) override {
        initialize();
        takeRejection();
        TORCH_CHECK_NOT_IMPLEMENTED(table.begin != nullptr, "the library of ", name(),
                                    " registers no capture of streams (diopigen/stream_capture.h): work cannot be "
                                    "captured into a graph");
        TORCH_CHECK(!isUnderway_ && captured_ == nullptr, "the graph has been captured: reset() it first");
        stream_ = currentStream(-1);
        TORCH_CHECK(stream_.id() != 0,
                    "the default stream cannot be captured: other threads may use it; capture on "
                    "another one, as `with torch.Stream():`");
        const diopiStreamHandle_t handle = handleOf(stream_);
        TORCH_CHECK(!isCapturing(handle), "the stream is being captured into another graph");
        auto captured = std::make_unique<Captured>();
        captured->pool = pool == c10::MempoolId_t{0, 0} ? newPool() : pool;
        requireDone(table.begin(handle), "begin the capture of a stream");
        isUnderway_ = true;
        captured_ = std::move(captured);
        openPool(captured_->pool);
        number_ = numberOf(handle);
        const std::lock_guard<std::mutex> lock(mutex);
        underway.emplace(number_, captured_.get());
        ++capturesUnderway;
    }

    void capture_end() override {
        TORCH_CHECK(isUnderway_, "no capture of the graph has begun");
        TORCH_CHECK(currentStream(stream_.device_index()) == stream_, "a capture ends on the stream it began on");
        const int32_t code = finish();
        if (code != 0) {
            release();
        }
        requireDone(code, "end the capture of a stream");
    }

    void instantiate() override { requireGraph(); }

    void replay() override {
        requireGraph();
        const WithDevice here(stream_.device_index());
        for (const auto& [generator, seed] : captured_->seeds) {
            seed.set();
        }
        const c10::Stream stream = currentStream(stream_.device_index());
        launched_.insert(stream.id());
        requireDone(table.launch(graph_, handleOf(stream)), "launch a graph");
    }

    void reset() override {
        TORCH_CHECK(!isUnderway_, "the graph is being captured");
        if (captured_ == nullptr || isForked()) {
            return;
        }
        // Launches use the memory that goes to others now.
        for (const c10::StreamId id : std::exchange(launched_, {})) {
            synchronize(c10::Stream(c10::Stream::UNSAFE, stream_.device(), id));
        }
        release();
    }

    c10::MempoolId_t pool() const override {
        TORCH_CHECK(captured_ != nullptr, "the graph has no pool before its capture");
        return captured_->pool;
    }

    void enable_debug_mode() override {}

    void debug_dump(const std::string& /*path*/) override {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "graphs of ", name(), " cannot be written to a file");
    }

  private:
    static std::string name() { return c10::get_privateuse1_backend(/*lower_case=*/true); }

    void requireGraph() const { TORCH_CHECK(graph_ != nullptr, "the graph has not been captured"); }

    // Ends the capture; the status of the device.
    int32_t finish() {
        isUnderway_ = false;
        const int32_t code = table.end(handleOf(stream_), &graph_);
        {
            const std::lock_guard<std::mutex> lock(mutex);
            underway.erase(number_);
            --capturesUnderway;
        }
        returnDeferred(captured_->pool);
        return code;
    }

    void release() {
        if (void* const graph = std::exchange(graph_, nullptr)) {
            table.destroy(graph);
        }
        const c10::MempoolId_t pool = captured_->pool;
        captured_ = nullptr;
        closePool(pool);
    }

    c10::Stream stream_ = defaultStream(0);
    uint64_t number_ = 0;
    bool isUnderway_ = false;
    void* graph_ = nullptr;
    std::unique_ptr<Captured> captured_;
    std::set<c10::StreamId> launched_;
};

}  // namespace

bool isStreamCapturing(diopiStreamHandle_t stream) { return captureOf(stream) != nullptr; }

bool isCapturing(c10::DeviceIndex device) { return currentCapture(device) != nullptr; }

void rejectInCapture(const std::string& what) {
    rejection = "a graph cannot capture " + what;
    TORCH_CHECK(false, rejection);
}

std::string takeRejection() { return std::exchange(rejection, {}); }

std::optional<c10::MempoolId_t> poolOfCapture(c10::Stream stream) {
    const Captured* const captured = captureOf(handleOf(stream));
    return captured == nullptr ? std::nullopt : std::make_optional(captured->pool);
}

c10::MempoolId_t newPool() {
    static std::atomic<uint64_t> pools{0};
    return {0, ++pools};
}

void ownInCapture(diopiStreamHandle_t stream, std::shared_ptr<const void> object) {
    if (Captured* const captured = captureOf(stream)) {
        captured->objects.push_back(std::move(object));
    }
}

void ownInCapture(diopiStreamHandle_t stream, const at::Tensor& tensor) {
    ownInCapture(stream, std::make_shared<const at::Tensor>(tensor));
}

const uint64_t* capturedSeed(c10::GeneratorImpl* generator) {
    const c10::DeviceIndex device = generator->device().index();
    Captured* const captured = currentCapture(device);
    if (captured == nullptr) {
        return nullptr;
    }
    CapturedSeed& seed = captured->seeds[generator];
    if (!seed.generator.defined()) {
        seed.generator = at::Generator(c10::intrusive_ptr<c10::GeneratorImpl>::reclaim_copy(generator));
        seed.memory = at::empty({2}, at::TensorOptions(c10::Device(kDeviceType, device)).dtype(at::kLong));
    }
    seed.isRead = true;
    return static_cast<const uint64_t*>(seed.memory.const_data_ptr());
}

uint64_t* offsetInCapture(const c10::GeneratorImpl* generator, Use use) {
    Captured* const captured = currentCapture(generator->device().index());
    if (captured == nullptr) {
        return nullptr;
    }
    const auto found = captured->seeds.find(generator);
    if (found == captured->seeds.end() || (use == Use::read && !std::exchange(found->second.isRead, false))) {
        rejectInCapture("random numbers of a function that takes the seed as a number: each launch would repeat them");
    }
    return &found->second.offset;
}

void requireUncaptured(const c10::GeneratorImpl* generator) {
    if (currentCapture(generator->device().index()) != nullptr) {
        rejectInCapture("a change of the state of a generator");
    }
}

void registerGraphs() {
    const std::string key = c10::DeviceTypeName(kDeviceType, /*lower_case=*/false);
    at::GraphImplRegistry()->Register(key,
                                      [](const at::GraphImplArgs& args) -> std::unique_ptr<at::GraphImplInterface> {
                                          return std::make_unique<Graph>(args);
                                      });
}

}  // namespace diopigen::backend

int32_t diopigenRegisterStreamCapture(const diopigenStreamCapture_t* capture) {
    if (capture == nullptr || capture->size != sizeof(diopigenStreamCapture_t) || capture->begin == nullptr ||
        capture->capture_of == nullptr || capture->end == nullptr || capture->launch == nullptr ||
        capture->destroy == nullptr) {
        return 1;
    }
    diopigen::backend::table = *capture;
    return 0;
}

int32_t diopigenGetCapturedSeed(diopiGeneratorHandle_t generator, const uint64_t** seed_and_offset) {
    return diopigen::guarded(__func__, [&] {
        diopigen::require_not_null(generator, "generator");
        diopigen::require_not_null(seed_and_offset, "seed_and_offset");
        *seed_and_offset = diopigen::backend::capturedSeed(reinterpret_cast<c10::GeneratorImpl*>(generator));
    });
}
