// The collectives of c10d, each as one call of the interface, or a few.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "process_group.h"

namespace diopigen::distributed {

namespace {

diopiReduceOp_t op_of(const c10d::ReduceOp& op) {
    switch (op) {
        case c10d::ReduceOp::SUM:
        case c10d::ReduceOp::PREMUL_SUM:
            return ReduceOpSum;
        case c10d::ReduceOp::AVG:
            return ReduceOpAvg;
        case c10d::ReduceOp::PRODUCT:
            return ReduceOpProd;
        case c10d::ReduceOp::MIN:
            return ReduceOpMin;
        case c10d::ReduceOp::MAX:
            return ReduceOpMax;
        default:
            TORCH_CHECK(false, "the backend dicl reduces by SUM, AVG, PRODUCT, MIN, MAX and PREMUL_SUM, not by bits");
    }
}

/// Contribution of a rank: its tensor, or the product with the factor of PREMUL_SUM, on the current stream.
at::Tensor contribution(const at::Tensor& tensor, const c10d::ReduceOp& op) {
    if (op != c10d::ReduceOp::PREMUL_SUM) {
        return tensor;
    }
    const c10::NoGradGuard no_gradient;
    const auto* const factor = static_cast<const c10d::PreMulSumSupplement*>(op.supplement_.get());
    TORCH_CHECK(factor != nullptr, "PREMUL_SUM has no factor");
    if (factor->tensor_factor.defined()) {
        return at::mul(tensor, factor->tensor_factor.to(tensor.device(), tensor.scalar_type())).contiguous();
    }
    return at::mul(tensor, factor->double_factor).contiguous();
}

void copy_into(const at::Tensor& target, const at::Tensor& source) {
    const c10::NoGradGuard no_gradient;
    target.copy_(source.view(target.sizes()));
}

at::Tensor flat(const Tensors& tensors) {
    const c10::NoGradGuard no_gradient;
    Tensors views;
    for (const at::Tensor& tensor : tensors) {
        views.push_back(tensor.view({-1}));
    }
    return at::cat(views);
}

at::Tensor& only(Tensors& tensors) {
    TORCH_CHECK(tensors.size() == 1, "collectives of one tensor in each process, not of ", tensors.size());
    return tensors.front();
}

bool have_same_size(const Tensors& tensors, const at::Tensor& other) {
    return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& t) {
        return t.numel() == other.numel() && t.scalar_type() == other.scalar_type();
    });
}

diopiSize_t list(const std::vector<int64_t>& values) { return {values.data(), static_cast<int64_t>(values.size())}; }

std::vector<int64_t> starts(const std::vector<int64_t>& counts) {
    std::vector<int64_t> found;
    int64_t at = 0;
    for (const int64_t count : counts) {
        found.push_back(at);
        at += count;
    }
    return found;
}

/// Elements for each rank, of rows for each rank; equal ones where there is no list.
std::vector<int64_t> elements_of(const at::Tensor& tensor, const std::vector<int64_t>& splits, int size,
                                 const char* what) {
    const int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
    const int64_t row = rows == 0 ? 0 : tensor.numel() / rows;
    if (splits.empty()) {
        TORCH_CHECK(rows % size == 0, what, " has ", rows, " rows, which do not split into ", size, " equal parts");
        return std::vector<int64_t>(static_cast<size_t>(size), rows / size * row);
    }
    TORCH_CHECK(static_cast<int>(splits.size()) == size, what, " has ", splits.size(), " splits for ", size, " ranks");
    std::vector<int64_t> counts;
    int64_t all = 0;
    for (const int64_t split : splits) {
        counts.push_back(split * row);
        all += split;
    }
    TORCH_CHECK(all == rows, "the splits of ", what, " have ", all, " rows, and it has ", rows);
    return counts;
}

}  // namespace

Handle ProcessGroup::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
    only(tensors);
    const diopiReduceOp_t op = op_of(options.reduceOp);
    return run({c10d::OpType::ALLREDUCE, {}, tensors, options.timeout, options.asyncOp},
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   const at::Tensor& tensor = dense.outputs[0];
                   const at::Tensor sent = contribution(tensor, options.reduceOp);
                   check(diopiAllReduce(sent.const_data_ptr(), tensor.mutable_data_ptr(), tensor.numel(),
                                        dtype_of(tensor), op, comm, stream),
                         "diopiAllReduce");
               });
}

