// Names parameters after what they hold.
#include "passes/fusion/emit/kernel_parameters.h"

#include <algorithm>
#include <string>

#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/tensor_names.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;

// A symbol's own name; otherwise the words and numbers of the expression: "512 n" becomes "extent_512_n".
std::string extent_name(const std::string& text) {
  std::string name;
  for (char c : identifier(text))
    if (c != '_' || (!name.empty() && name.back() != '_')) name += c;
  while (name.ends_with('_')) name.pop_back();
  return text == name ? name : "extent_" + name;
}

}  // namespace

// Buffers of a run are aligned to whole vectors. A run with another buffer uses a kernel that was compiled without this guarantee.
ir::ValueId KernelParameters::tensor(Tensor t) {
  for (const Parameter& p : all_)
    if (p.tensor == t) return p.value;
  const bool is_written = std::find(written_.begin(), written_.end(), t) != written_.end();
  constexpr std::int64_t kAlignment = 16;
  const ir::ValueId v = function_.add_param(t->is_scalar ? ir::Type(t->element) : ir::Type::pointer(t->element, !is_written),
                                            {identifier(t->name), t->is_scalar ? 1 : kAlignment, is_written});
  all_.push_back({t, {}, v});
  return v;
}

ir::ValueId KernelParameters::extent(const Dim& d) {
  for (const Parameter& p : all_)
    if (!p.tensor && p.extent == d) return p.value;
  const Element own = fits({d.least(), d.greatest()}, Element::i32) ? Element::i32 : Element::i64;
  const ir::ValueId v = function_.add_param(ir::Type(own), {extent_name(d.text()), std::max<std::int64_t>(d.known_divisor(), 1), false});
  all_.push_back({nullptr, d, v});
  return v;
}

}  // namespace tilewright::passes::fusion
