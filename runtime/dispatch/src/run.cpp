#include "run.h"

#include <diopigen/host.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "comparison.h"
#include "dump.h"
#include "host_copy.h"
#include "left.h"
#include "operands.h"
#include "validate.h"

namespace diopigen::dispatch {

namespace {

using Clock = std::chrono::steady_clock;

std::string vendor_of(const Libraries& loaded) {
    return loaded.vendor_name.empty() ? loaded.vendor_path : loaded.vendor_name;
}

// Why the reference library runs a call: the vendor's library lacks the function, or left this call to others.
std::string reason_of(const Entry& entry, Operands operands, const std::string& vendor, const Left& left) {
    return left.is_missing() ? std::string(entry.name) + " is not in the library of " + vendor
                             : "the library of " + vendor + " leaves " + entry.name + "(" + text_of(operands) + ") (" +
                                   describe(left) + ")";
}

// Runs the call on the reference library, on copies.
diopiError_t fall_back(Entry& entry, diopiContextHandle_t ctx, Operands operands, Caller call, const Libraries& loaded,
                       const Left& left) {
    const std::string vendor = vendor_of(loaded);
    const std::string lack = left.is_missing()
                                 ? "not in the library of " + vendor
                                 : "the library of " + vendor + " leaves the call (" + describe(left) + ")";
    if (loaded.switches.fallback == FallbackMode::kOff) {
        throw Failure(diopiNoImplement, lack + ", and DIOPI_FALLBACK is off");
    }
    if (entry.reference == nullptr) {
        const char* const rest = loaded.reference_path.empty() ? ", and there is no reference library to fall back to"
                                                               : ", nor in the reference library";
        throw Failure(diopiNoImplement, lack + rest);
    }
    const bool is_first = entry.fallbacks.fetch_add(1, std::memory_order_relaxed) == 0;
    if (is_first || loaded.switches.fallback == FallbackMode::kLog) {
        say(reason_of(entry, operands, vendor, left) + ": it runs on the reference library, through host memory");
    }
    if (loaded.switches.reports_fallbacks) {
        count_fallback(entry, left);
    }
    HostCopy copy(ctx, operands, Fetch::kRead);
    copy.substitute();
    const diopiError_t status = call(entry.reference);
    copy.restore();
    if (status != diopiSuccess) {
        use_reference_error_text();
        return status;
    }
    copy.write_back();
    return status;
}

void report(Entry& entry, const std::string& what, const std::string& called, const std::string& folder) {
    static std::atomic<bool> is_first{true};
    entry.differences.fetch_add(1, std::memory_order_relaxed);
    const char* const first = is_first.exchange(false) ? " (the first operator that does)" : "";
    say(std::string(entry.name) + " differs from the reference" + first + "\n  " + what + "\n  called with " + called +
        "\n  kept in " + folder);
}

void log(const Entry& entry, const std::string& called, diopiError_t status, const std::string& by,
         Clock::duration time) {
    const double microseconds = std::chrono::duration<double, std::micro>(time).count();
    say(std::string(entry.name) + "(" + called + ") " + name_of(status) + " by " + by + " in " + text_of(microseconds) +
        " us");
}

// Reports a call that violates the contract of its operator, or throws.
void validate(const Entry& entry, diopiContextHandle_t ctx, Operands operands, const Switches& switches) {
    const std::optional<Failure> found = violation(entry, ctx, operands, switches.validates_values);
    if (!found) {
        return;
    }
    if (switches.validation == ValidationMode::kReject) {
        throw Failure(*found);
    }
    say(std::string(entry.name) + ": " + found->what() + "\n  called with " + text_of(operands));
}

diopiError_t watched(Entry& entry, diopiContextHandle_t ctx, Operands operands, Caller call, std::optional<Left> left,
                     const Libraries& loaded) {
    const bool is_told = entry.is_logged || entry.is_compared;
    const std::string called = is_told ? text_of(operands) : std::string();
    std::optional<Dump> dump;
    if (entry.is_dumped) {
        dump.emplace(loaded.switches.dump_folder, entry.name, operands);
        dump->keep("before", HostCopy(ctx, operands, Fetch::kAll).tensors());
    }
    std::optional<Comparison> comparison;
    if (entry.is_compared && entry.tolerance != Tolerance::kRandom) {
        comparison.emplace(ctx, operands, entry.tolerance);
    }
    if (loaded.switches.timing) {
        require(diopiHostSynchronize(ctx), "diopiHostSynchronize");
    }
    const Clock::time_point start = Clock::now();
    diopiError_t status = diopiSuccess;
    if (!left) {
        status = entry.vendor != nullptr ? call(entry.vendor) : diopiNoImplement;
        left = left_with(entry, status);
    }
    std::string by = "the vendor";
    if (left) {
        status = fall_back(entry, ctx, operands, call, loaded, *left);
        by = "the reference library (vendor: " + describe(*left) + ")";
        comparison.reset();
    } else {
        entry.vendor_calls.fetch_add(1, std::memory_order_relaxed);
        if (status != diopiSuccess) {
            use_vendor_error_text();
        }
    }
    if (loaded.switches.timing) {
        require(diopiHostSynchronize(ctx), "diopiHostSynchronize");
    }
    const Clock::duration time = Clock::now() - start;
    entry.nanoseconds.fetch_add(static_cast<uint64_t>(std::chrono::nanoseconds(time).count()));
    if (comparison) {
        if (const auto found = comparison->compare(entry.reference, call, status)) {
            Dump record(loaded.switches.dump_folder, entry.name, operands);
            comparison->keep(record);
            record.finish(status);
            report(entry, *found, called, record.folder());
        }
    }
    if (dump) {
        dump->keep("after", HostCopy(ctx, operands, Fetch::kAll).tensors());
        dump->finish(status);
    }
    if (entry.is_logged) {
        log(entry, called, status, by, time);
    }
    return status;
}

}  // namespace

diopiError_t run(Entry& entry, diopiContextHandle_t ctx, Operands operands, Caller call, diopiError_t status) {
    const Libraries& loaded = libraries();
    std::optional<Left> left = left_with(entry, status);
    if (entry.is_validated && !left) {
        validate(entry, ctx, operands, loaded.switches);
        const bool is_watched = loaded.switches.timing || entry.is_logged || entry.is_compared || entry.is_dumped;
        if (!is_watched && entry.vendor != nullptr) {
            status = call(entry.vendor);
            if (status == diopiSuccess) {
                return status;
            }
            left = left_with(entry, status);
            if (!left) {
                use_vendor_error_text();
                return status;
            }
        }
    }
    return watched(entry, ctx, operands, call, std::move(left), loaded);
}

}  // namespace diopigen::dispatch
