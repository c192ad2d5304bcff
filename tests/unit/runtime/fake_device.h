// A CUDA device with a fake driver, and a sequence of calls that uses each part of it.
#pragma once
#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fake_driver.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver_loader.h"

namespace tilewright::rt::cuda {

inline bool has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

inline std::shared_ptr<rt::Device> open_fake(FakeDriver& driver) {
  DeviceFacts facts;
  facts.name = "Fake GPU";
  facts.capability = 90;
  return make_cuda_device(driver.table, {"cuda:0", facts, target_of(facts)}, Here::current());
}

inline backend::CompiledKernel ptx_kernel(const std::string& name = "softmax", int words = 2) {
  backend::CompiledKernel k;
  k.name = name;
  k.entry = name + "_entry";
  k.target = "sm_90a";
  k.format = backend::CompiledKernel::Format::ptx;
  const std::string ptx = ".version 8.0";
  const auto bytes = std::as_bytes(std::span(ptx));
  k.image.assign(bytes.begin(), bytes.end());
  k.params.assign(static_cast<std::size_t>(words), ir::Type(ir::Element::i64));
  k.resources.num_warps = 4;
  k.resources.shared_bytes = 1024;
  return k;
}

/// Every function of a device at least once, with what it says checked where that is quick.
inline void use_everything(rt::Device& device) {
  device.synchronize();
  const auto stream = device.create_stream();
  const auto wrapped = device.wrap_stream(stream->native(), Here::current());
  const std::vector<std::byte> host(5 << 20, std::byte{3});
  std::vector<std::byte> back(host.size());
  struct Memory {
    rt::Device& device;
    std::uint64_t address;
    ~Memory() { device.release(address, 5 << 20); }
  } memory{device, device.allocate(5 << 20)};
  device.copy_in(memory.address, host.data(), host.size(), device.default_stream());
  device.copy_out(back.data(), memory.address, host.size(), *stream);
  CHECK(back == host);
  device.copy_in(memory.address, host.data(), 16, device.default_stream());
  device.copy_out(back.data(), memory.address, 16, device.default_stream());
  const double d = 0.1;
  for (std::size_t width : {1, 2, 4, 8}) device.fill(memory.address, &d, width, 100, *stream);
  (void)device.free_memory();
  const auto kernel = device.load(ptx_kernel(), Here::current());
  backend::CompiledKernel large = ptx_kernel();
  large.resources.shared_bytes = 100000;
  (void)device.load(large, Here::current());
  const std::uint64_t arguments[] = {memory.address, 5};
  device.launch(*kernel, {.where = Here::current()}, arguments, *stream);
  const auto a = stream->record(), b = wrapped->record();
  (void)a->elapsed_ms(*b);
  stream->wait(*b);
  stream->synchronize();
  device.synchronize();
}

/// Nothing is left, and nothing was misused.
inline void check_clean(const FakeDriver& driver) {
  for (const std::string& m : driver.misuse) FAIL_CHECK(m);
  CHECK(driver.contexts == 0);
  CHECK(driver.modules == 0);
  CHECK(driver.pools == 0);
  CHECK(driver.graphs == 0);
  CHECK(driver.graph_executables == 0);
  CHECK(driver.streams.empty());
  CHECK(driver.events.empty());
  CHECK(driver.allocations.empty());
  CHECK(driver.host_allocations.empty());
}

}  // namespace tilewright::rt::cuda
