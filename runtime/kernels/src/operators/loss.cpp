#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/rows.h>

#include <cmath>
#include <stdexcept>

#include "launched.h"

namespace diopigen::kernels::operators {
namespace {

// Positions in both calls.
constexpr int kLogits = 2, kTarget = 3, kWeight = 4;

// A cross entropy of rows of logits: of each row the sum of -t[c] * logSoftmax(logits)[c], where t is the target's
// share of class c times its weight.
struct CrossEntropy {
    int64_t rows, classes;
    bool is_of_shares;  // the target has a share for each class, else the index of one
    diopiReduction_t reduction;
    int64_t ignored;
    double smoothing;

    // `visit(row, t)` for each row that counts. Gives what a mean is divided by.
    template <typename Visit>
    double for_each(const Kernel& k, Visit visit) const {
        const Values target = load(k, kTarget), weight = loadOr(k, kWeight, classes, 1);
        const double even = smoothing / static_cast<double>(classes);
        Values t(static_cast<std::size_t>(classes));
        double total = is_of_shares ? static_cast<double>(rows) : 0;
        for (int64_t row = 0; row < rows; ++row) {
            const auto index = is_of_shares ? 0 : static_cast<int64_t>(target[row]);
            if (!is_of_shares && index == ignored) {
                continue;
            }
            if (index < 0 || index >= classes) {
                throw std::out_of_range("a target is no class");
            }
            total += is_of_shares ? 0 : weight[index];
            for (int64_t c = 0; c < classes; ++c) {
                const double share = is_of_shares ? target[row * classes + c] : static_cast<double>(c == index);
                t[c] = weight[c] * ((1 - smoothing) * share + even);
            }
            visit(row, t);
        }
        return total;
    }
};

// Sees the classes of the logits, of what has their shape, and of shares in the target behind all other dimensions.
bool move_classes_last(Call* call, int like, CrossEntropy* plan) {
    const Shape logits = call->shape(kLogits);
    if (logits.empty() || !(plan->smoothing >= 0 && plan->smoothing <= 1) ||
        !call->haveShape({kWeight}, {logits[logits.size() == 1 ? 0 : 1]}) ||
        !call->haveDtype({0, 1, kWeight}, call->dtype(kLogits)) || !isFloat(call->dtype(kLogits))) {
        return false;
    }
    const Shape classes{logits.size() == 1 ? 0 : 1};
    plan->is_of_shares = call->rank(kTarget) == call->rank(kLogits);
    if (plan->is_of_shares &&
        (plan->ignored >= 0 || !call->haveShape({kTarget}, logits) ||
         !call->haveDtype({kTarget}, call->dtype(kLogits)) || !call->moveLast(classes, {kTarget}))) {
        return false;
    }
    if (!call->haveShape({like}, logits) || !call->moveLast(classes, {kLogits}) ||
        (like != kLogits && !call->moveLast(classes, {like}))) {
        return false;
    }
    const Shape& moved = call->shape(kLogits);
    const Shape samples(moved.begin(), moved.end() - 1);
    plan->rows = product(samples);
    plan->classes = moved.back();
    const int loss = like == kLogits ? 0 : 1;
    return (plan->is_of_shares || (call->haveShape({kTarget}, samples) && !isReal(call->dtype(kTarget)))) &&
           call->haveShape({loss}, plan->reduction == ReductionNone ? samples : Shape{});
}

}  // namespace

Status crossEntropyLoss(const Launch& launch, Context ctx, Out out, In input, In target, In weight,
                        diopiReduction_t reduction, int64_t ignore_index, double label_smoothing) {
    Call call(ctx, "diopiCrossEntropyLoss", {out, nullptr}, {input, target, weight}, {1, kWeight});
    CrossEntropy plan{0, 0, false, reduction, ignore_index, label_smoothing};
    if (!move_classes_last(&call, kLogits, &plan)) {
        return call.rejected();
    }
    return launched(call, launch, [plan](const Kernel& k) {
        const Values logits = load(k, kLogits);
        Values losses(static_cast<std::size_t>(plan.rows));
        const double total = plan.for_each(k, [&](int64_t row, const Values& t) {
            const double* const x = &logits[row * plan.classes];
            const auto all = exponentialsOf(x, plan.classes);
            const double logSum = std::log(all.sum);
            losses[row] =
                sumOf(plan.classes, [&](int64_t c) { return t[c] == 0 ? 0 : t[c] * (logSum - (x[c] - all.largest)); });
        });
        if (plan.reduction == ReductionNone) {
            return store(k, 0, losses);
        }
        const double sum = sumOf(losses.data(), plan.rows);
        store(k, 0, {plan.reduction == ReductionMean ? sum / total : sum});
    });
}

Status crossEntropyLossBackward(const Launch& launch, Context ctx, Out grad_input, In grad_output, In input, In target,
                                In weight, diopiReduction_t reduction, int64_t ignore_index, double label_smoothing) {
    Call call(ctx, "diopiCrossEntropyLossBackward", {grad_input}, {grad_output, input, target, weight}, {kWeight});
    CrossEntropy plan{0, 0, false, reduction, ignore_index, label_smoothing};
    if (!move_classes_last(&call, 0, &plan)) {
        return call.rejected();
    }
    return launched(call, launch, [plan](const Kernel& k) {
        const Values logits = load(k, kLogits), gradient = load(k, 1);
        Values result(logits.size());
        const double total = plan.for_each(k, [&](int64_t row, const Values& t) {
            const double* const x = &logits[row * plan.classes];
            const auto all = exponentialsOf(x, plan.classes);
            const double weight = sumOf(t.data(), plan.classes);
            const double each = gradient[plan.reduction == ReductionNone ? row : 0];
            for (int64_t c = 0; c < plan.classes; ++c) {
                const double share = std::exp(x[c] - all.largest) / all.sum;
                result[row * plan.classes + c] = each * (share * weight - t[c]);
            }
        });
        for (double& each : result) {
            each = each == 0 || plan.reduction != ReductionMean ? each : each / total;  // no row may count
        }
        store(k, 0, result);
    });
}

}  // namespace diopigen::kernels::operators
