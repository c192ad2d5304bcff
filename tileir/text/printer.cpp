// Prints ops from their rows of the table; no op has printing code of its own.
#include "tileir/text/printer.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tileir/text/lexer.h"
#include "tileir/text/literal.h"

namespace tilewright::ir {

namespace {

class Printer {
 public:
  Printer(const Function& f, PrintOptions options) : f_(f), options_(options), names_(f.value_capacity()) {
    name_params();
    name_block(f.body());
  }

  std::string function() {
    put("kernel @{}(", is_word(f_.name) ? f_.name : quoted(f_.name));
    const std::vector<ValueId>& args = f_.block(f_.body()).args;
    for (std::size_t i = 0; i < args.size(); ++i) {
      put("{}{}: {}", i ? ", " : "", name(args[i]), text(f_.type(args[i])));
      if (i < f_.params.size()) argument_attributes(f_.params[i]);
    }
    put(") {{\n");
    for (std::uint32_t i = 0; i < f_.layout_count(); ++i) layout(LayoutId{i});
    ops(f_.body(), 1);
    put("}}\n");
    return std::move(out_);
  }

  void argument_attributes(const Param& p) {
    std::string list;
    const auto add = [&](const std::string& attribute) { list += (list.empty() ? "" : ", ") + attribute; };
    if (p.divisible_by != 1) add(fmt::format("divisible_by = {}", p.divisible_by));
    if (p.disjoint) add("disjoint");
    if (p.positive) add("positive");
    if (!list.empty()) put(" {{{}}}", list);
  }

  std::string line(OpId id) {
    head(id);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  /// Parameters keep their names if the grammar allows them, so that a dump reads like the source.
  void name_params() {
    std::unordered_set<std::string> used;
    const std::vector<ValueId>& args = f_.block(f_.body()).args;
    for (std::size_t i = 0; i < args.size(); ++i) {
      std::string base = i < f_.params.size() && is_word(f_.params[i].name) ? f_.params[i].name : fmt::format("arg{}", i);
      while (!used.insert(base).second) base += '_';
      names_[args[i].index] = '%' + base;
    }
  }

  void name_block(BlockId b) {
    for (OpId id : f_.ops(b)) {
      for (ValueId r : f_.op(id).results) name_next(r);
      for (BlockId region : f_.op(id).regions) {
        for (ValueId a : f_.block(region).args) name_next(a);
        name_block(region);
      }
    }
  }
  void name_next(ValueId v) { names_[v.index] = fmt::format("%{}", next_++); }

  std::string name(ValueId v) const {
    // Reports may print malformed IR: a use of an erased value is shown as %?.
    return v.index < names_.size() && !names_[v.index].empty() ? names_[v.index] : "%?";
  }
  std::string names(const std::vector<ValueId>& values) const {
    std::string s;
    for (ValueId v : values) s += (s.empty() ? "" : ", ") + name(v);
    return s;
  }
  void layout(LayoutId id) {
    std::vector<std::int64_t> shape;
    for (int log2 : f_.layout(id).log2_extents()) shape.push_back(std::int64_t{1} << log2);
    put("  layout #{} {} {}\n", id.index, shape_text(shape), text(f_.layout(id)));
  }
  /// "f32[64]", or in a distributed function "f32[64] #1".
  std::string type(ValueId v) const {
    const LayoutId layout = f_.layout_id(v);
    return layout ? fmt::format("{} #{}", text(f_.type(v)), layout.index) : text(f_.type(v));
  }
  std::string types(const std::vector<ValueId>& values) const {
    std::string s;
    for (ValueId v : values) s += (s.empty() ? "" : ", ") + type(v);
    return s;
  }

  std::string attribute(const OpData& op, const Attr& a) const {
    switch (kind(a.name)) {
      case AttrKind::integer: return fmt::format("{} = {}", text(a.name), a.number);
      case AttrKind::integers: return fmt::format("{} = [{}]", text(a.name), fmt::join(a.list, ", "));
      case AttrKind::flag: return std::string(text(a.name));
      case AttrKind::bits: {
        const Type t = op.results.empty() ? Type(Element::u64) : f_.type(op.results[0]);
        return fmt::format("{} = {}", text(a.name), literal(t, static_cast<std::uint64_t>(a.number)));
      }
      case AttrKind::symbol: {
        const auto all = symbols(a.name);
        const bool known = a.number >= 0 && a.number < static_cast<std::int64_t>(all.size());
        return fmt::format("{} = {}", text(a.name), known ? all[a.number] : "?");
      }
      case AttrKind::string: return fmt::format("{} = {}", text(a.name), quoted(a.text));
    }
    return {};
  }

  /// Whether an optional attribute differs from its default, and so must be printed.
  static bool worth_printing(OpKind k, const Attr& a) {
    if (a.number != 0 || !a.list.empty() || !a.text.empty()) return true;
    const std::vector<AttrInfo>& row = info(k).attributes;
    return std::any_of(row.begin(), row.end(), [&](const AttrInfo& i) { return i.name == a.name && i.required; });
  }

  void head(OpId id) {
    const OpData& op = f_.op(id);
    if (!op.results.empty()) put("{} = ", names(op.results));
    put("{}", text(op.kind));
    if (!op.operands.empty()) put(" {}", names(op.operands));
    std::string attrs;
    for (const Attr& a : op.attrs)
      if (worth_printing(op.kind, a)) attrs += (attrs.empty() ? "" : ", ") + attribute(op, a);
    if (!attrs.empty()) put(" {{{}}}", attrs);
    if (!op.results.empty()) put(" : {}", types(op.results));
    if (options_.locations && op.loc.line > 0 && op.loc.file < f_.files.size())
      put(" @ {}:{}:{}", quoted(f_.files[op.loc.file]), op.loc.line, op.loc.column);
  }

  void ops(BlockId b, int depth) {
    for (OpId id : f_.ops(b)) {
      out_.append(2 * depth, ' ');
      head(id);
      for (BlockId r : f_.op(id).regions) region(r, depth);
      out_ += '\n';
    }
  }

  void region(BlockId b, int depth) {
    const std::vector<ValueId>& args = f_.block(b).args;
    if (!args.empty()) {
      out_ += " (";
      for (std::size_t i = 0; i < args.size(); ++i) put("{}{}: {}", i ? ", " : "", name(args[i]), type(args[i]));
      out_ += ')';
    }
    out_ += " {\n";
    ops(b, depth + 1);
    out_.append(2 * depth, ' ');
    out_ += '}';
  }

  const Function& f_;
  PrintOptions options_;
  std::vector<std::string> names_;  // indexed by value
  std::uint32_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string print(const Function& f, PrintOptions options) { return Printer(f, options).function(); }

std::string print(const Module& m, PrintOptions options) {
  std::string out;
  for (const Function& f : m.functions) out += (out.empty() ? "" : "\n") + print(f, options);
  return out;
}

std::string print(const Function& f, OpId id) { return Printer(f, {}).line(id); }

}  // namespace tilewright::ir
