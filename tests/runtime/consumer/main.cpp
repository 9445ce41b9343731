// Weak references alone: only diopigen_runtime_whole puts functions behind them.
#include <diopi/diopirt.h>
#include <diopigen/host_device.h>

#include <cstdio>

int main() {
    if (diopiGetVersion == nullptr || diopiRecordStart == nullptr || diopiGeneratorGetSeedAndOffset == nullptr) {
        std::puts("a function of diopirt.h is missing");
        return 1;
    }
    std::printf("%d %s\n", static_cast<int>(diopigenRegisterHostDevice()), diopiGetVersion());
    return 0;
}
