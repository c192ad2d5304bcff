// Groups the products of an e-graph by a factor.
#include "passes/search/extract/merge_products.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "passes/search/rules/search_rules.h"
#include "passes/search/saturate/known_terms.h"
#include "passes/search/thresholds.h"

namespace tilewright::passes::search {
namespace {

/// A product of a group in labels that are common to the group: the slots of the factor, and then the other axes of the other factor.
struct Factored {
  Ref value, own;  // the product, and the factor that the others lack
  double seconds = 0;
};

/// The properties that all products of a group have: the factor, which of its axes are kept, which of them the other factor has, how many
/// other axes that factor has, and how the product multiplies.
using GroupKey = std::tuple<int, LabelSet, LabelSet, int, std::int32_t, ir::Element>;

class Merger {
 public:
  Merger(const graph::Graph& written, GraphTerms& all, const EGraph& classes, const NodeCost& cost)
      : all_(all), classes_(classes), cost_(cost), known_(written, all) {
    known_.update(classes);
  }

  std::vector<Saturation::Application> run() {
    for (int root = 0; root < classes_.added_terms(); ++root) {
      if (!classes_.is_root(root) || known_.holds_in_class(root)) continue;
      for (const Member& m : classes_.members(root))
        if (m.node.op == Op::product && sums_an_axis(m.node)) add(root, m);
    }
    for (const auto& [key, group] : groups_) {
      const Ref factor = factor_of(key);
      for (std::size_t merge = 0; merge < search_merges().size(); ++merge) merge_group(key, factor, alike(group, factor), merge);
    }
    return std::move(found_);
  }

 private:
  static Label label(int slot) { return static_cast<Label>(slot); }
  Ref factor_of(const GroupKey& key) const {
    Ref factor{std::get<0>(key), {}};
    for (int s = 0, slots = all_.terms.slots(factor.term).size(); s < slots; ++s) factor.labels.push_back(label(s));
    return factor;
  }

  /// Adds a product to the group of a factor whose other factor is known before a run.
  void add(int root, const Member& m) {
    const Node& n = m.node;
    for (std::size_t i = 0; i < 2; ++i) {
      const Ref factor = classes_.find(n.in[i]), other = classes_.find(n.in[1 - i]);
      if (!known_.holds_in_class(other.term) || known_.holds_in_class(factor.term)) continue;
      if (all_.terms.element(factor) != n.element || all_.terms.element(other) != n.element) continue;
      std::array<Label, kMaxLabels> named;
      named.fill(kNoLabel);
      LabelSet kept = 0, common = 0;
      for (int s = 0; s < factor.labels.size(); ++s) {
        named[factor.labels[s]] = label(s);
        if (contains(n.kept, factor.labels[s])) kept |= set_of(label(s));
      }
      int own = 0;
      bool keeps_own = true;
      for (Label l : other.labels) {
        if (named[l] != kNoLabel) {
          common |= set_of(named[l]);
          continue;
        }
        keeps_own &= contains(n.kept, l);
        named[l] = label(factor.labels.size() + own++);
      }
      if (own == 0 || !keeps_own || factor.labels.size() + own > static_cast<int>(kMaxLabels)) continue;
      Factored made{{root, {}}, {other.term, {}}, cost_.seconds(n, false).seconds};
      for (Label l : m.slots) made.value.labels.push_back(named[l]);
      for (Label l : other.labels) made.own.labels.push_back(named[l]);
      std::vector<Factored>& group = groups_[{factor.term, kept, common, own, n.attribute, n.element}];
      const bool is_new =
          std::none_of(group.begin(), group.end(), [&](const Factored& f) { return f.value.term == root || f.own.term == other.term; });
      if (is_new && group.size() < kMostMerged) group.push_back(made);
    }
  }

