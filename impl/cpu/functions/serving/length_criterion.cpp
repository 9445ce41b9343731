// LengthCriterion: which sequences have reached their limit, and how many.
#include "diopi_core/arguments.h"
#include "serving.h"

using namespace diopigen::core;

void diopigen::entry::length_criterion(const LengthCriterionArgs& args) {
    require_separate({&args.finished, &args.should_stop, &args.finished_sum}, {&args.sequence_limit_length});
    const Input<Int64> limits(args.sequence_limit_length);
    const Changed finished(args.finished, Dtype::kBool);
    const Output<Bool> should_stop(args.should_stop);
    const Output<Int64> finished_sum(args.finished_sum);
    int64_t count = 0;
    for (int64_t b = 0; b < args.batch_size; ++b) {
        Bool& own = finished.as<Bool>()[b];
        own = Bool(own.value != 0 || args.step >= limits[b].value);
        count += own.value != 0 ? 1 : 0;
    }
    should_stop[0] = Bool(count == args.batch_size);
    finished_sum[0] = Int64(count);
    finished.store();
    should_stop.store();
    finished_sum.store();
}
