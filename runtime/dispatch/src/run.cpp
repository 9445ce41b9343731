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

std::string vendorOf(const Libraries& loaded) {
    return loaded.vendorName.empty() ? loaded.vendorPath : loaded.vendorName;
}

// Why the reference library runs a call: the vendor's library lacks the function, or left this call to others.
std::string reasonOf(const Entry& entry, Operands operands, const std::string& vendor, const Left& left) {
    return left.isMissing() ? std::string(entry.name) + " is not in the library of " + vendor
                            : "the library of " + vendor + " leaves " + entry.name + "(" + textOf(operands) + ") (" +
                                  describe(left) + ")";
}

// Runs the call on the reference library, on copies.
diopiError_t fallBack(Entry& entry, diopiContextHandle_t ctx, Operands operands, Caller call, const Libraries& loaded,
                      const Left& left) {
    const std::string vendor = vendorOf(loaded);
    const std::string lack = left.isMissing()
                                 ? "not in the library of " + vendor
                                 : "the library of " + vendor + " leaves the call (" + describe(left) + ")";
    if (loaded.switches.fallback == FallbackMode::off) {
        throw Failure(diopiNoImplement, lack + ", and DIOPI_FALLBACK is off");
    }
    if (entry.reference == nullptr) {
        const char* const rest = loaded.referencePath.empty() ? ", and there is no reference library to fall back to"
                                                              : ", nor in the reference library";
        throw Failure(diopiNoImplement, lack + rest);
    }
    const bool isFirst = entry.fallbacks.fetch_add(1, std::memory_order_relaxed) == 0;
    if (isFirst || loaded.switches.fallback == FallbackMode::log) {
        say(reasonOf(entry, operands, vendor, left) + ": it runs on the reference library, through host memory");
    }
    if (loaded.switches.reportsFallbacks) {
        countFallback(entry, left);
    }
    HostCopy copy(ctx, operands, Fetch::read);
    copy.substitute();
    const diopiError_t status = call(entry.reference);
    copy.restore();
    if (status != diopiSuccess) {
        useReferenceErrorText();
        return status;
    }
    copy.writeBack();
    return status;
}

void report(Entry& entry, const std::string& what, const std::string& called, const std::string& folder) {
    static std::atomic<bool> isFirst{true};
    entry.differences.fetch_add(1, std::memory_order_relaxed);
    const char* const first = isFirst.exchange(false) ? " (the first operator that does)" : "";
    say(std::string(entry.name) + " differs from the reference" + first + "\n  " + what + "\n  called with " + called +
        "\n  kept in " + folder);
}

void log(const Entry& entry, const std::string& called, diopiError_t status, const std::string& by,
         Clock::duration time) {
    const double microseconds = std::chrono::duration<double, std::micro>(time).count();
    say(std::string(entry.name) + "(" + called + ") " + nameOf(status) + " by " + by + " in " + textOf(microseconds) +
        " us");
}

// Reports a call that violates the contract of its operator, or throws.
void validate(const Entry& entry, diopiContextHandle_t ctx, Operands operands, const Switches& switches) {
    const std::optional<Failure> found = violation(entry, ctx, operands, switches.validatesValues);
    if (!found) {
        return;
    }
    if (switches.validation == ValidationMode::reject) {
        throw Failure(*found);
    }
    say(std::string(entry.name) + ": " + found->what() + "\n  called with " + textOf(operands));
}

diopiError_t watched(Entry& entry, diopiContextHandle_t ctx, Operands operands, Caller call, std::optional<Left> left,
                     const Libraries& loaded) {
    const bool isTold = entry.isLogged || entry.isCompared;
    const std::string called = isTold ? textOf(operands) : std::string();
    std::optional<Dump> dump;
    if (entry.isDumped) {
        dump.emplace(loaded.switches.dumpFolder, entry.name, operands);
        dump->keep("before", HostCopy(ctx, operands, Fetch::all).tensors());
    }
    std::optional<Comparison> comparison;
    if (entry.isCompared && entry.tolerance != Tolerance::kRandom) {
        comparison.emplace(ctx, operands, entry.tolerance);
    }
    if (loaded.switches.timing) {
        require(diopiHostSynchronize(ctx), "diopiHostSynchronize");
    }
    const Clock::time_point start = Clock::now();
    diopiError_t status = diopiSuccess;
    if (!left) {
        status = entry.vendor != nullptr ? call(entry.vendor) : diopiNoImplement;
        left = leftWith(entry, status);
    }
    std::string by = "the vendor";
    if (left) {
        status = fallBack(entry, ctx, operands, call, loaded, *left);
        by = "the reference library (vendor: " + describe(*left) + ")";
        comparison.reset();
    } else {
        entry.vendorCalls.fetch_add(1, std::memory_order_relaxed);
        if (status != diopiSuccess) {
            useVendorErrorText();
        }
    }
    if (loaded.switches.timing) {
        require(diopiHostSynchronize(ctx), "diopiHostSynchronize");
    }
    const Clock::duration time = Clock::now() - start;
    entry.nanoseconds.fetch_add(static_cast<uint64_t>(std::chrono::nanoseconds(time).count()));
    if (comparison) {
        if (const auto found = comparison->compare(entry.reference, call, status)) {
            Dump record(loaded.switches.dumpFolder, entry.name, operands);
            comparison->keep(record);
            record.finish(status);
            report(entry, *found, called, record.folder());
        }
    }
    if (dump) {
        dump->keep("after", HostCopy(ctx, operands, Fetch::all).tensors());
        dump->finish(status);
    }
    if (entry.isLogged) {
        log(entry, called, status, by, time);
    }
    return status;
}

}  // namespace

diopiError_t run(Entry& entry, diopiContextHandle_t ctx, Operands operands, Caller call, diopiError_t status) {
    const Libraries& loaded = libraries();
    std::optional<Left> left = leftWith(entry, status);
    if (entry.isValidated && !left) {
        validate(entry, ctx, operands, loaded.switches);
        const bool isWatched = loaded.switches.timing || entry.isLogged || entry.isCompared || entry.isDumped;
        if (!isWatched && entry.vendor != nullptr) {
            status = call(entry.vendor);
            if (status == diopiSuccess) {
                return status;
            }
            left = leftWith(entry, status);
            if (!left) {
                useVendorErrorText();
                return status;
            }
        }
    }
    return watched(entry, ctx, operands, call, std::move(left), loaded);
}

}  // namespace diopigen::dispatch
