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

std::atomic<int> captures_underway{0};

namespace {

diopigenStreamCapture_t table{};

// Memory of the seed and the offset of a generator, and how far it advances in each launch.
struct CapturedSeed {
    at::Generator generator;
    at::Tensor memory;
    uint64_t offset = 0;
    bool is_read = false;  // by diopigenGetCapturedSeed, since diopiGeneratorGetSeedAndOffset

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

uint64_t number_of(diopiStreamHandle_t stream) {
    uint64_t number = 0;
    require_done(table.capture_of(stream, &number), "tell whether a stream is being captured");
    return number;
}

Captured* capture_of(diopiStreamHandle_t stream) {
    if (captures_underway.load(std::memory_order_relaxed) == 0) {
        return nullptr;
    }
    const uint64_t number = number_of(stream);
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = underway.find(number);
    return found == underway.end() ? nullptr : found->second;
}

// That of the calling thread's stream.
Captured* current_capture(c10::DeviceIndex device) {
    return captures_underway.load(std::memory_order_relaxed) == 0 ? nullptr : capture_of(current_handle(device));
}

class Graph final : public at::GraphImplInterface {
  public:
    explicit Graph(const at::GraphImplArgs& /*args*/) {}
    ~Graph() override {
        try {
            if (is_underway_) {
                finish();
            }
            reset();
        } catch (const std::exception&) {
            // A destructor cannot report it.
        }
    }

    void capture_begin(c10::MempoolId_t pool, at::GraphCaptureMode /*mode*/) override {
        initialize();
        take_rejection();
        TORCH_CHECK_NOT_IMPLEMENTED(table.begin != nullptr, "the library of ", name(),
                                    " registers no capture of streams (diopigen/stream_capture.h): work cannot be "
                                    "captured into a graph");
        TORCH_CHECK(!is_underway_ && captured_ == nullptr, "the graph has been captured: reset() it first");
        stream_ = current_stream(-1);
        TORCH_CHECK(stream_.id() != 0,
                    "the default stream cannot be captured: other threads may use it; capture on "
                    "another one, as `with torch.Stream():`");
        const diopiStreamHandle_t handle = handle_of(stream_);
        TORCH_CHECK(!is_capturing(handle), "the stream is being captured into another graph");
        auto captured = std::make_unique<Captured>();
        captured->pool = pool == c10::MempoolId_t{0, 0} ? new_pool() : pool;
        require_done(table.begin(handle), "begin the capture of a stream");
        is_underway_ = true;
        captured_ = std::move(captured);
        open_pool(captured_->pool);
        number_ = number_of(handle);
        const std::lock_guard<std::mutex> lock(mutex);
        underway.emplace(number_, captured_.get());
        ++captures_underway;
    }

    void capture_end() override {
        TORCH_CHECK(is_underway_, "no capture of the graph has begun");
        TORCH_CHECK(current_stream(stream_.device_index()) == stream_, "a capture ends on the stream it began on");
        const int32_t code = finish();
        if (code != 0) {
            release();
        }
        require_done(code, "end the capture of a stream");
    }

    void instantiate() override { require_graph(); }

    void replay() override {
        require_graph();
        const WithDevice here(stream_.device_index());
        for (const auto& [generator, seed] : captured_->seeds) {
            seed.set();
        }
        const c10::Stream stream = current_stream(stream_.device_index());
        launched_.insert(stream.id());
        require_done(table.launch(graph_, handle_of(stream)), "launch a graph");
    }

    void reset() override {
        TORCH_CHECK(!is_underway_, "the graph is being captured");
        if (captured_ == nullptr || is_forked()) {
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

    void require_graph() const { TORCH_CHECK(graph_ != nullptr, "the graph has not been captured"); }

    // Ends the capture; the status of the device.
    int32_t finish() {
        is_underway_ = false;
        const int32_t code = table.end(handle_of(stream_), &graph_);
        {
            const std::lock_guard<std::mutex> lock(mutex);
            underway.erase(number_);
            --captures_underway;
        }
        return_deferred(captured_->pool);
        return code;
    }

    void release() {
        if (void* const graph = std::exchange(graph_, nullptr)) {
            table.destroy(graph);
        }
        const c10::MempoolId_t pool = captured_->pool;
        captured_ = nullptr;
        close_pool(pool);
    }

    c10::Stream stream_ = default_stream(0);
    uint64_t number_ = 0;
    bool is_underway_ = false;
    void* graph_ = nullptr;
    std::unique_ptr<Captured> captured_;
    std::set<c10::StreamId> launched_;
};

}  // namespace

bool is_stream_capturing(diopiStreamHandle_t stream) { return capture_of(stream) != nullptr; }

bool is_capturing(c10::DeviceIndex device) { return current_capture(device) != nullptr; }

void reject_in_capture(const std::string& what) {
    rejection = "a graph cannot capture " + what;
    TORCH_CHECK(false, rejection);
}

std::string take_rejection() { return std::exchange(rejection, {}); }

std::optional<c10::MempoolId_t> pool_of_capture(c10::Stream stream) {
    const Captured* const captured = capture_of(handle_of(stream));
    return captured == nullptr ? std::nullopt : std::make_optional(captured->pool);
}

c10::MempoolId_t new_pool() {
    static std::atomic<uint64_t> pools{0};
    return {0, ++pools};
}

void own_in_capture(diopiStreamHandle_t stream, std::shared_ptr<const void> object) {
    if (Captured* const captured = capture_of(stream)) {
        captured->objects.push_back(std::move(object));
    }
}

void own_in_capture(diopiStreamHandle_t stream, const at::Tensor& tensor) {
    own_in_capture(stream, std::make_shared<const at::Tensor>(tensor));
}

const uint64_t* captured_seed(c10::GeneratorImpl* generator) {
    const c10::DeviceIndex device = generator->device().index();
    Captured* const captured = current_capture(device);
    if (captured == nullptr) {
        return nullptr;
    }
    CapturedSeed& seed = captured->seeds[generator];
    if (!seed.generator.defined()) {
        seed.generator = at::Generator(c10::intrusive_ptr<c10::GeneratorImpl>::reclaim_copy(generator));
        seed.memory = at::empty({2}, at::TensorOptions(c10::Device(kDeviceType, device)).dtype(at::kLong));
    }
    seed.is_read = true;
    return static_cast<const uint64_t*>(seed.memory.const_data_ptr());
}

uint64_t* offset_in_capture(const c10::GeneratorImpl* generator, Use use) {
    Captured* const captured = current_capture(generator->device().index());
    if (captured == nullptr) {
        return nullptr;
    }
    const auto found = captured->seeds.find(generator);
    if (found == captured->seeds.end() || (use == Use::kRead && !std::exchange(found->second.is_read, false))) {
        reject_in_capture(
            "random numbers of a function that takes the seed as a number: each launch would repeat them");
    }
    return &found->second.offset;
}

void require_uncaptured(const c10::GeneratorImpl* generator) {
    if (current_capture(generator->device().index()) != nullptr) {
        reject_in_capture("a change of the state of a generator");
    }
}

void register_graphs() {
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
        *seed_and_offset = diopigen::backend::captured_seed(reinterpret_cast<c10::GeneratorImpl*>(generator));
    });
}