  /// The products of a group that differ from the first one along one axis only. The merged product is cut along this axis.
  struct Alike {
    std::vector<Factored> products;
    Label cut = kNoLabel;
  };
  Alike alike(const std::vector<Factored>& group, const Ref& factor) const {
    Alike result;
    for (const Factored& f : group) {
      LabelSet differs = 0;
      const Ref& first = group[0].own;
      for (Label l : first.labels)
        if (all_.terms.extent(first, l) != all_.terms.extent(f.own, l)) differs |= set_of(l);
      const LabelSet cut = result.cut == kNoLabel ? 0 : set_of(result.cut);
      if (std::popcount(differs | cut) > 1) continue;
      if (differs != 0) result.cut = static_cast<Label>(std::countr_zero(differs));
      result.products.push_back(f);
    }
    // The axis is the outermost one if the products differ along none.
    if (result.cut == kNoLabel) result.cut = label(factor.labels.size());
    return result;
  }

  void merge_group(const GroupKey& key, const Ref& factor, const Alike& group, std::size_t number) {
    const std::size_t count = group.products.size();
    if (count < 2) return;
    double all = 0;
    for (const Factored& f : group.products) all += f.seconds;
    if (static_cast<double>(count - 1) * cost_.seconds_of_reader(factor) < kLeastSaved * all) return;
    const Merge& merge = search_merges()[number];
    Factored whole = group.products[0];
    for (std::size_t i = 1; i < count; ++i) {
      const Factored& next = group.products[i];
      const std::optional<Binding> binding = bind(key, merge, whole.own, next.own, factor, group.cut);
      if (!binding) return;
      const std::array<Ref, 2> values = {whole.value, next.value};
      for (std::size_t part = 0; part < 2; ++part) {
        const Ref made = instantiate(all_.terms, merge.parts[part].equation.left, *binding);
        if (!made) return;
        found_.push_back({values[part], made, number_of_merge(number)});
        all_.origins.resize(static_cast<std::size_t>(all_.terms.size()), all_.origins[static_cast<std::size_t>(next.value.term)]);
      }
      whole.own = all_.terms.cat(whole.own, next.own, group.cut, binding->cut_number);
      whole.value = instantiate(all_.terms, merge.whole, *binding);
    }
  }

  /// The references for which the variables of a merge stand; none if the merge does not hold for these axes.
  std::optional<Binding> bind(const GroupKey& key, const Merge& merge, const Ref& first, const Ref& second, const Ref& factor,
                              Label cut) const {
    Binding b;
    const std::pair<int, const Ref*> variables[] = {{merge.own[0], &first}, {merge.own[1], &second}, {merge.common, &factor}};
    std::array<unsigned, kMaxLabels> having{};
    for (const auto& [variable, ref] : variables) {
      b.variables[static_cast<std::size_t>(variable)] = *ref;
      for (Label l : ref->labels) having[l] |= 1u << variable;
    }
    const LabelSet axes = first.labels.set() | factor.labels.set();
    b.kept = (axes & ~factor.labels.set()) | std::get<1>(key);
    b.cut = cut;
    const Dim lengths[] = {all_.dim(all_.terms.extent(first, cut)),
                           all_.dim(all_.terms.extent(second, cut))};  // copies, because the table may grow
    b.cut_number = all_.cut(lengths[0], lengths[1]);
    b.product = std::get<4>(key);
    bool holds = true;
    for_each(axes, [&](Label l) {
      const Role role = l == cut ? Role::cut : Role::plain;
      const Fate fate = contains(b.kept, l) ? Fate::kept : Fate::summed_by_product;
      for (const Rule& part : merge.parts) holds &= part.conditions().allows(role, fate, having[l]);
    });
    return holds ? std::optional(b) : std::nullopt;
  }

  GraphTerms& all_;
  const EGraph& classes_;
  const NodeCost& cost_;
  KnownTerms known_;
  std::map<GroupKey, std::vector<Factored>> groups_;
  std::vector<Saturation::Application> found_;
};

}  // namespace

std::vector<Saturation::Application> merged_products(const graph::Graph& written, GraphTerms& all, const EGraph& classes,
                                                     const NodeCost& cost) {
  return Merger(written, all, classes, cost).run();
}

}  // namespace tilewright::passes::search