Handle ProcessGroup::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
    const diopiReduceOp_t op = op_of(options.reduceOp);
    return run({c10d::OpType::ALLREDUCE_COALESCED, {}, tensors, options.timeout, options.asyncOp},
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   for (const at::Tensor& tensor : dense.outputs) {
                       const at::Tensor sent = contribution(tensor, options.reduceOp);
                       check(diopiAllReduce(sent.const_data_ptr(), tensor.mutable_data_ptr(), tensor.numel(),
                                            dtype_of(tensor), op, comm, stream),
                             "diopiAllReduce");
                   }
               });
}

Handle ProcessGroup::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
    only(tensors);
    return run({c10d::OpType::BROADCAST, {}, tensors, options.timeout, options.asyncOp},
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   const at::Tensor& tensor = dense.outputs[0];
                   check(diopiBroadcast(tensor.mutable_data_ptr(), tensor.numel(), dtype_of(tensor),
                                        static_cast<int>(options.rootRank), comm, stream),
                         "diopiBroadcast");
               });
}

Handle ProcessGroup::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
    only(tensors);
    const diopiReduceOp_t op = op_of(options.reduceOp);
    return run({c10d::OpType::REDUCE, {}, tensors, options.timeout, options.asyncOp},
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   const at::Tensor& tensor = dense.outputs[0];
                   const at::Tensor sent = contribution(tensor, options.reduceOp);
                   check(diopiReduce(sent.const_data_ptr(), tensor.mutable_data_ptr(), tensor.numel(), dtype_of(tensor),
                                     op, static_cast<int>(options.rootRank), comm, stream),
                         "diopiReduce");
               });
}

Handle ProcessGroup::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) {
    Tensors outputs{output};
    Tensors inputs{input};
    return allgather_into_tensor_coalesced(outputs, inputs, options);
}

Handle ProcessGroup::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::AllgatherOptions& options) {
    TORCH_CHECK(inputs.size() == outputs.size(), "as many inputs as outputs");
    for (size_t i = 0; i < inputs.size(); ++i) {
        TORCH_CHECK(inputs[i].scalar_type() == outputs[i].scalar_type(),
                    "output tensor must have the same type as input tensor");
        TORCH_CHECK(inputs[i].numel() * size_ == outputs[i].numel(),
                    "output tensor size must be equal to world_size times input tensor size");
    }
    return run({c10d::OpType::_ALLGATHER_BASE, inputs, outputs, options.timeout, options.asyncOp},
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   for (size_t i = 0; i < dense.inputs.size(); ++i) {
                       check(diopiAllGather(dense.inputs[i].const_data_ptr(), dense.outputs[i].mutable_data_ptr(),
                                            dense.inputs[i].numel(), dtype_of(dense.inputs[i]), comm, stream),
                             "diopiAllGather");
                   }
               });
}

Handle ProcessGroup::allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
    const at::Tensor input = only(inputs);
    TORCH_CHECK(outputs.size() == 1 && static_cast<int>(outputs[0].size()) == size_, "one output for each rank");
    const Tensors received = outputs[0];
    if (!have_same_size(received, input)) {  // each rank sends a tensor of its own size
        return run(
            {c10d::OpType::ALLGATHER, inputs, received, options.timeout, options.asyncOp},
            [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                copy_into(dense.outputs[static_cast<size_t>(rank_)], dense.inputs[0]);
                for (int root = 0; root < size_; ++root) {
                    const at::Tensor& each = dense.outputs[static_cast<size_t>(root)];
                    check(diopiBroadcast(each.mutable_data_ptr(), each.numel(), dtype_of(each), root, comm, stream),
                          "diopiBroadcast");
                }
            });
    }
    return run({c10d::OpType::ALLGATHER, inputs, received, options.timeout, options.asyncOp},
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   const at::Tensor all = at::empty({size_, dense.inputs[0].numel()}, dense.inputs[0].options());
                   check(diopiAllGather(dense.inputs[0].const_data_ptr(), all.mutable_data_ptr(),
                                        dense.inputs[0].numel(), dtype_of(dense.inputs[0]), comm, stream),
                         "diopiAllGather");
                   for (int rank = 0; rank < size_; ++rank) {
                       copy_into(dense.outputs[static_cast<size_t>(rank)], all[rank]);
                   }
               });
}

Handle ProcessGroup::allgather_coalesced(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
    TORCH_CHECK(inputs.size() == outputs.size() && !inputs.empty(), "as many inputs as lists of outputs");
    Handle last;
    for (size_t i = 0; i < inputs.size(); ++i) {  // one stream: the last one is done last
        TensorLists lists{outputs[i]};
        Tensors input{inputs[i]};
        last = allgather(lists, input, options);
    }
    return last;
}

