// Times that operators take between diopiRecordStart and diopiRecordEnd.
#ifndef DIOPIGEN_RUNTIME_RECORD_H_
#define DIOPIGEN_RUNTIME_RECORD_H_

namespace diopigen {

/// Switches records off and forgets the finished ones.
void reset_records();

}  // namespace diopigen

#endif  // DIOPIGEN_RUNTIME_RECORD_H_
