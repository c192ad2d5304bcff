// Finds the values of a plan's symbols from the arguments of a run.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/bindings.h"
#include "runtime/plan/extent_equation.h"

namespace tilewright::detail {

/// The least multiple within the bounds.
std::int64_t least_value(const DimBounds&);

/// Every run has the same equations: a number given for a symbol is its value, a view gives its extents, and a buffer its element count
/// (except `buffer + k` and inputs with strides, whose memory may be larger than the tensor).
class SymbolValues {
 public:
  /// needed: the symbols that the kernels cannot run without.
  SymbolValues(const SymbolTable&, const passes::fusion::KernelSequence&, const Bindings&, std::vector<std::uint32_t> needed);

  /// Throws Error if a needed symbol has no value, two values or a value out of its bounds, and if a size fits no value.
  void resolve(const Bindings&, const RunCall&);
  /// The values of the latest resolve(), by symbol. A symbol that is neither needed nor given has its least value.
  const std::vector<std::int64_t>& values() const { return values_; }
  /// The least value of each symbol within its bounds.
  const std::vector<std::int64_t>& least() const { return least_; }

 private:
  /// The source of an equation: the number under a name, an axis of a view, or the element count of a buffer.
  struct Fact {
    std::size_t slot;
    int axis;  // -1: the count; -2: the number
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
  [[noreturn]] void fail_fraction(const Fact&, const Bindings&, const RunCall&) const;
  [[noreturn]] void fail_conflict(const Fact&, const Bindings&, const RunCall&) const;
  void check_bounds(const Bindings&, const RunCall&) const;

  const SymbolTable& table_;
  const passes::fusion::KernelSequence& sequence_;
  std::vector<std::uint32_t> needed_;
  std::vector<ExtentEquation> of_symbol_;                    // the symbol itself
  std::vector<std::vector<ExtentEquation>> axes_of_buffer_;  // for inputs and outputs
  std::vector<ExtentEquation> count_of_buffer_;
  std::vector<std::int64_t> values_, least_;
  std::vector<int> source_;  // by symbol: the fact that gave its value, or -1
  std::vector<Fact> facts_;
};

}  // namespace tilewright::detail