Handle ProcessGroup::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::ReduceScatterOptions& options) {
    Tensors outputs{output};
    Tensors inputs{input};
    return reduce_scatter_tensor_coalesced(outputs, inputs, options);
}

Handle ProcessGroup::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::ReduceScatterOptions& options) {
    TORCH_CHECK(inputs.size() == outputs.size(), "as many inputs as outputs");
    for (size_t i = 0; i < inputs.size(); ++i) {
        TORCH_CHECK(inputs[i].scalar_type() == outputs[i].scalar_type(),
                    "input tensor must be the same type as the output tensor");
        TORCH_CHECK(outputs[i].numel() * size_ == inputs[i].numel(),
                    "input tensor must be the same size as output size times world size");
    }
    const diopiReduceOp_t op = op_of(options.reduceOp);
    return run({c10d::OpType::_REDUCE_SCATTER_BASE, inputs, outputs, options.timeout, options.asyncOp},
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   for (size_t i = 0; i < dense.inputs.size(); ++i) {
                       const at::Tensor sent = contribution(dense.inputs[i], options.reduceOp);
                       check(diopiReduceScatter(sent.const_data_ptr(), dense.outputs[i].mutable_data_ptr(),
                                                dense.outputs[i].numel(), dtype_of(sent), op, comm, stream),
                             "diopiReduceScatter");
                   }
               });
}

Handle ProcessGroup::reduce_scatter(Tensors& outputs, TensorLists& inputs, const c10d::ReduceScatterOptions& options) {
    const at::Tensor output = only(outputs);
    TORCH_CHECK(inputs.size() == 1 && static_cast<int>(inputs[0].size()) == size_, "one input for each rank");
    TORCH_CHECK(have_same_size(inputs[0], output), "reduce_scatter needs inputs of the size and dtype of the output");
    const diopiReduceOp_t op = op_of(options.reduceOp);
    return run({c10d::OpType::REDUCE_SCATTER, inputs[0], outputs, options.timeout, options.asyncOp},
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   const at::Tensor sent = contribution(flat(dense.inputs), options.reduceOp);
                   check(diopiReduceScatter(sent.const_data_ptr(), dense.outputs[0].mutable_data_ptr(),
                                            dense.outputs[0].numel(), dtype_of(sent), op, comm, stream),
                         "diopiReduceScatter");
               });
}

Handle ProcessGroup::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                                   std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) {
    TORCH_CHECK(input.scalar_type() == output.scalar_type(), "tensors are not of the same dtype");
    const std::vector<int64_t> sent = elements_of(input, input_splits, size_, "the input");
    const std::vector<int64_t> received = elements_of(output, output_splits, size_, "the output");
    const bool is_equal = input_splits.empty() && output_splits.empty();
    return run(
        {c10d::OpType::ALLTOALL_BASE, {input}, {output}, options.timeout, options.asyncOp},
        [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
            if (is_equal) {
                check(diopiAllToAllEqualSplit(dense.inputs[0].const_data_ptr(), dense.outputs[0].mutable_data_ptr(),
                                              sent[0], dtype_of(dense.inputs[0]), comm, stream),
                      "diopiAllToAllEqualSplit");
                return;
            }
            const std::vector<int64_t> from = starts(sent);
            const std::vector<int64_t> to = starts(received);
            check(diopiAllToAllUnequalSplit(dense.inputs[0].const_data_ptr(), list(sent), list(from),
                                            dense.outputs[0].mutable_data_ptr(), list(received), list(to),
                                            dtype_of(dense.inputs[0]), comm, stream),
                  "diopiAllToAllUnequalSplit");
        });
}

Handle ProcessGroup::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
    TORCH_CHECK(static_cast<int>(inputs.size()) == size_ && static_cast<int>(outputs.size()) == size_,
                "one input and one output for each rank");
    std::vector<int64_t> sent;
    std::vector<int64_t> received;
    for (int rank = 0; rank < size_; ++rank) {
        sent.push_back(inputs[static_cast<size_t>(rank)].numel());
        received.push_back(outputs[static_cast<size_t>(rank)].numel());
    }
    return run(
        {c10d::OpType::ALLTOALL, inputs, outputs, options.timeout, options.asyncOp},
        [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
            const std::vector<int64_t> from = starts(sent);
            const std::vector<int64_t> to = starts(received);
            const at::Tensor all = flat(dense.inputs);
            const at::Tensor result = at::empty({to.back() + received.back()}, all.options());
            check(diopiAllToAllUnequalSplit(all.const_data_ptr(), list(sent), list(from), result.mutable_data_ptr(),
                                            list(received), list(to), dtype_of(all), comm, stream),
                  "diopiAllToAllUnequalSplit");
            for (size_t rank = 0; rank < dense.outputs.size(); ++rank) {
                copy_into(dense.outputs[rank], result.narrow(0, to[rank], received[rank]));
            }
        });
}

