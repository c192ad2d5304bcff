// Plans how threads transpose a tile between two buffers in shared memory.
#pragma once
#include "tileir/layout/linear_layout.h"

namespace tilewright::passes {

/// A layout of a tile of two axes under which threads read it from a buffer whose rows are along the other axis than `inner`, and write it to
/// one whose rows are along `inner`, in vectors of up to 16 bytes. Bytes are read by ldmatrix, which transposes them in pairs; of larger
/// elements a thread has blocks of whole vectors along both axes.
///
/// Lanes that differ along `inner` differ along the other axis too, so that neither the reads nor the writes have bank conflicts:
///   f32 [32, 32], registers: 4 rows and 4 columns; lane bit i moves by 4 * 2^i along both axes.
ir::LinearLayout transposing_layout(const ir::LinearLayout& source, const ir::LinearLayout& target, int inner, int element_bytes,
                                    int num_warps);

}  // namespace tilewright::passes
