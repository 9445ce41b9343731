// The logarithm of softmax as x - (maximum + log(sum)), with the logarithm of the whole sum in one number.
#include "../log_softmax.h"

namespace diopi::variants {

namespace {

const Registration registration("softmax",
                                {{"log-softmax-of-log-sums", "the logarithm of softmax is x - (maximum + log(sum))",
                                  named("LogSoftmax"), replaced([](Work& work) {
                                      return logSoftmax(work, [](auto x, auto maximum, auto logSum) {
                                          return x - (maximum + logSum);
                                      });
                                  })}});

}  // namespace

}  // namespace diopi::variants