Handle ProcessGroup::gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
    only(inputs);
    const bool is_root = rank_ == options.rootRank;
    TORCH_CHECK(!is_root || (outputs.size() == 1 && static_cast<int>(outputs[0].size()) == size_),
                "the root has one output for each rank");
    const Tensors received = is_root ? outputs[0] : Tensors{};
    return run({c10d::OpType::GATHER, inputs, received, options.timeout, options.asyncOp},
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   const at::Tensor& input = dense.inputs[0];
                   if (!is_root) {
                       check(diopiSend(input.const_data_ptr(), input.numel(), dtype_of(input),
                                       static_cast<int>(options.rootRank), comm, stream),
                             "diopiSend");
                       return;
                   }
                   for (int rank = 0; rank < size_; ++rank) {
                       const at::Tensor& each = dense.outputs[static_cast<size_t>(rank)];
                       if (rank == rank_) {
                           copy_into(each, input);
                           continue;
                       }
                       check(diopiRecv(each.mutable_data_ptr(), each.numel(), dtype_of(each), rank, comm, stream),
                             "diopiRecv");
                   }
               });
}

Handle ProcessGroup::scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) {
    only(outputs);
    const bool is_root = rank_ == options.rootRank;
    TORCH_CHECK(!is_root || (inputs.size() == 1 && static_cast<int>(inputs[0].size()) == size_),
                "the root has one input for each rank");
    const Tensors sent = is_root ? inputs[0] : Tensors{};
    return run({c10d::OpType::SCATTER, sent, outputs, options.timeout, options.asyncOp},
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   const at::Tensor& output = dense.outputs[0];
                   if (!is_root) {
                       check(diopiRecv(output.mutable_data_ptr(), output.numel(), dtype_of(output),
                                       static_cast<int>(options.rootRank), comm, stream),
                             "diopiRecv");
                       return;
                   }
                   for (int rank = 0; rank < size_; ++rank) {
                       const at::Tensor& each = dense.inputs[static_cast<size_t>(rank)];
                       if (rank == rank_) {
                           copy_into(output, each);
                           continue;
                       }
                       check(diopiSend(each.const_data_ptr(), each.numel(), dtype_of(each), rank, comm, stream),
                             "diopiSend");
                   }
               });
}

Handle ProcessGroup::send(Tensors& tensors, int peer, int /*tag*/) {
    const auto communicator = communicator_with(only(tensors).device(), peer);
    return run({c10d::OpType::SEND, tensors, {}}, communicator,
               [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
                   const at::Tensor& tensor = dense.inputs[0];
                   check(diopiSend(tensor.const_data_ptr(), tensor.numel(), dtype_of(tensor), rank_ < peer ? 1 : 0,
                                   comm, stream),
                         "diopiSend");
               });
}

Handle ProcessGroup::recv(Tensors& tensors, int peer, int /*tag*/) {
    const auto communicator = communicator_with(only(tensors).device(), peer);
    Call call{c10d::OpType::RECV, {}, tensors};
    call.is_receiving = true;
    return run(call, communicator, [&](const Call& dense, diopiComm_t comm, diopiStreamHandle_t stream) {
        const at::Tensor& tensor = dense.outputs[0];
        check(
            diopiRecv(tensor.mutable_data_ptr(), tensor.numel(), dtype_of(tensor), rank_ < peer ? 1 : 0, comm, stream),
            "diopiRecv");
    });
}

Handle ProcessGroup::barrier(const c10d::BarrierOptions& options) {
    c10::Device device = options.device.value_or(bound_device_id_.value_or(c10::Device(kDevice)));
    if (device.type() != kDevice || !device.has_index()) {
        device = c10::impl::VirtualGuardImpl(kDevice).getDevice();
    }
    const at::Tensor one = at::zeros({1}, at::TensorOptions().device(device).dtype(at::kFloat));
    Call call{c10d::OpType::BARRIER, {}, {one}, options.timeout, options.asyncOp};
    call.is_blocking = true;
    return run(call, [&](const Call& /*dense*/, diopiComm_t comm, diopiStreamHandle_t stream) {
        check(diopiAllReduce(one.const_data_ptr(), one.mutable_data_ptr(), 1, dtype_of(one), ReduceOpSum, comm, stream),
              "diopiAllReduce");
    });
}

}  // namespace diopigen::distributed
