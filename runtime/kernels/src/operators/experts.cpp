// First versions of mixtures of experts.
#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/serving/experts.h>
#include <diopigen_kernels/serving/quantized.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "launched.h"
#include "owners.h"
#include "stored.h"

namespace diopigen::kernels::operators {
namespace {

using namespace serving;

constexpr const char* kUnknown = "an expert is none of the weights";

template <typename Element>
ExpertMatrix<Element> matrix_of(const Kernel& kernel, std::size_t position, const ExpertScales& scales = {}) {
    const Shape& stride = kernel.buffer(position).stride;
    return {kernel.in<Element>(position), stride[0], stride[1], stride[2], scales};
}

// Whether the factors on weights [experts, rows, columns] are of experts, rows or blocks.
bool has_scales(const Shape& scale, const Shape& weight, int64_t block) {
    const Shape blocks{weight[0], (weight[1] + block - 1) / block, (weight[2] + block - 1) / block};
    return scale == Shape{weight[0], 1, 1} || scale == Shape{weight[0], weight[1], 1} || scale == blocks;
}

std::optional<Gate> gate_of(const char* activation) {
    const std::string_view name(activation == nullptr ? "" : activation);
    return name == "silu"        ? std::optional(Gate::kSilu)
           : name == "gelu"      ? std::optional(Gate::kGelu)
           : name == "gelu_tanh" ? std::optional(Gate::kGeluTanh)
                                 : std::nullopt;
}

constexpr const char* kUnknownGate = "an activation that is not known";

// Whether what both functions of experts have is as it must be: the result, then tokens, weights of experts, their
// numbers, biases and the map at 1 and 4 to 8.
bool are_experts(const Call& call, int64_t count, int64_t inner) {
    if (!call.haveRank({1, 4, 5}, 2) || !call.haveRank({8}, 1) || !isFloat(call.dtype(1)) ||
        !call.haveDtype({0, 6, 7}, call.dtype(1)) || !call.haveDtype({4}, diopi_dtype_float32)) {
        return false;
    }
    const int64_t tokens = call.shape(1)[0], hidden = call.shape(1)[1], top = call.shape(4)[1];
    return call.haveShape({0}, {tokens, hidden}) && call.haveShape({4, 5}, {tokens, top}) &&
           call.haveShape({6}, {count, 2 * inner}) && call.haveShape({7}, {count, hidden});
}

// The layers of all experts, by their two matrices.
class FeedForward {
  public:
    FeedForward(const Call& call, int64_t count, int64_t inner, Gate gate)
        : tokens_(call.shape(1)[0]),
          hidden_(call.shape(1)[1]),
          top_(call.shape(4)[1]),
          count_(count),
          inner_(inner),
          known_(call.has(8) ? call.shape(8)[0] : count),
          gate_(gate) {}

    template <typename Matrix>
    void operator()(const Kernel& k, const Matrix& first, const Matrix& second) const {
        const FloatInput x(k, 1, {tokens_, hidden_}), weight(k, 4, {tokens_, top_}),
            first_bias(k, 6, {count_, 2 * inner_}), second_bias(k, 7, {count_, hidden_});
        const Input<int64_t> selected(k, 5, {tokens_, top_}), local(k, 8, {known_});
        require_within(selected.data(), tokens_ * top_, INT64_MIN, known_, kUnknown);
        const bool is_mapped = k.buffer(8).isTensor;
        if (is_mapped) {
            require_within(local.data(), known_, INT64_MIN, count_, kUnknown);
        }
        const LocalExpert expert_at{selected.data(), is_mapped ? local.data() : nullptr};
        FloatOutput to(k, 0, {tokens_, hidden_});
        std::vector<float> between(static_cast<std::size_t>(tokens_ * top_ * inner_));
        each(tokens_ * top_ * inner_, 2 * hidden_,
             ExpertHidden<Matrix>{between.data(), x.data(), first, data_of(k, 6, first_bias), expert_at, top_, inner_,
                                  hidden_, gate_});
        each(tokens_ * hidden_, top_ * inner_,
             ExpertSum<Matrix>{to.data(), between.data(), second, data_of(k, 7, second_bias), weight.data(), expert_at,
                               top_, inner_, hidden_});
        to.finish();
    }

