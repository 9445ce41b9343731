#include "work.h"

namespace diopigen::variants {

int64_t countOf(const Dims& shape) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return count;
}

Work::Work(Call& call) : call_(call) {
    const mutant::Signature& signature = call.signature();
    for (int i = 0; i < signature.count; ++i) {
        const mutant::Parameter& parameter = signature.parameters[i];
        if (parameter.type != mutant::Type::tensor || !parameter.isRead()) continue;
        const View view = call.tensor(parameter.name);
        if (!view.valid()) continue;
        const View copy(call.copyOf(view));
        if (copy.valid()) before_[parameter.name] = copy;
    }
}

mutant::Behaviour replaced(std::function<bool(Work&)> compute) {
    return [compute = std::move(compute)](Call& call) {
        Work work(call);
        const diopiError_t status = call.forward();
        if (status == diopiSuccess && compute(work)) call.acted();
        return status;
    };
}

}  // namespace diopigen::variants
