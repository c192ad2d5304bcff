// Programs on the runtime's CUDA device, with the emulator as its driver.
#include <doctest/doctest.h>

#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tests/fuzz/device_executor.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/machine.h"

using namespace tilewright;

TEST_CASE("device executor: agrees with the executor that calls the emulator itself") {
  const fuzz::Machine machine("emulator:sm_80");
  fuzz::DeviceExecutor device("emulator:sm_80", machine.num_warps);
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const fuzz::Program p = fuzz::generate(seed);
    if (!fuzz::check_meaning(p, true).empty()) continue;
    const auto difference = fuzz::compare(p, *machine.executor, device);
    INFO(difference.value_or(""), "\n", fuzz::text(p));
    CHECK_FALSE(difference.has_value());
    ++compared;
  }
  CHECK(compared >= 6);
}

TEST_CASE("device executor: a write outside of the buffers is found") {
  test::SequenceBuilder b("short_buffer");
  const ir::Type t = test::tile(ir::Element::f32, {6});
  b.output(b.input(t));
  fuzz::Program p = b.take();
  // Where the last argument, the output's, is too short.
  p.arguments.back().bytes.resize(32 * 4);
  fuzz::DeviceExecutor device("emulator:sm_80", 1);
  const fuzz::Memory memory(p);
  device.expect_within(&memory);
  CHECK_THROWS_WITH(device.run(p.function, memory.words(), p.grid), "a write outside of the buffers");
}
