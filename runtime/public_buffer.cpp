// Implements the untyped base class of the public Buffer.
#include <fmt/format.h>

#include <array>
#include <new>
#include <utility>

#include "runtime/active_call.h"
#include "runtime/device.h"
#include "runtime/device_failure.h"
#include "runtime/write_observer.h"
#include "tilewright/buffer.h"

namespace tilewright::detail {

namespace {

struct ElementFacts {
  const char* name;  // the name in C++
  int bytes;
};
// In the order of Code.
constexpr std::array<ElementFacts, 15> kElements{{{"bool", 1},
                                                  {"int8_t", 1},
                                                  {"int16_t", 2},
                                                  {"int", 4},
                                                  {"int64_t", 8},
                                                  {"uint8_t", 1},
                                                  {"uint16_t", 2},
                                                  {"unsigned", 4},
                                                  {"uint64_t", 8},
                                                  {"f16", 2},
                                                  {"bf16", 2},
                                                  {"float", 4},
                                                  {"double", 8},
                                                  {"f8e4m3", 1},
                                                  {"f8e5m2", 1}}};
static_assert(static_cast<int>(Code::f8e5m2) == 14);

const ElementFacts& facts(Code c) { return kElements[static_cast<std::size_t>(c)]; }
std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

void expect_count(const char* what, std::int64_t count, const Here& at) {
  if (count < 0) throw Error(location_of(at), fmt::format("{}: the number of elements is {}; it must not be negative", what, count));
}

}  // namespace

RawBuffer::RawBuffer(std::shared_ptr<rt::Device> device, Code element, std::int64_t count, const Here& at)
    : device_(std::move(device)), count_(count), element_(element), owned_(true) {
  expect_count("allocate", count, at);
  const rt::ActiveCall call(at);
  std::size_t bytes = 0;
  const bool too_many = __builtin_mul_overflow(static_cast<std::size_t>(count), static_cast<std::size_t>(facts(element).bytes), &bytes);
  try {
    if (too_many) throw std::bad_alloc();
    memory_ = rt::at_line(at, [&] { return reinterpret_cast<void*>(device_->allocate(bytes)); });
  } catch (const std::bad_alloc&) {
    throw DeviceError(location_of(at),
                      fmt::format("allocate: out of memory: {} {} elements do not fit on device '{}', where {} bytes are free", count,
                                  facts(element).name, device_->name(), device_->free_memory()));
  }
  watch();
}

RawBuffer::RawBuffer(std::shared_ptr<rt::Device> device, Code element, void* memory, std::int64_t count, const Here& at)
    : device_(std::move(device)), memory_(memory), count_(count), element_(element) {
  expect_count("wrap", count, at);
  const rt::ActiveCall call(at);
  if (!memory && count > 0) throw Error(location_of(at), fmt::format("wrap: the pointer is null, and not {} elements", count));
  std::uint64_t end = 0;
  if (__builtin_mul_overflow(count, facts(element).bytes, &end) || __builtin_add_overflow(end, address(memory), &end))
    throw Error(location_of(at), fmt::format("wrap: {} elements of {} reach past the end of all addresses", count, facts(element).name));
  if (address(memory) % facts(element).bytes != 0)
    throw Error(location_of(at), fmt::format("wrap: the pointer {:#x} is not aligned to {} bytes, the size of {}", address(memory),
                                             facts(element).bytes, facts(element).name));
  if (count > 0)
    if (const std::string reason = rt::at_line(at, [&] { return device_->reason_against(address(memory)); }); !reason.empty())
      throw Error(location_of(at), "wrap: the pointer " + reason);
  watch();
}

RawBuffer::RawBuffer(RawBuffer&& other) noexcept
    : device_(std::move(other.device_)),
      memory_(std::exchange(other.memory_, nullptr)),
      count_(std::exchange(other.count_, 0)),
      watched_(std::exchange(other.watched_, 0)),
      element_(other.element_),
      owned_(std::exchange(other.owned_, false)) {}

RawBuffer& RawBuffer::operator=(RawBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  device_ = std::move(other.device_);
  memory_ = std::exchange(other.memory_, nullptr);
  count_ = std::exchange(other.count_, 0);
  watched_ = std::exchange(other.watched_, 0);
  element_ = other.element_;
  owned_ = std::exchange(other.owned_, false);
  return *this;
}

RawBuffer::~RawBuffer() { release(); }

void RawBuffer::watch() {
  const int width = facts(element_).bytes;
  try {
    watched_ =
        device_->memory().add({address(memory_), static_cast<std::uint64_t>(count_) * width, count_, width, facts(element_).name, owned_});
  } catch (...) {
    release();  // the destructor does not run if the constructor throws
    throw;
  }
}

void RawBuffer::release() noexcept {
  if (!device_) return;
  const rt::ActiveCall call(std::nothrow);
  if (!call.is_allowed()) return;
  device_->memory().remove(watched_);
  if (owned_) device_->release(address(memory_), static_cast<std::size_t>(count_) * facts(element_).bytes);
  device_.reset();
}

const void* RawBuffer::at(std::int64_t offset, const Here& at) const {
  if (!device_) throw Error(location_of(at), "this buffer is empty: it was never allocated, or has been moved from");
  if (offset < 0 || offset > count_)
    throw Error(location_of(at),
                fmt::format("buffer + {}: the buffer has {} elements, and the offset must be 0 to {}", offset, count_, count_));
  return static_cast<const std::byte*>(memory_) + offset * facts(element_).bytes;
}

void RawBuffer::expect_size(const char* what, std::size_t count, const Here& at) const {
  this->at(0, at);
  if (count != size())
    throw Error(location_of(at),
                fmt::format("{}: the host side has {} elements, the buffer {}; both must have the same number", what, count, size()));
}

void RawBuffer::announce_write(const Here& at) {
  const std::uint64_t begin = address(memory_), bytes = static_cast<std::uint64_t>(count_) * facts(element_).bytes;
  if (rt::WriteObserver* observer = rt::WriteObserver::current())
    observer->before_write(*device_, begin, begin + bytes, device_->default_stream(), at);
}

void RawBuffer::read(void* to, std::size_t count, const Here& at) const {
  const rt::ActiveCall call(at);
  expect_size("download", count, at);
  if (count == 0) return;
  rt::at_line(at, [&] { device_->copy_out(to, address(memory_), count * facts(element_).bytes, device_->default_stream()); });
}

void RawBuffer::write(const void* from, std::size_t count, const Here& at) {
  const rt::ActiveCall call(at);
  expect_size("upload", count, at);
  if (count == 0) return;
  announce_write(at);
  rt::at_line(at, [&] { device_->copy_in(address(memory_), from, count * facts(element_).bytes, device_->default_stream()); });
}

void RawBuffer::fill(const void* element, const Here& at) {
  const rt::ActiveCall call(at);
  this->at(0, at);
  announce_write(at);
  rt::at_line(at, [&] { device_->fill(address(memory_), element, facts(element_).bytes, size(), device_->default_stream()); });
}

}  // namespace tilewright::detail
