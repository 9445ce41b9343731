// TransposeAxis01, EmbeddingLookupPosEncoding and InputIdsEmbeddingLookupPosEncoding: elements are moved as they are.
#include "diopi_core/arguments.h"
#include "indexing/indexing_kernels.h"
#include "serving.h"

using namespace diopigen::core;

namespace {

// Row tokens[i] of the table becomes row i of `out`. All tokens are checked before anything is written.
void look_up(const Tensor& out, const Tensor& table, const Tensor& tokens, const char* message) {
    require_separate({&out}, {&table, &tokens});
    const Input<Int64> positions(tokens);
    require_positions(positions, tokens.numel, table.shape[0], message);
    pick(out, table, positions, tokens.numel, {1, table.shape[0], table.shape[1]});
}

}  // namespace

void diopigen::entry::transpose_axis01(const TransposeAxis01Args& args) {
    require_apart(args.output, {&args.input});
    const View transposed = permuted(args.input, {1, 0, 2});
    copy_elements(args.output, transposed.tensor());
}

void diopigen::entry::embedding_lookup_pos_encoding(const EmbeddingLookupPosEncodingArgs& args) {
    const View tokens = selected(args.all_ids, 0, args.step);
    look_up(args.from_tensor, args.embedding_table, tokens.tensor(),
            "C2: every token is at least 0 and below the vocabulary");
}

void diopigen::entry::input_ids_embedding_lookup_pos_encoding(const InputIdsEmbeddingLookupPosEncodingArgs& args) {
    look_up(args.from_tensor, args.embedding_table, args.input_ids,
            "C1: every token is at least 0 and below the vocabulary");
}
