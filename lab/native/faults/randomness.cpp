// Random numbers: seeds, offsets, distributions.
#include <diopi/diopirt.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

// Linked when the host runtime is there, as in every run of the suite.
struct State {
    uint64_t seed = 0, offset = 0;
    bool valid = false;

    explicit State(diopiGeneratorHandle_t generator) {
        valid = generator != nullptr && diopiGeneratorGetSeedAndOffset(generator, &seed, &offset) == diopiSuccess;
    }
};

// Calls with a generator state that `change` has put in the place of the caller's, which then moves on as it should.
Behaviour seeded(std::function<void(State&)> change) {
    return [change = std::move(change)](Call& call) {
        const diopiGeneratorHandle_t generator = call.generator();
        const State before(generator);
        if (!before.valid) return call.forward();
        State other = before;
        change(other);
        diopiGeneratorSetSeedAndOffset(generator, other.seed, other.offset);
        const diopiError_t status = call.forward();
        const State after(generator);
        diopiGeneratorSetSeedAndOffset(generator, before.seed, before.offset + (after.offset - other.offset));
        if (after.offset != other.offset && status == diopiSuccess) call.acted();
        return status;
    };
}

Behaviour numbers(std::function<bool(Call&, const View&)> change) {
    return afterCall([change = std::move(change)](Call& call) {
        const std::vector<View> outputs = call.outputs();
        return !outputs.empty() && outputs.front().count() > 0 && change(call, outputs.front());
    });
}

bool mapped(const View& view, const std::function<double(double)>& change) {
    bool changed = false;
    for (int64_t index = 0; index < view.count(); ++index) {
        const double before = view.real(index);
        view.setReal(index, change(before));
        changed = changed || view.real(index) != before;
    }
    return changed;
}

const Selector normal = named("Normal NormalInp NormalTensor NormalTensorScalar NormalScalarTensor");
const Selector drawing = family("random");

