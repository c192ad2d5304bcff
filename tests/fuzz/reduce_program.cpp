// Runs the test-case reducer of functions on a program with its launch.
#include "tests/fuzz/reduce_program.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "passes/debug/test_case_reducer.h"
#include "tests/fuzz/differential.h"

namespace tilewright::fuzz {

namespace {

/// The program with another function, whose parameters are some of the old ones.
Program with_function(const Program& p, ir::Function f) {
  std::unordered_map<std::string, int> old;
  for (std::size_t i = 0; i < p.function.params.size(); ++i) old[p.function.params[i].name] = static_cast<int>(i);
  Program q{std::move(f), {}, p.grid, p.seed};
  std::vector<int> place(p.arguments.size(), -1);  // the index in q of each argument of p
  for (std::size_t i = 0; i < q.function.params.size(); ++i) {
    const int from = old.at(q.function.params[i].name);
    place[from] = static_cast<int>(i);
    Argument a = p.arguments[from];
    if (a.alias >= 0) {
      // If the buffer that it aliases is gone, this one becomes the buffer.
      if (const int to = place[a.alias]; to >= 0)
        a.alias = to;
      else
        a = p.arguments[a.alias], place[p.arguments[from].alias] = static_cast<int>(i);
    }
    q.arguments.push_back(std::move(a));
  }
  return q;
}

}  // namespace

Program reduce_program(const Program& p, const std::function<bool(const Program&)>& fails, int max_attempts) {
  const bool strict = check_meaning(p, true).empty();  // lanes of one store do not meet, and shall not
  const auto still_fails = [&](const Program& q) { return max_attempts-- > 0 && check_meaning(q, strict).empty() && fails(q); };
  Program best = p;
  const auto attempt = [&](const std::function<bool(Program&)>& edit) {
    Program q = best;
    if (edit(q) && still_fails(q)) best = std::move(q);
  };
  attempt([](Program& q) { return std::exchange(q.grid, {1, 1, 1}) != q.grid; });
  // Removes what the command line cannot express: unaligned buffers, and two parameters for one buffer.
  attempt([](Program& q) {
    bool changed = false;
    for (Argument& a : q.arguments) changed |= std::exchange(a.misalignment, 0) != 0;
    return changed;
  });
  attempt([](Program& q) {
    bool changed = false;
    for (Argument& a : q.arguments)
      if (a.alias >= 0) a = Argument(q.arguments[static_cast<std::size_t>(a.alias)]), changed = true;
    return changed;
  });
  passes::ReduceOptions options{max_attempts, {}};
  for (std::size_t i = 0; i < p.arguments.size(); ++i)
    if (!p.arguments[i].is_buffer) options.scalars[p.function.params[i].name] = p.arguments[i].word;
  ir::Function small =
      passes::reduce_test_case(best.function, [&](const ir::Function& f) { return still_fails(with_function(best, f)); }, options);
  best = with_function(best, std::move(small));
  for (std::size_t axis = 0; axis < 3; ++axis) attempt([&](Program& q) { return std::exchange(q.grid[axis], 1) != 1; });
  return best;
}

}  // namespace tilewright::fuzz
