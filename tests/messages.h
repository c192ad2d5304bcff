// The texts of errors and reports, for tests that look for words in them.
#pragma once
#include <string>
#include <string_view>

#include "tilewright/error.h"

namespace tilewright::test {

inline bool has(std::string_view text, std::string_view piece) { return text.find(piece) != std::string_view::npos; }

/// The text of the Error that `body` throws; "" if it throws none.
template <class F>
std::string error_of(F&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

}  // namespace tilewright::test
