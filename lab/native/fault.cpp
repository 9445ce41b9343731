#include "fault.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace diopigen::mutant {

namespace {

struct Registered {
    std::string kind;
    Fault fault;
};

std::vector<Registered>& registry() {
    static std::vector<Registered> faults;
    return faults;
}

const char* setting(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

bool matches(const char* glob, const char* text) {
    if (*glob == '*') return matches(glob + 1, text) || (*text != 0 && matches(glob, text + 1));
    if (*glob == 0 || *text == 0) return *glob == *text;
    return *glob == *text && matches(glob + 1, text + 1);
}

std::vector<std::string> words(const char* text) {
    std::istringstream stream(text);
    std::vector<std::string> found;
    for (std::string word; stream >> word;) found.push_back(word);
    return found;
}

const Registered* selected() {
    static const Registered* const found = []() -> const Registered* {
        const char* name = setting("DIOPI_MUTANT");
        for (const Registered& one : registry()) {
            if (one.fault.name == name) return &one;
        }
        return nullptr;
    }();
    return found;
}

// Two numbers for each function, acts and acts that may be without consequence, in a file that outlives a crash; null
// unless asked for.
uint64_t* acts() {
    static uint64_t* const shared = []() -> uint64_t* {
        const int file = open(setting("DIOPI_MUTANT_ACTS"), O_RDWR);
        if (file < 0) return nullptr;
        const auto bytes = static_cast<size_t>(signatureCount) * 2 * sizeof(uint64_t);
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        return memory == MAP_FAILED ? nullptr : static_cast<uint64_t*>(memory);
    }();
    return shared;
}

void* trueLibrary() {
    static void* const library = dlopen(setting("DIOPI_MUTANT_TARGET"), RTLD_NOW | RTLD_LOCAL);
    return library;
}

}  // namespace

Registration::Registration(const char* kind, std::vector<Fault> faults) {
    for (Fault& fault : faults) registry().push_back({kind, std::move(fault)});
}

void countAct(const Signature& signature, bool certain) {
    uint64_t* shared = acts();
    const int64_t index = 2 * (&signature - signatures) + (certain ? 0 : 1);
    if (shared != nullptr) __atomic_fetch_add(shared + index, 1, __ATOMIC_RELAXED);
}

diopiError_t conduct(const Signature& signature, diopiContextHandle_t context, void* const* arguments,
                     const Call::Forward& forward) {
    const Registered* one = selected();
    if (one == nullptr || !one->fault.selector(signature)) return forward();
    Call call(signature, context, arguments, forward);
    return one->fault.behaviour(call);
}

void* lookUp(const char* function) { return trueLibrary() != nullptr ? dlsym(trueLibrary(), function) : nullptr; }

Selector every() {
    return [](const Signature&) { return true; };
}

Selector named(const char* globs) {
    return [list = words(globs)](const Signature& signature) {
        for (const std::string& glob : list) {
            if (matches(glob.c_str(), signature.function)) return true;
        }
        return false;
    };
}

Selector family(const char* names) {
    return [list = words(names)](const Signature& signature) {
        for (const std::string& name : list) {
            if (name == signature.family) return true;
        }
        return false;
    };
}

Selector having(const char* names) {
    return [list = words(names)](const Signature& signature) {
        for (int i = 0; i < signature.count; ++i) {
            for (const std::string& name : list) {
                if (name == signature.parameters[i].name) return true;
            }
        }
        return false;
    };
}

Selector havingType(Type type) {
    return [type](const Signature& signature) {
        for (int i = 0; i < signature.count; ++i) {
            if (signature.parameters[i].type == type) return true;
        }
        return false;
    };
}

Selector operator&&(Selector one, Selector two) {
    return [one = std::move(one), two = std::move(two)](const Signature& s) { return one(s) && two(s); };
}

Selector operator||(Selector one, Selector two) {
    return [one = std::move(one), two = std::move(two)](const Signature& s) { return one(s) || two(s); };
}

Selector operator!(Selector one) {
    return [one = std::move(one)](const Signature& s) { return !one(s); };
}

Selector determined() { return !family("random"); }

Selector writing(int tensors) {
    return [tensors](const Signature& signature) {
        int found = 0;
        for (int i = 0; i < signature.count; ++i) {
            const Parameter& parameter = signature.parameters[i];
            found += parameter.isWritten() && (parameter.type == Type::tensor || parameter.type == Type::tensors ||
                                               parameter.type == Type::newTensor || parameter.type == Type::newTensors);
        }
        return found >= tensors;
    };
}

Behaviour afterwards(std::function<bool(const View&)> change) {
    return [change = std::move(change)](Call& call) {
        const diopiError_t status = call.forward();
        if (status != diopiSuccess) return status;
        for (const View& output : call.outputs()) {
            if (output.count() > 0 && change(output)) call.acted();
        }
        return status;
    };
}

Behaviour afterCall(std::function<bool(Call&)> change) {
    return [change = std::move(change)](Call& call) {
        const diopiError_t status = call.forward();
        if (status == diopiSuccess && change(call)) call.acted();
        return status;
    };
}

Behaviour beforehand(std::function<bool(Call&)> change) {
    return [change = std::move(change)](Call& call) {
        const bool changed = change(call);
        const diopiError_t status = call.forward();
        if (changed) call.acted(status);
        return status;
    };
}

Behaviour readThrough(std::function<bool(const View&)> suits, std::function<double(double)> change) {
    return beforehand([suits = std::move(suits), change = std::move(change)](Call& call) {
        bool changed = false;
        call.exchangeInputs([&](const View& input) -> diopiTensorHandle_t {
            if (!suits(input)) return nullptr;
            bool differs = false;
            for (int64_t index = 0; index < input.count() && !differs; ++index) {
                const double number = input.real(index), other = change(number);
                differs = !(other == number && std::signbit(other) == std::signbit(number)) &&
                          !(number != number && other != other);
            }
            if (!differs) return nullptr;
            diopiTensorHandle_t created = call.copyOf(input);
            const View copy(created);
            for (int64_t index = 0; index < copy.count(); ++index) copy.setReal(index, change(input.real(index)));
            changed = true;
            return created;
        });
        return changed;
    });
}

}  // namespace diopigen::mutant

