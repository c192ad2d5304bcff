// Evaluates labelled terms: a loop over the positions of all labels of a node.
#include "passes/search/residues.h"

#include <fmt/format.h>

namespace tilewright::passes::search {
namespace {

/// The labels of a node and their sizes: those that are kept first, so that the first positions are those of the result, in its order.
struct Loops {
  std::vector<Label> labels;
  std::vector<int> sizes;
};

/// How far an operand's element moves for a step of each loop.
std::vector<int> strides_of(const Ref& r, const std::vector<int>& extents, const Loops& loops) {
  std::vector<int> strides(loops.labels.size(), 0);
  int stride = 1;
  for (int s = r.labels.size() - 1; s >= 0; --s) {
    for (std::size_t i = 0; i < loops.labels.size(); ++i)
      if (loops.labels[i] == r.labels[s]) strides[i] = stride;
    stride *= extents[static_cast<std::size_t>(s)];
  }
  return strides;
}

std::uint64_t residue(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return scramble(scramble(scramble(scramble(seed) + a) * 31 + b) * 37 + c) % kPrime;
}

constexpr std::uint64_t kViewSeed = 1000003, kFunctionSeed = 77;

}  // namespace

std::uint64_t add_residues(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t s = a + b;
  return s >= kPrime ? s - kPrime : s;
}

std::uint64_t multiply_residues(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return add_residues(static_cast<std::uint64_t>(product & kPrime), static_cast<std::uint64_t>(product >> 61));
}

std::uint64_t scramble(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

int Sizes::of(Extent e) const {
  switch (e) {
    case Extent::plain: return plain;
    case Extent::whole: return first + second;
    case Extent::first: return first;
    case Extent::second: return second;
  }
  return 0;
}

const std::vector<std::uint64_t>& Residues::of(int term) {
  const auto at = static_cast<std::size_t>(term);
  if (values_.size() <= at) values_.resize(static_cast<std::size_t>(terms_.size()));
  if (values_[at].empty()) {
    for (int i = 0; i < operands_of(terms_.node(term)); ++i) of(terms_.node(term).in[static_cast<std::size_t>(i)].term);
    values_[at] = evaluate(term);
  }
  return values_[at];
}

std::vector<std::uint64_t> Residues::evaluate(int term) {
  const Node& n = terms_.node(term);
  Loops loops;
  std::size_t count = 1, result = 1;
  const auto loop_over = [&](Label l, Extent e) {
    loops.labels.push_back(l);
    loops.sizes.push_back(sizes_.of(e));
    count *= static_cast<std::size_t>(loops.sizes.back());
  };
  const Labels slots = terms_.slots(term);
  for (int s = 0; s < slots.size(); ++s) loop_over(slots[s], terms_.extent(term, s));
  result = count;
  const std::size_t kept = loops.labels.size();
  std::array<std::vector<int>, 2> extents, strides;
  for (int i = 0; i < operands_of(n); ++i) {
    const Ref& r = n.in[static_cast<std::size_t>(i)];
    for (int s = 0; s < r.labels.size(); ++s) {
      extents[static_cast<std::size_t>(i)].push_back(sizes_.of(terms_.extent(r.term, s)));
      if (std::find(loops.labels.begin(), loops.labels.end(), r.labels[s]) == loops.labels.end())
        loop_over(r.labels[s], terms_.extent(r.term, s));
    }
  }
  for (std::size_t i = 0; i < 2; ++i) strides[i] = strides_of(n.in[i], extents[i], loops);

  std::vector<std::uint64_t> out(result, 0);
  std::vector<int> at(loops.labels.size(), 0);
  std::size_t axis = kept;  // the loop of the node's axis
  for (std::size_t i = 0; i < kept; ++i)
    if (loops.labels[i] == n.axis) axis = i;
  for (std::size_t step = 0; step < count; ++step) {
    std::size_t rest = step, target = 0;
    for (std::size_t i = loops.labels.size(); i-- > 0; rest /= static_cast<std::size_t>(loops.sizes[i]))
      at[i] = static_cast<int>(rest % static_cast<std::size_t>(loops.sizes[i]));
    for (std::size_t i = 0; i < kept; ++i) target = target * static_cast<std::size_t>(loops.sizes[i]) + static_cast<std::size_t>(at[i]);
    const auto element = [&](std::size_t operand, int shift = 0) {
      int offset = 0;
      for (std::size_t i = 0; i < at.size(); ++i) offset += strides[operand][i] * (at[i] + (i == axis ? shift : 0));
      return values_[static_cast<std::size_t>(n.in[operand].term)][static_cast<std::size_t>(offset)];
    };
    std::uint64_t value = 0;
    switch (n.op) {
      case Op::variable: value = residue(sizes_.seed, n.attribute, target, 0); break;
      case Op::product: value = multiply_residues(element(0), element(1)); break;
      case Op::sum: value = element(0); break;
      case Op::add: value = add_residues(element(0), element(1)); break;
      case Op::function: value = scramble(element(0) + kFunctionSeed) % kPrime; break;
      case Op::reduce: TW_UNREACHABLE("rules have no reductions but sums");
      case Op::view:
        for (int k = 0; k < loops.sizes[axis]; ++k)
          value = add_residues(
              value, multiply_residues(residue(sizes_.seed, kViewSeed, static_cast<std::uint64_t>(at[axis]), static_cast<std::uint64_t>(k)),
                                       element(0, k - at[axis])));
        break;
      case Op::cat: value = at[axis] < sizes_.first ? element(0) : element(1, -sizes_.first); break;
      case Op::part0: value = element(0); break;
      case Op::part1: value = element(0, sizes_.first); break;
    }
    out[target] = add_residues(out[target], value);
  }
  return out;
}

std::vector<std::uint64_t> Residues::of(const Ref& r) {
  const std::vector<std::uint64_t> values = of(r.term);
  std::vector<int> order;
  for (Label l = 0; l < kMaxLabels; ++l)
    if (r.labels.slot_of(l) >= 0) order.push_back(r.labels.slot_of(l));
  std::vector<std::uint64_t> out(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::size_t rest = i, offset = 0;
    std::array<std::size_t, kMaxSlots> at{};
    for (std::size_t k = order.size(); k-- > 0;) {
      const auto size = static_cast<std::size_t>(sizes_.of(terms_.extent(r.term, order[k])));
      at[static_cast<std::size_t>(order[k])] = rest % size;
      rest /= size;
    }
    for (int s = 0; s < r.labels.size(); ++s)
      offset = offset * static_cast<std::size_t>(sizes_.of(terms_.extent(r.term, s))) + at[static_cast<std::size_t>(s)];
    out[i] = values[offset];
  }
  return out;
}

std::string Residues::shape(const Ref& r) const {
  std::string text;
  for (Label l = 0; l < kMaxLabels; ++l)
    if (r.labels.slot_of(l) >= 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", sizes_.of(terms_.extent(r, l)));
  return "[" + text + "]";
}

}  // namespace tilewright::passes::search
