// Why a kernel of a plan cannot be emitted.
#pragma once
#include "passes/fusion/derivation_failed.h"

namespace tilewright::passes::fusion {

/// Thrown for a tile with more axes or elements than tile IR allows: smaller tiles, or another division into kernels, avoid it.
struct TileTooLarge : DerivationFailed {
  TileTooLarge() : DerivationFailed("a tile would have more axes or elements than there can be") {}
};

/// Thrown for a value whose parts, as they are written or in normal form, lead back to it.
struct CircularValue : DerivationFailed {
  CircularValue() : DerivationFailed("a value would be computed from itself") {}
};

}  // namespace tilewright::passes::fusion
