// fmod of vectors, exact: the remainder of magnitudes from the integral part of their quotient, which is off by one at
// most and then too large, since rounding does not take a quotient past an integer. What this does not hold for (large
// quotients, zero divisors, infinities, NaN) goes to the C library.

namespace diopigen::core {
namespace {

// The remainder of x / y for floats in doubles: products of the quotient's 29 bits and the divisor's 24 are exact.
struct NarrowRemainder {
    static constexpr double kMost = 0x1p29;
    Doubles operator()(Doubles x, Doubles y, Doubles quotient) const { return x - quotient * y; }
};

#if defined(DIOPI_CPU_FUSED)
// Of doubles: the remainder has no more bits than the divisor, so that rounding it once is exact.
struct WidenedRemainder {
    static constexpr double kMost = 0x1p52;
    Doubles operator()(Doubles x, Doubles y, Doubles quotient) const { return minus_product(x, quotient, y); }
};
#endif

// Of magnitudes. NaN where the C library has to work it out.
template <typename Remainder>
Doubles remainder_of(Doubles x, Doubles y, Remainder remainder) {
    const Doubles quotient = x / y;
    Doubles rest = remainder(x, y, floor_positive(quotient));
    rest = rest < 0 ? rest + y : rest;
    rest = quotient < 1 ? x : rest;
    return quotient < Remainder::kMost ? rest : rest - std::numeric_limits<double>::quiet_NaN();
}

template <typename Vector>
Vector finished_remainder(Vector rest, Vector first, Vector second) {
    const MaskOf<Vector> is_open = rest != rest;
    const auto signs = sign_bits(first);
    rest = reinterpret_cast<Vector>(reinterpret_cast<MaskOf<Vector>>(rest) | signs);
    if (__builtin_expect(any(is_open), 0)) {
        using Lane = LaneOf<Vector>;
        Lane (*exact)(Lane, Lane) = [](Lane a, Lane b) { return std::fmod(a, b); };
        rest = corrected(rest, is_open, exact, first, second);
    }
    return rest;
}

Floats vector_fmod(Floats first, Floats second) {
    HalfFloats x[2];
    HalfFloats y[2];
    const Floats sizes[] = {magnitude(first), magnitude(second)};
    std::memcpy(x, &sizes[0], sizeof(x));
    std::memcpy(y, &sizes[1], sizeof(y));
    for (int half = 0; half < 2; ++half) {
        const Doubles rest = remainder_of(__builtin_convertvector(x[half], Doubles),
                                          __builtin_convertvector(y[half], Doubles), NarrowRemainder());
        x[half] = __builtin_convertvector(rest, HalfFloats);
    }
    Floats rest;
    std::memcpy(&rest, x, sizeof(rest));
    return finished_remainder(rest, first, second);
}

Doubles vector_fmod(Doubles first, Doubles second) {
#if defined(DIOPI_CPU_FUSED)
    const Doubles rest = remainder_of(magnitude(first), magnitude(second), WidenedRemainder());
#else
    const Doubles rest = Doubles{} - std::numeric_limits<double>::quiet_NaN();
#endif
    return finished_remainder(rest, first, second);
}

}  // namespace
}  // namespace diopigen::core
