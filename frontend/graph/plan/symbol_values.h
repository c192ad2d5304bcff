// Finds the values of a plan's symbols in what a run is given.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "frontend/graph/plan/bindings.h"
#include "frontend/graph/plan/extent_equation.h"

namespace tilewright::detail {

/// Each run makes the same equations: a number given for a symbol is its value, a view gives its extents, and a buffer its element count
/// (not `buffer + k` and not an input with strides, which may be larger than their tensors).
class SymbolValues {
 public:
  /// needed: the symbols without which the program cannot run.
  SymbolValues(const SymbolTable&, const passes::fusion::Program&, const Bindings&, std::vector<std::uint32_t> needed);

  /// Throws Error if a symbol that is needed has no value or two, or one outside of its bounds, and if a size fits no value.
  void resolve(const Bindings&, const RunCall&);
  /// By symbol, of the latest resolve(). A symbol that nothing needs and nothing gives has its least value.
  const std::vector<std::int64_t>& values() const { return values_; }
  /// The least value within the bounds of each symbol.
  const std::vector<std::int64_t>& least() const { return least_; }

 private:
  /// What an equation was taken from: the number under a name, an axis of a view, or the element count of a buffer.
  struct Fact {
    std::size_t slot;
    int axis;  // -1: count, -2: number
    const ExtentEquation* equation;
    std::int64_t value;
    bool is_used;
  };
  static constexpr int kCount = -1, kNumber = -2;

  void collect(const Bindings&, const RunCall&);
  void collect_memory(std::size_t slot, const Bindings&, const RunCall&);
  bool use(Fact&, const Bindings&, const RunCall&);
  bool has_value(std::uint32_t symbol) const { return source_[symbol] >= 0; }
  std::string text_of_fact(const Fact&, const Bindings&) const;
  std::string values_text(const ExtentEquation&) const;
  [[noreturn]] void fail_conflict(const Fact&, const Bindings&, const RunCall&) const;
  void check_bounds(const Bindings&, const RunCall&) const;

  const SymbolTable& table_;
  const passes::fusion::Program& program_;
  std::vector<std::uint32_t> needed_;
  std::vector<ExtentEquation> of_symbol_;                    // the symbol itself
  std::vector<std::vector<ExtentEquation>> axes_of_buffer_;  // of inputs and outputs
  std::vector<ExtentEquation> count_of_buffer_;
  std::vector<std::int64_t> values_, least_;
  std::vector<int> source_;  // by symbol: the fact that gave the value, or -1
  std::vector<Fact> facts_;
};

}  // namespace tilewright::detail
