// The encoding of functions for keys of caches: everything that a compilation sees changes it.
#include "tileir/structure.h"

#include <doctest/doctest.h>

#include <set>

#include "tileir/text/parser.h"

namespace tilewright::ir {
namespace {

std::vector<std::byte> structure_of(const Function& f) {
  ByteWriter out;
  write_structure(f, out);
  return std::move(out).bytes();
}

std::vector<std::byte> structure_of(const std::string& text) { return structure_of(parse(text, "f.tile").functions.at(0)); }

std::string kernel(const std::string& name, const std::string& param, const std::string& body) {
  return "kernel @" + name + "(%p: ptr<f32>" + param + ", %n: i32) {\n" + body + "}\n";
}

TEST_CASE("structure: one function has one encoding, and each difference another") {
  const std::string body = "  %a = constant {value = 1.0} : f32\n  %x = load %p : f32\n  %s = add %x, %a : f32\n  store %p, %s\n";
  const auto base = structure_of(kernel("k", "", body));
  CHECK(base == structure_of(kernel("k", "", body)));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = body;
    return changed.replace(changed.find(from), from.size(), to);
  };
  std::set<std::vector<std::byte>> all = {base};
  const auto is_new = [&](const std::string& text) { return all.insert(structure_of(text)).second; };
  CHECK(is_new(kernel("k2", "", body)));
  CHECK(is_new(kernel("k", " {divisible_by = 16}", body)));
  CHECK(is_new(kernel("k", " {disjoint}", body)));
  CHECK(is_new(kernel("k", "", replaced("1.0", "2.0"))));
  CHECK(is_new(kernel("k", "", replaced("add", "sub"))));
  CHECK(is_new(kernel("k", "", replaced("%x, %a", "%a, %x"))));
  CHECK(is_new(kernel("k", "", replaced("%x, %a", "%x, %x"))));
  CHECK(is_new(kernel("k", "", "\n" + body)));  // other lines
}

TEST_CASE("structure: erased ops leave no trace") {
  const Function clean = parse(kernel("k", "", "  %x = load %p : f32\n  store %p, %x\n"), "f.tile").functions.at(0);
  Function f =
      parse(kernel("k", "", "  %x = load %p : f32\n  %a = constant {value = 1.0} : f32\n  store %p, %x\n"), "f.tile").functions.at(0);
  OpId constant;
  f.walk([&](OpId op) {
    if (f.constant_bits(f.op(op).results.empty() ? f.arg(f.body(), 0) : f.result(op))) constant = op;
  });
  f.erase(constant);
  // The store is on another line; all else is the same.
  CHECK(structure_of(f).size() == structure_of(clean).size());
}

}  // namespace
}  // namespace tilewright::ir
