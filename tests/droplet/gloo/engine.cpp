#include "engine.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_as_real.h>
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

namespace gloo_reference {
namespace {

namespace py = pybind11;

constexpr char kFailure[] = "failure";

std::chrono::milliseconds patience() {
    const char* const text = std::getenv("DIOPI_SIM_FABRIC_TIMEOUT");
    return std::chrono::milliseconds(text == nullptr ? 300'000 : std::atol(text));
}

/// How a dtype is stored, and what torch reduces it as: halves are added in float32 and rounded once, as in the
/// interface; bool has gloo's largest and smallest; integers that gloo lacks wrap when they are stored.
struct Form {
    at::ScalarType stored;
    at::ScalarType computed;
};

const std::map<diopiDtype_t, Form>& forms() {
    static const std::map<diopiDtype_t, Form> all = {
        {diopi_dtype_bool, {at::kBool, at::kByte}},
        {diopi_dtype_uint8, {at::kByte, at::kByte}},
        {diopi_dtype_int8, {at::kChar, at::kChar}},
        {diopi_dtype_int16, {at::kShort, at::kInt}},
        {diopi_dtype_int32, {at::kInt, at::kInt}},
        {diopi_dtype_int64, {at::kLong, at::kLong}},
        {diopi_dtype_float16, {at::kHalf, at::kFloat}},
        {diopi_dtype_bfloat16, {at::kBFloat16, at::kFloat}},
        {diopi_dtype_float32, {at::kFloat, at::kFloat}},
        {diopi_dtype_tfloat32, {at::kFloat, at::kFloat}},
        {diopi_dtype_float64, {at::kDouble, at::kDouble}},
        {diopi_dtype_complex64, {at::kComplexFloat, at::kFloat}},
        {diopi_dtype_complex128, {at::kComplexDouble, at::kDouble}},
    };
    return all;
}

bool isComplex(diopiDtype_t dtype) { return dtype == diopi_dtype_complex64 || dtype == diopi_dtype_complex128; }

c10d::ReduceOp opOf(diopiDtype_t dtype, diopiReduceOp_t op) {
    switch (op) {
        case ReduceOpMin:
            return c10d::ReduceOp::MIN;
        case ReduceOpMax:
            return c10d::ReduceOp::MAX;
        case ReduceOpProd:
            return dtype == diopi_dtype_bool ? c10d::ReduceOp::MIN : c10d::ReduceOp::PRODUCT;
        default:
            return dtype == diopi_dtype_bool ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
    }
}

at::Tensor bytesAt(const char* buffer, int64_t bytes) {
    return at::from_blob(const_cast<char*>(buffer), {bytes}, at::TensorOptions().dtype(at::kByte));
}

at::Tensor numbersAt(const char* buffer, int64_t count, diopiDtype_t dtype) {
    const at::ScalarType type = forms().at(dtype).stored;
    return at::from_blob(const_cast<char*>(buffer), {count}, at::TensorOptions().dtype(type));
}

void done(const c10::intrusive_ptr<c10d::Work>& work) {
    if (work != nullptr && !work->wait()) {
        throw std::runtime_error("gloo has not finished the call");
    }
}

}  // namespace

int64_t bytesOf(diopiDtype_t dtype) {
    switch (dtype) {  // moved as bytes, and not reduced
        case diopi_dtype_uint16:
            return 2;
        case diopi_dtype_uint32:
            return 4;
        case diopi_dtype_uint64:
            return 8;
        default:
            const auto found = forms().find(dtype);
            return found == forms().end() ? 0 : static_cast<int64_t>(c10::elementSize(found->second.stored));
    }
}

bool canReduce(diopiDtype_t dtype, diopiReduceOp_t op) {
    const bool isLinear = op == ReduceOpSum || op == ReduceOpAvg;
    return forms().count(dtype) != 0 && (isLinear || !isComplex(dtype)) &&
           !(op == ReduceOpAvg && dtype == diopi_dtype_bool);
}

Engine::Engine(const std::string& path, int nranks, int rank)
    : name_("gloo:" + path), nranks_(nranks), rank_(rank), store_(c10::make_intrusive<c10d::FileStore>(path, nranks)) {
    // The headers of gloo are not part of torch: Python makes the group.
    const py::gil_scoped_acquire gil;
    const py::object type = py::module_::import("torch.distributed").attr("ProcessGroupGloo");
    const py::object made = type(py::cast(store_), rank, nranks, patience());
    gloo_ = made.cast<c10::intrusive_ptr<c10d::Backend>>();
}

Line& Engine::lineOf(std::map<int, Line>* lines, int peer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return (*lines)[peer];
}

void Engine::stop() {
    if (isClosed_) {
        throw std::runtime_error("communicator " + name_ + " was destroyed");
    }
    if (const std::string text = error(); !text.empty()) {
        throw std::runtime_error(text);
    }
}

void Engine::run(Line* line, uint64_t number, const std::function<void()>& body) {
    try {
        line->run(
            number, [this] { stop(); },
            [&] {
                stop();
                body();
            });
    } catch (const std::exception& failure) {
        const std::string text = failure.what();
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (error_.empty()) {
                error_ = text;
            }
        }
        store_->set(kFailure, std::vector<uint8_t>(text.begin(), text.end()));
        throw;
    }
}

std::string Engine::error() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error_.empty() && store_->check({kFailure})) {
        const std::vector<uint8_t> text = store_->get(kFailure);
        error_.assign(text.begin(), text.end());
    }
    return error_;
}