const Registration registration(
    "randomness",
    {
        {"seed-ignored", "the seed of a generator is not looked at", drawing,
         seeded([](State& state) { state.seed = 42, state.offset = 0; })},
        {"offset-ignored", "the offset of a generator is not looked at", drawing,
         seeded([](State& state) { state.offset = 0; })},
        {"seed-from-clock", "numbers come from the clock", drawing, seeded([](State& state) {
             timespec now{};
             clock_gettime(CLOCK_MONOTONIC, &now);
             state.seed = static_cast<uint64_t>(now.tv_nsec) * 2654435761U;
         })},
        {"upper-end-drawn", "a uniform number is the upper end of the range", named("UniformInp"),
         numbers([](Call& call, const View& out) {
             out.setReal(out.count() - 1, call.number("to").value_or(1));
             return call.number("from").value_or(0) < call.number("to").value_or(1);
         })},
        {"offset-not-advanced", "the generator stays where it is, and the next call draws the same numbers", drawing,
         [](Call& call) {
             const diopiGeneratorHandle_t generator = call.generator();
             const State before(generator);
             const diopiError_t status = call.forward();
             const State after(generator);
             if (!before.valid || before.offset == after.offset) return status;
             diopiGeneratorSetSeedAndOffset(generator, before.seed, before.offset);
             if (status == diopiSuccess) call.acted();
             return status;
         }},
        {"second-half-repeats-first", "the second half of the numbers repeats the first", drawing,
         numbers([](Call&, const View& view) {
             const int64_t half = view.count() / 2;
             const std::vector<char> before = view.packed();
             for (int64_t index = 0; index < half; ++index) view.copyElement(half + index, view, index);
             return view.packed() != before;
         })},
        {"rows-alike", "every row of the numbers is the first one", drawing, numbers([](Call&, const View& view) {
             if (view.rank() < 2) return false;
             const int64_t width = view.count() / view.size(0);
             const std::vector<char> before = view.packed();
             for (int64_t index = width; index < view.count(); ++index) view.copyElement(index, view, index % width);
             return view.packed() != before;
         })},
        {"all-alike", "all numbers are the first one", drawing, numbers([](Call&, const View& view) {
             const std::vector<char> before = view.packed();
             for (int64_t index = 1; index < view.count(); ++index) view.copyElement(index, view, 0);
             return view.packed() != before;
         })},
        {"uniform-in-lower-half", "uniform numbers leave the upper quarter out", named("UniformInp"),
         numbers([](Call& call, const View& view) {
             const double low = call.number("from").value_or(0);
             return mapped(view, [=](double number) { return low + (number - low) * 0.75; });
         })},
        {"uniform-uneven", "uniform numbers crowd at the lower end", named("UniformInp"),
         numbers([](Call& call, const View& view) {
             const double low = call.number("from").value_or(0), high = call.number("to").value_or(1);
             return mapped(view, [=](double number) {
                 return low + std::pow((number - low) / (high - low), 1.2) * (high - low);
             });
         })},
        {"deviation-10-per-cent", "the deviation of normal numbers is a tenth too large", normal,
         beforehand([](Call& call) {
             const auto deviation = call.number("std");
             if (deviation.has_value()) return call.setNumber("std", *deviation * 1.1);
             const View tensor = call.tensor("std");
             if (!tensor.valid() || tensor.count() == 0) return false;
             diopiTensorHandle_t created = call.copyOf(tensor);
             const View copy(created);
             for (int64_t index = 0; index < copy.count(); ++index) copy.setReal(index, 1.1 * tensor.real(index));
             call.setTensor("std", created);
             return true;
         })},
        {"mean-off", "the mean of normal numbers is off by a tenth of the deviation", normal,
         numbers([](Call& call, const View& view) {
             const double deviation = call.number("std").value_or(1);
             return mapped(view, [=](double number) { return number + 0.1 * deviation; });
         })},
        {"normal-is-uniform", "normal numbers are uniform ones of the same mean and deviation",
         named("Normal NormalInp"), numbers([](Call& call, const View& view) {
             const double mean = call.number("mean").value_or(0), deviation = call.number("std").value_or(1);
             return mapped(view, [=](double number) {
                 const double z = (number - mean) / deviation;
                 return mean + deviation * std::sqrt(12.0) * (0.5 * std::erfc(-z / std::sqrt(2.0)) - 0.5);
             });
         })},
        {"tails-cut", "normal numbers never leave two deviations", named("Normal NormalInp"),
         numbers([](Call& call, const View& view) {
             const double mean = call.number("mean").value_or(0), deviation = call.number("std").value_or(1);
             return mapped(view, [=](double number) {
                 return std::fmax(mean - 2 * deviation, std::fmin(mean + 2 * deviation, number));
             });
         })},
        {"coin-of-a-half", "a coin falls evenly whatever its probability", named("BernoulliScalar"),
         beforehand([](Call& call) { return call.setNumber("p", 0.5); })},
        {"coins-turned", "coins fall on the other side", named("Bernoulli BernoulliInp BernoulliScalar"),
         numbers([](Call&, const View& view) { return mapped(view, [](double number) { return 1 - number; }); })},
        {"dropout-not-scaled", "what dropout keeps is not scaled", named("Dropout DropoutInp"),
         numbers([](Call& call, const View& view) {
             const double p = call.number("p").value_or(0);
             if (call.number("train").value_or(0) == 0) return false;
             return mapped(view, [=](double number) { return number * (1 - p); });
         })},
        {"dropout-mask-turned", "the mask of dropout names what is dropped", named("Dropout DropoutInp"),
         afterCall([](Call& call) {
             const View mask = call.tensor("mask");
             for (int64_t index = 0; index < mask.count(); ++index) mask.setReal(index, 1 - mask.real(index));
             return mask.count() > 0;
         })},
        {"dropout-rate-off", "dropout drops a tenth more", named("Dropout DropoutInp"), beforehand([](Call& call) {
             const auto p = call.number("p");
             return p.has_value() && *p > 0 && *p < 0.9 && call.number("train").value_or(0) != 0 &&
                    call.setNumber("p", *p * 1.1);
         })},
        {"permutation-in-order", "a random permutation is the identity", named("Randperm"),
         numbers([](Call&, const View& view) {
             const std::vector<char> before = view.packed();
             for (int64_t index = 0; index < view.count(); ++index) view.setReal(index, static_cast<double>(index));
             return view.packed() != before;
         })},
        {"permutation-with-repeats", "a random permutation holds one number twice", named("Randperm"),
         numbers([](Call&, const View& view) {
             if (view.count() < 2) return false;
             view.copyElement(1, view, 0);
             return true;
         })},
        {"random-upper-end-included", "random integers reach the end of their range", named("RandomInp"),
         beforehand([](Call& call) {
             const auto to = call.number("to");
             const auto* pointer = static_cast<const int64_t* const*>(call.argument("to"));
             if (to.has_value()) return call.setNumber("to", *to + 1);
             if (pointer == nullptr || *pointer == nullptr) return false;
             static int64_t more = 0;
             more = **pointer + 1;
             *static_cast<const int64_t**>(call.argument("to")) = &more;
             return true;
         })},
        {"random-integers-even", "random integers are even", named("RandomInp"), numbers([](Call&, const View& view) {
             return mapped(view, [](double number) { return std::floor(number / 2) * 2; });
         })},
        {"weights-ignored", "draws do not heed their weights", named("Multinomial"), beforehand([](Call& call) {
             const View weights = call.tensor("input");
             if (!weights.valid() || !weights.isFloating() || weights.count() == 0) return false;
             diopiTensorHandle_t created = call.copyOf(weights);
             const View copy(created);
             for (int64_t index = 0; index < copy.count(); ++index) copy.setReal(index, 1);
             call.setTensor("input", created);
             return copy.packed() != weights.packed();
         })},
    });

}  // namespace

}  // namespace diopigen::mutant
