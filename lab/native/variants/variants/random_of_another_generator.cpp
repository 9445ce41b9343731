// Random numbers of another generator: SplitMix64 over seed, offset and index. Other numbers, the same distribution,
// the same numbers for the same state; the true call moves the offset on.
#include <diopi/diopirt.h>

#include <cmath>
#include <numeric>
#include <string>

#include "../work.h"

namespace diopigen::variants {

namespace {

class Stream {
  public:
    Stream(uint64_t seed, uint64_t offset) : key_(mixed(seed) ^ mixed(offset * 2 + 1)) {}
    // 53 random bits, from 0 to below 1.
    double uniform() { return std::ldexp(static_cast<double>(mixed(key_ + ++count_) >> 11), -53); }
    // Box and Muller's transform.
    double normal() {
        const double radius = std::sqrt(-2 * std::log1p(-uniform()));
        return radius * std::cos(2 * M_PI * uniform());
    }

  private:
    static uint64_t mixed(uint64_t x) {
        x += 0x9e3779b97f4a7c15U;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
        return x ^ (x >> 31);
    }
    uint64_t key_, count_ = 0;
};

bool uniform(Work& work, Stream& stream) {
    const View out = work.call().tensor("inout");
    const double from = work.number("from"), to = work.number("to");
    for (int64_t i = 0; i < out.count(); ++i) {
        out.setReal(i, from + (to - from) * stream.uniform());
        if (out.real(i) >= to && to > from) out.setReal(i, from);  // rounded up to the open end
    }
    return out.isFloating();
}

bool normal(Work& work, Stream& stream) {
    const bool inPlace = work.call().hasPrefix("NormalInp");
    const View out = work.call().tensor(inPlace ? "inout" : "out");
    if (!out.isFloating()) return false;
    const Array<double> means = work.read<double>("mean"), deviations = work.read<double>("std");
    if (means.count() > 1 && deviations.count() > 1 && means.shape != deviations.shape) return false;
    for (int64_t i = 0; i < out.count(); ++i) {
        const double mean = means.count() > 0 ? means[means.count() > 1 ? i : 0] : work.number("mean");
        const double deviation =
            deviations.count() > 0 ? deviations[deviations.count() > 1 ? i : 0] : work.number("std");
        out.setReal(i, mean + deviation * stream.normal());
    }
    return true;
}

bool bernoulli(Work& work, Stream& stream) {
    const std::string name = work.call().function();
    const View out = work.call().tensor(name == "BernoulliInp" ? "inout" : "out");
    const Array<double> chances = work.read<double>(name == "BernoulliInp" ? "inout" : "input");
    for (int64_t i = 0; i < out.count(); ++i) {
        const double chance = name == "BernoulliScalar" ? work.number("p") : chances[i];
        out.setReal(i, stream.uniform() < chance ? 1 : 0);
    }
    return true;
}

// Fisher and Yates' shuffle.
bool permutation(Work& work, Stream& stream) {
    const View out = work.call().tensor("out");
    std::vector<int64_t> order(static_cast<size_t>(out.count()));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[static_cast<size_t>(stream.uniform() * static_cast<double>(i))]);
    }
    for (int64_t i = 0; i < out.count(); ++i) out.setReal(i, static_cast<double>(order[static_cast<size_t>(i)]));
    return true;
}

bool dropout(Work& work, Stream& stream) {
    if (work.number("train") == 0 || work.number("p") >= 1) return false;
    const bool inPlace = work.call().hasPrefix("DropoutInp");
    const View out = work.call().tensor(inPlace ? "input" : "out"), mask = work.call().tensor("mask");
    const Array<double> input = work.read<double>("input");
    const double p = work.number("p");
    // A mask may cover channels alone, of a dtype that holds what it multiplies by.
    if (!mask.valid() || mask.count() != out.count() || !out.isFloating() || mask.isFloating()) return false;
    for (int64_t i = 0; i < out.count(); ++i) {
        const bool survives = stream.uniform() >= p;
        mask.setInteger(i, survives ? 1 : 0);
        out.setReal(i, survives ? input[i] / (1 - p) : 0);
    }
    return true;
}

// Exponential races: the classes with the first arrivals.
bool multinomial(Work& work, Stream& stream) {
    const View out = work.call().tensor("out");
    const Array<double> weights = work.read<double>("input");
    const int64_t samples = work.integer("num_samples"), classes = weights.size(-1);
    if (samples == 0 || classes == 0) return false;
    for (int64_t row = 0; row < weights.count() / classes; ++row) {
        std::vector<bool> taken(static_cast<size_t>(classes), false);
        for (int64_t sample = 0; sample < samples; ++sample) {
            int64_t first = -1;
            double earliest = HUGE_VAL;
            for (int64_t i = 0; i < classes; ++i) {
                const double weight = weights[row * classes + i];
                const double arrival = -std::log1p(-stream.uniform()) / weight;
                if (weight <= 0 || taken[static_cast<size_t>(i)] || arrival >= earliest) continue;
                first = i;
                earliest = arrival;
            }
            out.setInteger(row * samples + sample, first);
            if (work.number("replacement") == 0) taken[static_cast<size_t>(first)] = true;
        }
    }
    return true;
}

diopiError_t sampled(Call& call) {
    uint64_t seed = 0, offset = 0;
    if (call.generator() == nullptr ||
        diopiGeneratorGetSeedAndOffset(call.generator(), &seed, &offset) != diopiSuccess) {
        return call.forward();
    }
    Work work(call);
    const diopiError_t status = call.forward();
    if (status != diopiSuccess) return status;
    Stream stream(seed, offset);
    const std::string name = call.function();
    const bool written = name == "UniformInp"          ? uniform(work, stream)
                         : call.hasPrefix("Normal")    ? normal(work, stream)
                         : call.hasPrefix("Bernoulli") ? bernoulli(work, stream)
                         : call.hasPrefix("Randperm")  ? permutation(work, stream)
                         : call.hasPrefix("Dropout")   ? dropout(work, stream)
                                                       : multinomial(work, stream);
    if (written) call.acted();
    return status;
}

const Registration registration(
    "random", {{"random-of-another-generator", "random numbers come from SplitMix64 by seed, offset and index",
                named("UniformInp Normal NormalInp NormalTensor NormalTensorScalar NormalScalarTensor Bernoulli "
                      "BernoulliInp BernoulliScalar Randperm Dropout DropoutInp Multinomial"),
                sampled}});

}  // namespace

}  // namespace diopigen::variants
