// Makes a text of the keys of expressions, which contain names of axes and tensors, and of what these names mean.
#include "passes/fusion/sequence/formula_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "passes/fusion/expr/expr_walk.h"

namespace tilewright::passes::fusion {

namespace {

std::string text_of(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& d : dims) text += d.text() + ",";
  return text;
}

std::string text_of(const TensorInfo& t) {
  std::string text = fmt::format("{} {}[{}:{}]", t.name, static_cast<int>(t.element), text_of(t.shape), text_of(t.strides));
  for (bool fact : {t.is_parameter, t.is_scalar, t.is_begin, t.is_nonnegative, t.is_positive, t.may_contain_logarithms})
    text += fact ? '1' : '0';
  return text + fmt::format("{}{}", static_cast<int>(t.finite), static_cast<int>(t.extremes));
}

std::string text_of(Expr e) { return fmt::format("{:x}.{:x}", e->key.high, e->key.low); }

class KeyWriter {
 public:
  // False if the formula has a function of the user.
  bool add(const KernelOutput& o) {
    text_ += fmt::format("{}{}=", o.tensor->name, o.is_piece ? " piece" : "");
    add(*o.tensor);
    bool has_key = add(o.value);
    for (Expr position : o.index) has_key = add(position) && has_key;
    return has_key;
  }

  std::string text() const {
    std::string all = text_;
    for (const auto& [name, extent] : axes_) all += "\n" + name + ":" + extent;
    for (const auto& [name, tensor] : tensors_) all += "\n" + tensor;
    return all;
  }

 private:
  void add(const TensorInfo& t) { tensors_.try_emplace(t.name, text_of(t)); }

  bool add(Expr value) {
    text_ += text_of(value) + ";";
    bool has_key = true;
    walk(value, seen_, [&](Expr e) {
      if (e->axis) axes_.try_emplace(e->axis->name, e->axis->extent.text());
      for (Axis a : e->bound) axes_.try_emplace(a->name, a->extent.text());
      if (e->tensor) add(*e->tensor);
      has_key = has_key && !(e->combine == graph::Combine::combine && (e->is(ExprKind::reduce) || e->is(ExprKind::scan)));
    });
    return has_key;
  }

  std::string text_;
  std::map<std::string, std::string> axes_, tensors_;
  ExprSet seen_;
};

}  // namespace

std::optional<std::string> formula_key(std::span<const KernelOutput> outputs) {
  KeyWriter writer;
  for (const KernelOutput& o : outputs)
    if (!writer.add(o)) return std::nullopt;
  return writer.text();
}

}  // namespace tilewright::passes::fusion
