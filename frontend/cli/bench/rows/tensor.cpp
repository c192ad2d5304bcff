// Allocates arrays, reads their elements, and copies them to devices and back.
#include "frontend/cli/bench/rows/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <new>
#include <span>

namespace tilewright::cli::bench {

namespace {

template <class T>
double as_double(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

}  // namespace

std::string text(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

std::int64_t elements_of(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

Tensor allocated(std::string name, ir::Element element, Shape shape) {
  Tensor t{std::move(name), element, std::move(shape)};
  const double bytes = static_cast<double>(t.elements()) * ir::bytes(element);
  if (bytes > static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE))) throw std::bad_alloc();
  t.bytes.resize(static_cast<std::size_t>(bytes));
  return t;
}

std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::uint64_t seed_of(std::string_view name) {
  std::uint64_t seed = 1;
  for (const char c : name) seed = scrambled(seed + static_cast<unsigned char>(c));
  return seed;
}

double Reader::operator[](std::int64_t index) const {
  return with_type(element_, [&]<class T>(std::type_identity<T>) { return as_double(reinterpret_cast<const T*>(data_)[index]); });
}

DeviceTensors::DeviceTensors(const Device& device, const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    with_type(t.element,
              [&]<class T>(std::type_identity<T>) { entries_.emplace(t.name, Entry{t.shape, device.allocate<T>(t.elements())}); });
  restore(tensors);
}

void DeviceTensors::restore(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors) {
    Entry& e = find(t.name);
    e.returned.clear();
    with_type(t.element, [&]<class T>(std::type_identity<T>) {
      std::get<Buffer<T>>(e.buffer).upload(
          std::span<const T>(reinterpret_cast<const T*>(t.bytes.data()), static_cast<std::size_t>(t.elements())));
    });
  }
}

std::vector<std::byte> DeviceTensors::contents(std::string_view name) const {
  const Entry& e = entries_.find(name)->second;
  if (!e.returned.empty()) return e.returned;
  return std::visit(
      []<class T>(const Buffer<T>& buffer) {
        std::vector<std::byte> bytes(buffer.size() * sizeof(T));
        buffer.download(std::span<T>(reinterpret_cast<T*>(bytes.data()), buffer.size()));
        return bytes;
      },
      e.buffer);
}

void* DeviceTensors::address(std::string_view name) {
  return std::visit([](auto& buffer) -> void* { return buffer.data(); }, find(name).buffer);
}

}  // namespace tilewright::cli::bench
