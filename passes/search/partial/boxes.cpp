// Divides the positions of a tensor into boxes, compares these, and joins what is alike.
#include "passes/search/partial/boxes.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/search/partial/box_values.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::search {
namespace {

using graph::NodeId;

bool is_single(const Box& box) {
  return std::all_of(box.begin(), box.end(), [](const Interval& i) { return i.length() == 1; });
}

Box at_position(const std::vector<std::int64_t>& position) {
  Box box;
  for (std::int64_t p : position) box.push_back({p, p + 1});
  return box;
}

BoxSplit halves(const Box& box) {
  const auto longest =
      std::max_element(box.begin(), box.end(), [](const Interval& a, const Interval& b) { return a.length() < b.length(); });
  return {static_cast<std::size_t>(longest - box.begin()), longest->begin + longest->length() / 2};
}

class Comparison {
 public:
  Comparison(const graph::Graph& g, NodeId a, NodeId b, const BoxLimits& limits)
      : values_(g, limits.visits), a_(a), b_(b), limits_(limits) {}

  BoxComparison run(const Box& all) {
    open_.push_back(all);
    while (!open_.empty()) {
      const Box box = std::move(open_.back());
      open_.pop_back();
      if (open_.size() + outcome_.boxes.size() >= limits_.boxes) {
        outcome_.is_complete = false;
        outcome_.boxes.push_back({box, false});
        continue;
      }
      compare(box);
    }
    merge();
    outcome_.visits = values_.visits();
    return std::move(outcome_);
  }

 private:
  void compare(const Box& box) {
    const auto a = values_.of(a_, box);
    const auto b = a ? values_.of(b_, box) : std::nullopt;
    if (values_.split()) return split(box, *values_.split());
    if (!a || !b) {
      outcome_.is_complete = false;
      outcome_.boxes.push_back({box, false});
      return;
    }
    const bool is_equal = *a == *b;
    if (!is_equal && !is_single(box) && !has_difference(box)) return split(box, halves(box));
    outcome_.boxes.push_back({box, is_equal});
  }

  void split(const Box& box, const BoxSplit& at) {
    Box first = box, second = box;
    first[at.axis].end = second[at.axis].begin = at.at;
    open_.push_back(std::move(second));
    open_.push_back(std::move(first));
  }

  /// Looks at both ends, and at one step along each axis.
  bool has_difference(const Box& box) {
    std::vector<std::int64_t> corner, end;
    for (const Interval& i : box) corner.push_back(i.begin), end.push_back(i.end - 1);
    if (differ_at(corner) || differ_at(end)) return true;
    for (std::size_t k = 0; k < box.size(); ++k) {
      if (box[k].length() == 1) continue;
      std::vector<std::int64_t> step = corner;
      ++step[k];
      if (differ_at(step)) return true;
    }
    return false;
  }

  bool differ_at(const std::vector<std::int64_t>& position) {
    const Box box = at_position(position);
    const auto a = values_.of(a_, box), b = values_.of(b_, box);
    TW_CHECK(!values_.split(), "a condition depends on the position in a box of one position");
    if (!a || !b) outcome_.is_complete = false;
    return !a || !b || *a != *b;
  }

  /// Innermost axes first, until nothing changes.
  void merge() {
    std::vector<ComparedBox>& boxes = outcome_.boxes;
    const auto before = [](const Box& a, const Box& b, std::size_t last) {
      // By all intervals but that along `last`, and then by that one.
      for (std::size_t k = 0; k < a.size(); ++k)
        if (k != last && !(a[k] == b[k])) return a[k].begin != b[k].begin ? a[k].begin < b[k].begin : a[k].end < b[k].end;
      return last < a.size() && a[last].begin < b[last].begin;
    };
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      const std::size_t rank = boxes.empty() ? 0 : boxes[0].box.size();
      for (std::size_t axis = rank; axis-- > 0;) {
        std::sort(boxes.begin(), boxes.end(), [&](const ComparedBox& a, const ComparedBox& b) { return before(a.box, b.box, axis); });
        std::vector<ComparedBox> joined;
        for (ComparedBox& b : boxes) {
          ComparedBox* last = joined.empty() ? nullptr : &joined.back();
          Box grown = last ? last->box : Box();
          if (last) grown[axis].end = b.box[axis].end, grown[axis].begin = b.box[axis].begin;
          if (last && last->is_equal == b.is_equal && last->box[axis].end == b.box[axis].begin && grown == b.box) {
            last->box[axis].end = b.box[axis].end;
            has_changed = true;
          } else {
            joined.push_back(std::move(b));
          }
        }
        boxes = std::move(joined);
      }
    }
    std::sort(boxes.begin(), boxes.end(), [&](const ComparedBox& a, const ComparedBox& b) { return before(a.box, b.box, a.box.size()); });
  }

  BoxValues values_;
  NodeId a_, b_;
  BoxLimits limits_;
  std::vector<Box> open_;
  BoxComparison outcome_;
};

/// Whether all extents and lengths that a node depends on are numbers.
bool has_numbers(const graph::Graph& g, NodeId a, NodeId b) {
  std::vector<bool> is_needed(g.size());
  is_needed[a.index] = is_needed[b.index] = true;
  const auto are_numbers = [](const std::vector<Dim>& dims) {
    return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is_constant(); });
  };
  for (std::size_t i = g.size(); i-- > 0;) {
    if (!is_needed[i]) continue;
    const graph::Node& n = g.node({static_cast<std::uint32_t>(i)});
    if (!are_numbers(n.shape) || !are_numbers(n.lengths)) return false;
    for (NodeId x : n.operands) is_needed[x.index] = true;
  }
  return true;
}

}  // namespace

std::optional<BoxComparison> compare_boxes(const graph::Graph& g, NodeId a, NodeId b, const BoxLimits& limits) {
  TW_CHECK(g.node(a).shape == g.node(b).shape, "values of different shapes have no boxes");
  if (!has_numbers(g, a, b)) return std::nullopt;
  Box all;
  for (const Dim& d : g.node(a).shape) all.push_back({0, d.value()});
  if (std::any_of(all.begin(), all.end(), [](const Interval& i) { return i.length() == 0; })) return BoxComparison{};
  return Comparison(g, a, b, limits).run(all);
}

std::string text(const ComparedBox& b) {
  std::string intervals;
  for (const Interval& i : b.box) intervals += fmt::format("{}{}:{}", intervals.empty() ? "" : ", ", i.begin, i.end);
  return fmt::format("[{}] {}", intervals, b.is_equal ? "equal" : "differs");
}

}  // namespace tilewright::passes::search
