// Asks the kind of a problem.
#include "frontend/kernels/configuration_space.h"

#include <algorithm>

#include "frontend/kernels/problems/kinds.h"
#include "tileir/diagnostics.h"

namespace tilewright::kernels::host {

namespace {

template <class Shape>
concept HasFunctions = requires(const Machine& m, Shape& s, const Configuration& c) {
  candidates(m, s);
  configuration_of(choice_of(s, c));
  key(s);
  assume_rows(s);
  programs(m, s, choice_of(s, c));
} && (requires(const Machine& m, const Shape& s, const Configuration& c) { work(m, s, choice_of(s, c)); } ||
      requires(const Machine& m, const Shape& s, const Configuration& c) { gpu_seconds(m, s, choice_of(s, c)); });

template <class Shape>
constexpr bool check_kind() {
  static_assert(HasFunctions<Shape>,
                "a kind of Problem lacks one of its functions, or its header is not in problems/kinds.h: "
                "docs/extending.md, A kind of problem, step 2");
  return true;
}
template <class... Shapes>
constexpr bool check_kinds(const std::variant<Shapes...>*) {
  return (check_kind<Shapes>() && ...);
}
static_assert(check_kinds(static_cast<const Problem*>(nullptr)));

}  // namespace

std::vector<Configuration> candidates_of(const Machine& m, const Problem& p) {
  std::vector<Configuration> all;
  std::visit(
      [&](const auto& s) {
        for (const auto& choice : candidates(m, s)) all.push_back(configuration_of(choice));
      },
      p);
  TW_CHECK(!all.empty(), "no configuration for " + key_of(p));
  return all;
}

double estimated_seconds(const Machine& m, const Problem& p, const Configuration& c) {
  return std::visit(
      [&](const auto& s) {
        const auto choice = choice_of(s, c);
        if (!m.target.is_gpu()) return host_seconds(m, programs(m, s, choice));
        if constexpr (requires { gpu_seconds(m, s, choice); })
          return gpu_seconds(m, s, choice);
        else
          return gpu_seconds(m, work(m, s, choice), s.element_bytes);
      },
      p);
}

std::vector<Configuration> ranked_candidates(const Machine& m, const Problem& p) {
  std::vector<std::pair<double, Configuration>> all;
  for (const Configuration& c : candidates_of(m, p)) all.emplace_back(estimated_seconds(m, p, c), c);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Configuration> ranked;
  for (const auto& [seconds, c] : all) ranked.push_back(c);
  return ranked;
}

std::string key_of(const Problem& p) {
  return std::visit([](const auto& s) { return key(s); }, p);
}

Problem without_batch(Problem p) {
  std::visit([](auto& s) { assume_rows(s); }, p);
  return p;
}

}  // namespace tilewright::kernels::host
