// Convolution of 3 x 3 filters by Winograd's minimal filtering F(2 x 2, 3 x 3) (Lavin and Gray, 2016), with transformed
// tiles and filters rounded to the accumulate type.
#include "../convolution.h"

namespace diopigen::variants {

namespace {

// One dimension: four elements of a tile, three of a filter, two results; applied along rows, then along columns.
template <typename T>
void tile(const T (&d)[4], T (&to)[4]) {
    to[0] = d[0] - d[2];
    to[1] = d[1] + d[2];
    to[2] = d[2] - d[1];
    to[3] = d[1] - d[3];
}

template <typename T>
void filter(const T (&g)[3], T (&to)[4]) {
    to[0] = g[0];
    to[1] = (g[0] + g[1] + g[2]) / 2;
    to[2] = (g[0] - g[1] + g[2]) / 2;
    to[3] = g[2];
}

template <typename T>
void results(const T (&m)[4], T (&to)[2]) {
    to[0] = m[0] + m[1] + m[2];
    to[1] = m[1] - m[2] - m[3];
}

// `one` along the columns of a matrix, then along the rows of what comes out.
template <size_t From, size_t To, typename T>
void both(const T (&from)[From][From], T (&to)[To][To], void (*one)(const T (&)[From], T (&)[To])) {
    T half[To][From];
    for (size_t column = 0; column < From; ++column) {
        T in[From], out[To];
        for (size_t row = 0; row < From; ++row) in[row] = from[row][column];
        one(in, out);
        for (size_t row = 0; row < To; ++row) half[row][column] = out[row];
    }
    for (size_t row = 0; row < To; ++row) one(half[row], to[row]);
}

bool compute(Work& work) {
    return inAccumulateType(work.dtype("input"), [&](auto zero) {
        using T = decltype(zero);
        const Convolution<T> c(work);
        if (!c.usable() || !c.dense() || c.weight.size(2) != 3 || c.weight.size(3) != 3) return false;
        std::vector<T> out(static_cast<size_t>(countOf(c.shape)));
        for (int64_t plane = 0; plane < c.shape[0] * c.shape[1]; ++plane) {
            const int64_t image = plane / c.shape[1], own = plane % c.shape[1];
            for (int64_t row = 0; row < c.shape[2]; row += 2) {
                for (int64_t column = 0; column < c.shape[3]; column += 2) {
                    T sum[4][4] = {};
                    for (int64_t k = 0; k < c.channels(); ++k) {
                        T d[4][4], g[3][3], inTile[4][4], inFilter[4][4];
                        for (int64_t i = 0; i < 16; ++i) {
                            d[i / 4][i % 4] = c.at(image, c.firstChannel(own) + k, row - c.padding[0] + i / 4,
                                                   column - c.padding[1] + i % 4);
                        }
                        for (int64_t i = 0; i < 9; ++i) g[i / 3][i % 3] = c.weightAt(own, k, i / 3, i % 3);
                        both<4, 4, T>(d, inTile, tile<T>);
                        both<3, 4, T>(g, inFilter, filter<T>);
                        for (size_t i = 0; i < 16; ++i)
                            sum[i / 4][i % 4] += inTile[i / 4][i % 4] * inFilter[i / 4][i % 4];
                    }
                    T found[2][2];
                    both<4, 2, T>(sum, found, results<T>);
                    for (int64_t i = 0; i < 4; ++i) {
                        const int64_t y = row + i / 2, x = column + i % 2;
                        if (y >= c.shape[2] || x >= c.shape[3]) continue;
                        out[static_cast<size_t>((plane * c.shape[2] + y) * c.shape[3] + x)] =
                            found[i / 2][i % 2] + c.biasOf(own);
                    }
                }
            }
        }
        return work.write("out", out);
    });
}

const Registration registration("convolution", {{"convolution-by-winograd",
                                                 "a convolution of 3 x 3 filters is Winograd's F(2 x 2, 3 x 3)",
                                                 named("Convolution2d"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
