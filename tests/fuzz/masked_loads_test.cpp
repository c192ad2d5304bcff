// Every element-wise op on what a masked load gives, stored under the same mask: machine code must not depend on elements that are masked
// out, by branches above all.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/emulator_executor.h"
#include "tests/fuzz/program.h"
#include "tests/fuzz/signatures.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/verifier.h"

namespace tilewright::fuzz {

using namespace ir;

namespace {

constexpr std::int64_t kElements = 128, kActive = 75, kMostOperands = 3;
const std::vector<std::int64_t> kShape{kElements};

/// The op on each combination of elements that it takes.
class MaskedMaps {
 public:
  explicit MaskedMaps(OpKind kind) : p_{Function(fmt::format("masked_{}", ir::text(kind))), {}, {1, 1, 1}, 0}, b_(p_.function) {
    p_.function.add_file("masked.cpp");
    b_.set_loc({0, 1, 0});
    const Type i32(Element::i32);
    p_.arguments.push_back({});
    p_.arguments.back().word = kActive;
    const ValueId n = p_.function.add_param(i32, {"n", 1});
    for (const Signature& s : signatures(kind)) {
      for (const Element e : s.operands) add_buffer(e, inputs_, true);
      add_buffer(s.result, outputs_, false);
    }
    index_ = b_.arange(0, kElements);
    mask_ = b_.binary(OpKind::lt_, index_, b_.broadcast(n, kShape));
    for (const Signature& s : signatures(kind)) add(kind, s);
  }
  const Program& program() const { return p_; }

 private:
  void add_buffer(Element e, std::map<Element, ValueId>& buffers, bool is_input) {
    if (buffers.contains(e)) return;
    Argument a;
    a.is_buffer = true;
    a.element = e;
    a.bytes.resize(static_cast<std::size_t>(is_input ? kActive + kMostOperands : kElements) * static_cast<std::size_t>(bytes(e)),
                   std::byte{1});
    p_.arguments.push_back(std::move(a));
    buffers[e] = p_.function.add_param(Type::pointer(e, is_input), {fmt::format("p{}", p_.arguments.size()), bytes(e)});
  }

  ValueId address(ValueId pointer, ValueId index) { return b_.add_ptr(b_.broadcast(pointer, kShape), index); }

  void add(OpKind kind, const Signature& s) {
    std::vector<ValueId> operands;
    for (const Element e : s.operands) {
      // Each operand has its own elements, because some ops need no instruction for equal operands.
      const ValueId shift = b_.constant(Type(Element::i32, kShape), static_cast<std::int64_t>(operands.size()));
      const ValueId access[] = {address(inputs_[e], b_.binary(OpKind::add_, index_, shift)), mask_};
      operands.push_back(p_.function.result(b_.create(OpKind::load_, access)));
    }
    const Type declared(s.result, kShape);
    const OpId op = b_.create(kind, operands, {}, std::span(&declared, 1));
    const ValueId access[] = {address(outputs_[s.result], index_), p_.function.result(op), mask_};
    b_.create(OpKind::store_, access);
  }

  Program p_;
  Builder b_;
  std::map<Element, ValueId> inputs_, outputs_;
  ValueId index_, mask_;
};

}  // namespace

TEST_CASE("machine code: no element-wise op depends on elements that are masked out of its operands") {
  for (const char* target : {"sm_80", "sm_90"})
    for (const OpKind kind : elementwise_ops()) {
      const MaskedMaps maps(kind);
      const Program& p = maps.program();
      CAPTURE(target);
      CAPTURE(ir::text(kind));
      REQUIRE(verify(p.function).empty());
      Memory memory(p);
      EmulatorExecutor executor(target, 4);
      executor.expect_within(&memory);
      try {
        executor.run(p.function, memory.words(), p.grid);
      } catch (const std::exception& error) {
        FAIL_CHECK(std::string(error.what()));
      }
    }
}

}  // namespace tilewright::fuzz