  private:
    int64_t tokens_, hidden_, top_, count_, inner_, known_;
    Gate gate_;
};

}  // namespace

Status topkGating(const Launch& launch, Context ctx, Out weights, Out experts, In gating, In bias, int64_t top_k,
                  const char* scoring, bool renormalize, int64_t num_groups, int64_t top_groups, double scaling) {
    const Call call(ctx, "diopiTopkGating", {weights, experts}, {gating, bias}, {3});
    if (!call.haveRank({2}, 2) || !isFloat(call.dtype(2)) || !call.haveDtype({0, 3}, diopi_dtype_float32)) {
        return call.rejected();
    }
    const int64_t tokens = call.shape(2)[0], all = call.shape(2)[1];
    if (num_groups < 1 || all % num_groups != 0 || top_groups < 1 || top_groups > num_groups || top_k < 1 ||
        top_k > top_groups * (all / num_groups) || !call.haveShape({0, 1}, {tokens, top_k}) ||
        !call.haveShape({3}, {all})) {
        return call.rejected();
    }
    const std::string_view function(scoring == nullptr ? "" : scoring);
    const bool is_sigmoid = function == "sigmoid";
    if (!is_sigmoid && function != "softmax") {
        return call.rejected("a function of scores that is not known");
    }
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput gates(k, 2, {tokens, all}), shift(k, 3, {all});
        FloatOutput weight(k, 0, {tokens, top_k});
        Output<int64_t> selected(k, 1, {tokens, top_k});
        Values scores(static_cast<std::size_t>(tokens * all)), choice(scores.size());
        each(tokens, all * top_k,
             ChooseExperts{weight.data(), selected.data(), gates.data(), data_of(k, 3, shift), scores.data(),
                           choice.data(), all, top_k, num_groups, top_groups, is_sigmoid, renormalize, scaling});
        weight.finish();
        selected.finish();
    });
}

Status fusedExperts(const Launch& launch, Context ctx, Out out, In input, In gate_up_weight, In down_weight, In weights,
                    In experts, In gate_up_bias, In down_bias, In expert_map, const char* activation, In gate_up_scale,
                    In down_scale, int64_t block) {
    const Call call(ctx, "diopiFusedExperts", {out},
                    {input, gate_up_weight, down_weight, weights, experts, gate_up_bias, down_bias, expert_map,
                     gate_up_scale, down_scale},
                    {6, 7, 8, 9, 10});
    if (!call.isComplete() || !call.haveRank({2, 3}, 3) ||
        (!is_float8(call.dtype(2)) && !call.haveDtype({2}, call.dtype(1))) || !call.haveDtype({3}, call.dtype(2)) ||
        !call.haveDtype({9, 10}, diopi_dtype_float32) || !call.haveRank({9, 10}, 3) || block < 1) {
        return call.rejected();
    }
    const int64_t count = call.shape(3)[0], inner = call.shape(3)[2];
    if (!are_experts(call, count, inner)) {
        return call.rejected();
    }
    const int64_t hidden = call.shape(1)[1];
    if (!call.haveShape({2}, {count, 2 * inner, hidden}) || !call.haveShape({3}, {count, hidden, inner}) ||
        (call.has(9) && !has_scales(call.shape(9), call.shape(2), block)) ||
        (call.has(10) && !has_scales(call.shape(10), call.shape(3), block))) {
        return call.rejected();
    }
    const std::optional<Gate> gate = gate_of(activation);
    if (!gate) {
        return call.rejected(kUnknownGate);
    }
    const Shape of_first = call.has(9) ? call.shape(9) : Shape{count, 1, 1};
    const Shape of_second = call.has(10) ? call.shape(10) : Shape{count, 1, 1};
    const FeedForward layers(call, count, inner, *gate);
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput first_scale(k, 9, of_first), second_scale(k, 10, of_second);
        const ExpertScales first = ExpertScales::of(data_of(k, 9, first_scale), &of_first[1], 2 * inner, hidden, block);
        const ExpertScales second = ExpertScales::of(data_of(k, 10, second_scale), &of_second[1], hidden, inner, block);
        with_stored(k.buffer(2).dtype, [&](auto element) {
            using Element = decltype(element);
            layers(k, matrix_of<Element>(k, 2, first), matrix_of<Element>(k, 3, second));
        });
    });
}

