// Where values are emitted, and the parameters that a kernel gets.
#include "passes/fusion/emit/scopes.h"

#include <doctest/doctest.h>

#include "passes/fusion/emit/kernel_parameters.h"
#include "passes/fusion/expr/normal_form.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {
namespace {

// A kernel with a program's tile of i, and a loop over tiles of k.
struct Fixture {
  ExprPool pool;
  ExprBuilder b{pool};
  Axis i = pool.axis("i", 64), k = pool.axis("k", 256);
  ir::Function function{"kernel"};
  ir::Builder ir{function};
  Scopes scopes{ir};
  ir::OpId loop;

  Fixture() {
    EmitScope body;
    body.block = function.body();
    body.tiles[i] = {16, {}, true};
    scopes.push(std::move(body));
    const ir::ValueId bounds[] = {number(0), number(256), number(32)};
    loop = ir.create(ir::OpKind::for_, bounds);
    EmitScope inside;
    inside.block = function.region(loop);
    inside.tiles[k] = {32, function.add_arg(inside.block, ir::Type(ir::Element::i32)), true};
    scopes.insert_before(loop);
    scopes.push(std::move(inside));
  }
  ir::ValueId number(std::int64_t n) { return ir.constant(ir::Type(ir::Element::i32), n); }
  Expr in_loop = b.index(k), before_loop = b.index(i), sum = b.add({in_loop, before_loop});
};

TEST_CASE_FIXTURE(Fixture, "scopes: a value is emitted in the outermost scope that has all it is made of") {
  CHECK(scopes.depth_of(before_loop) == 0);
  CHECK(scopes.depth_of(in_loop) == 1);
  CHECK(scopes.depth_of(sum) == 1);
  const auto block_of = [&](std::size_t depth) {
    const Part part = scopes.emit_at(depth, [&] { return Part{number(7), {}}; });
    return function.defining_block(part.value);
  };
  CHECK(block_of(0) == function.body());
  CHECK(block_of(1) == function.region(loop));
  CHECK(function.defining_block(number(8)) == function.region(loop));
}

TEST_CASE_FIXTURE(Fixture, "scopes: a value that the loop defines keeps what is made of it in the loop") {
  const Expr twice = b.scale(2, before_loop);
  CHECK(scopes.depth_of(twice) == 0);
  scopes.know(before_loop, {number(3), {}});
  CHECK(scopes.depth_of(twice) == 1);
  REQUIRE(scopes.find_known(before_loop));
  CHECK(!scopes.find_known(twice));
  scopes.pop();
  CHECK(!scopes.find_known(before_loop));
}

TEST_CASE_FIXTURE(Fixture, "scopes: an axis has the tile of the innermost scope that defines its positions") {
  CHECK(scopes.tile(i).size == 16);
  CHECK(scopes.is_tiled(k));
  EmitScope reduction;
  reduction.block = scopes.innermost().block;
  reduction.tiles[i] = {1, {}, true};
  scopes.push(std::move(reduction));
  CHECK(!scopes.is_tiled(i));
  scopes.pop();
  CHECK(scopes.is_tiled(i));
}

TEST_CASE_FIXTURE(Fixture, "scopes: parameters are made once, and what is written is writable") {
  KernelParameters parameters(function);
  TensorInfo info;
  info.element = ir::Element::f32;
  info.name = "x";
  const Tensor x = pool.add_tensor(info);
  info.name = "y";
  const Tensor y = pool.add_tensor(info);
  parameters.set_written(y);
  const ir::ValueId read = parameters.tensor(x), written = parameters.tensor(y);
  CHECK(parameters.tensor(x) == read);
  CHECK(function.type(read) == ir::Type::pointer(ir::Element::f32, true));
  CHECK(function.type(written) == ir::Type::pointer(ir::Element::f32, false));
  REQUIRE(parameters.all().size() == 2);
  CHECK(parameters.all()[1].tensor == y);
}

}  // namespace
}  // namespace tilewright::passes::fusion
