// Converts reports of compiled kernels to text, as reports of the interpreter are converted.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/compiled_kernel.h"

namespace tilewright::fuzz {

struct ReportTexts {
  const std::vector<backend::ReportSite>& sites;
  std::vector<std::string> texts;
  std::vector<std::array<std::int32_t, 3>> programs;  // for each text

  /// A backend::HostReport whose context is a ReportTexts.
  static void take(void* context, const std::int32_t* program, const void* const* operands, std::int32_t site);
  /// The texts, those of earlier programs first: the order in which the interpreter runs them, and compiled code need not.
  std::vector<std::string> in_order() const;
};

}  // namespace tilewright::fuzz