// Only weights and zeros without gaps are read.
Status packedExperts(const Launch& launch, Context ctx, Out out, In input, In gate_up_weight, In down_weight,
                     In gate_up_scale, In down_scale, In weights, In experts, In gate_up_zero, In down_zero,
                     In gate_up_bias, In down_bias, In expert_map, const char* activation, int64_t bits) {
    const Call call(ctx, "diopiPackedExperts", {out},
                    {input, gate_up_weight, down_weight, weights, experts, gate_up_bias, down_bias, expert_map,
                     gate_up_scale, down_scale, gate_up_zero, down_zero},
                    {6, 7, 8, 11, 12});
    if (!call.isComplete() || !call.haveRank({2, 3, 9, 10}, 3) || !call.haveDtype({2, 3, 11, 12}, diopi_dtype_int32) ||
        !call.haveDtype({9, 10}, call.dtype(1)) || (bits != 4 && bits != 8) || !call.isInOrder(2) ||
        !call.isInOrder(3) || (call.has(11) && !call.isInOrder(11)) || (call.has(12) && !call.isInOrder(12))) {
        return call.rejected();
    }
    const int64_t count = call.shape(2)[0], rows = call.shape(2)[1], inner = rows / 2;
    if (!are_experts(call, count, inner)) {
        return call.rejected();
    }
    const int64_t hidden = call.shape(1)[1], groups = call.shape(9)[2], inner_groups = call.shape(10)[2];
    const auto words = [bits](int64_t size) { return size * bits / 32; };
    if (hidden * bits % 32 != 0 || rows * bits % 64 != 0 || !call.haveShape({2}, {count, rows, words(hidden)}) ||
        !call.haveShape({3}, {count, hidden, words(inner)}) || !call.haveShape({9}, {count, rows, groups}) ||
        !call.haveShape({10}, {count, hidden, inner_groups}) || groups == 0 || hidden % groups != 0 ||
        inner_groups == 0 || inner % inner_groups != 0 || !call.haveShape({11}, {count, words(rows), groups}) ||
        !call.haveShape({12}, {count, words(hidden), inner_groups})) {
        return call.rejected();
    }
    const std::optional<Gate> gate = gate_of(activation);
    if (!gate) {
        return call.rejected(kUnknownGate);
    }
    const FeedForward layers(call, count, inner, *gate);
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput first(k, 9, {count, rows, groups}), second(k, 10, {count, hidden, inner_groups});
        const auto zeros = [&](std::size_t i) { return k.buffer(i).isTensor ? k.in<int32_t>(i) : nullptr; };
        const int width = static_cast<int>(bits);
        layers(k, PackedMatrix{k.in<int32_t>(2), first.data(), zeros(11), rows, groups, width},
               PackedMatrix{k.in<int32_t>(3), second.data(), zeros(12), hidden, inner_groups, width});
    });
}

// Rows behind the last group stay as they are: the result is an operand as well.
Status groupedGemm(const Launch& launch, Context ctx, Out out, In input, In weight, In bias, In group_ends) {
    const Call call(ctx, "diopiGroupedGemm", {out}, {input, weight, bias, group_ends, out}, {3});
    if (!call.isComplete() || !call.haveRank({1}, 2) || !call.haveRank({2}, 3) || !isFloat(call.dtype(1)) ||
        !call.haveDtype({0, 2, 3}, call.dtype(1))) {
        return call.rejected();
    }
    const int64_t rows = call.shape(1)[0], depth = call.shape(1)[1];
    const int64_t groups = call.shape(2)[0], width = call.shape(2)[1];
    if (!call.haveShape({0}, {rows, width}) || !call.haveShape({2}, {groups, width, depth}) ||
        !call.haveShape({3}, {groups, width}) || !call.haveShape({4}, {groups})) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput x(k, 1, {rows, depth}), shift(k, 3, {groups, width});
        const Input<int64_t> ends(k, 4, {groups});
        if (!std::is_sorted(ends.data(), ends.data() + groups) || ends.data()[0] < 0 ||
            ends.data()[groups - 1] > rows) {
            throw std::out_of_range("group_ends falls, or leaves the rows");
        }
        ChangedFloats to(k, 0, 5, {rows, width});
        with_stored(k.buffer(2).dtype, [&](auto element) {
            using Element = decltype(element);
            each(rows * width, depth,
                 GroupedProduct<Element>{to.data(), x.data(), matrix_of<Element>(k, 2), data_of(k, 3, shift),
                                         ends.data(), groups, width, depth});
        });
        to.finish();
    });
}

}  // namespace diopigen::kernels::operators