using namespace diopigen::mutant;

extern "C" {

// One fault in a line: name, kind, sentence and the functions it changes, between tabulators.
__attribute__((visibility("default"))) const char* diopiMutantFaults() {
    static const std::string text = [] {
        std::ostringstream lines;
        for (const Registered& one : registry()) {
            lines << one.fault.name << '\t' << one.kind << '\t' << one.fault.sentence << '\t';
            const char* separator = "";
            for (int i = 0; i < signatureCount; ++i) {
                if (!one.fault.selector(signatures[i])) continue;
                lines << separator << signatures[i].function;
                separator = " ";
            }
            lines << '\n';
        }
        return lines.str();
    }();
    return text.c_str();
}

// The functions in the order of the numbers of acts.
__attribute__((visibility("default"))) const char* diopiMutantFunctions() {
    static const std::string text = [] {
        std::string names;
        for (int i = 0; i < signatureCount; ++i) names += std::string(i > 0 ? " " : "") + signatures[i].function;
        return names;
    }();
    return text.c_str();
}

int32_t initLibrary() {
    if (trueLibrary() == nullptr) {
        std::fprintf(stderr, "DIOPI_MUTANT_TARGET does not load: %s\n", dlerror());
        return 1;
    }
    if (*setting("DIOPI_MUTANT") != 0 && selected() == nullptr) {
        std::fprintf(stderr, "there is no fault named by DIOPI_MUTANT\n");
        return 1;
    }
    auto start = trueFunction<int32_t (*)()>("initLibrary");
    return start != nullptr ? start() : 0;
}

int32_t finalizeLibrary() {
    auto end = trueFunction<int32_t (*)()>("finalizeLibrary");
    return end != nullptr ? end() : 0;
}

const char* diopiGetVendorName() {
    auto name = trueFunction<const char* (*)()>("diopiGetVendorName");
    return name != nullptr ? name() : "";
}

const char* diopiGetImplVersion() {
    auto version = trueFunction<const char* (*)()>("diopiGetImplVersion");
    return version != nullptr ? version() : "";
}

const char* diopiGetLastErrorString() {
    auto text = trueFunction<const char* (*)()>("diopiGetLastErrorString");
    return text != nullptr ? text() : "";
}

}  // extern "C"