at::Tensor Engine::reduced(const char* from, int64_t count, diopiDtype_t dtype, diopiReduceOp_t op) {
    const at::Tensor numbers = numbersAt(from, count, dtype);
    std::vector<at::Tensor> operands{
        (isComplex(dtype) ? at::view_as_real(numbers) : numbers).to(forms().at(dtype).computed, false, true)};
    c10d::AllreduceOptions options;
    options.reduceOp = opOf(dtype, op);
    done(gloo_->allreduce(operands, options));
    at::Tensor& result = operands[0];
    if (op == ReduceOpAvg) {
        const bool isInteger = c10::isIntegralType(result.scalar_type(), false);
        if (isInteger) {
            // What the ranks sent is added up in its own dtype, and wraps there.
            result = result.to(forms().at(dtype).stored).to(result.scalar_type());
            result.div_(nranks_, "trunc");
        } else {
            result.div_(nranks_);
        }
    }
    return result;
}

void Engine::allReduce(const char* from, char* to, int64_t count, diopiDtype_t dtype, diopiReduceOp_t op) {
    if (count > 0) {
        const at::Tensor result = reduced(from, count, dtype, op);
        const at::Tensor target = numbersAt(to, count, dtype);
        (isComplex(dtype) ? at::view_as_real(target) : target).copy_(result);
    }
}

void Engine::reduce(const char* from, char* to, int64_t count, diopiDtype_t dtype, diopiReduceOp_t op, int root) {
    if (rank_ == root) {
        allReduce(from, to, count, dtype, op);
    } else if (count > 0) {
        reduced(from, count, dtype, op);
    }
}

void Engine::reduceScatter(const char* from, char* to, int64_t count, diopiDtype_t dtype, diopiReduceOp_t op) {
    if (count > 0) {
        const at::Tensor all = reduced(from, count * nranks_, dtype, op);
        const at::Tensor target = numbersAt(to, count, dtype);
        (isComplex(dtype) ? at::view_as_real(target) : target).copy_(all.narrow(0, rank_ * count, count));
    }
}

void Engine::broadcast(char* buffer, int64_t bytes, int root) {
    if (bytes > 0) {
        std::vector<at::Tensor> tensors{bytesAt(buffer, bytes)};
        c10d::BroadcastOptions options;
        options.rootRank = root;
        done(gloo_->broadcast(tensors, options));
    }
}

void Engine::allGather(const char* from, char* to, int64_t bytes) {
    if (bytes > 0) {
        at::Tensor own = bytesAt(from, bytes).clone();
        at::Tensor all = bytesAt(to, bytes * nranks_);
        done(gloo_->_allgather_base(all, own, {}));
    }
}

void Engine::allToAll(const char* from, char* to, int64_t bytes) {
    Places places;
    for (int rank = 0; rank < nranks_; ++rank) {
        places.counts.push_back(bytes);
        places.offsets.push_back(rank * bytes);
    }
    allToAll(from, places, to, places);
}

void Engine::allToAll(const char* from, const Places& sent, char* to, const Places& received) {
    const auto sum = [](const std::vector<int64_t>& counts) {
        int64_t all = 0;
        for (const int64_t count : counts) {
            all += count;
        }
        return all;
    };
    const auto options = at::TensorOptions().dtype(at::kByte);
    at::Tensor packed = at::empty({sum(sent.counts)}, options);
    at::Tensor found = at::empty({sum(received.counts)}, options);
    int64_t at = 0;
    for (std::size_t rank = 0; rank < sent.counts.size(); ++rank) {
        if (sent.counts[rank] > 0) {
            packed.narrow(0, at, sent.counts[rank]).copy_(bytesAt(from + sent.offsets[rank], sent.counts[rank]));
        }
        at += sent.counts[rank];
    }
    std::vector<int64_t> outputs = received.counts;
    std::vector<int64_t> inputs = sent.counts;
    done(gloo_->alltoall_base(found, packed, outputs, inputs, {}));
    at = 0;
    for (std::size_t rank = 0; rank < received.counts.size(); ++rank) {
        if (received.counts[rank] > 0) {
            bytesAt(to + received.offsets[rank], received.counts[rank])
                .copy_(found.narrow(0, at, received.counts[rank]));
        }
        at += received.counts[rank];
    }
}

void Engine::send(const char* buffer, int64_t bytes, int peer) {
    if (peer == rank_) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            own_.emplace_back(buffer, static_cast<std::size_t>(bytes));
        }
        arrived_.notify_all();
    } else if (bytes > 0) {
        std::vector<at::Tensor> tensors{bytesAt(buffer, bytes)};
        done(gloo_->send(tensors, peer, 0));
    }
}

void Engine::receive(char* buffer, int64_t bytes, int peer) {
    if (peer == rank_) {
        std::unique_lock<std::mutex> lock(mutex_);
        if (!arrived_.wait_for(lock, patience(), [this] { return !own_.empty(); })) {
            throw std::runtime_error("this rank has sent nothing to itself");
        }
        if (own_.front().size() != static_cast<std::size_t>(bytes)) {
            throw std::runtime_error("a message has another size than its receiver expects");
        }
        std::copy(own_.front().begin(), own_.front().end(), buffer);
        own_.pop_front();
    } else if (bytes > 0) {
        std::vector<at::Tensor> tensors{bytesAt(buffer, bytes)};
        done(gloo_->recv(tensors, peer, 0));
    }
}

}  // namespace gloo_reference
