// vprintf takes a format and its arguments, one after another, each aligned to its size. __assertfail ends the launch.
#include "runtime/emulator/isa/builtin_functions.h"

#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <cstring>

#include "runtime/emulator/isa/calls.h"
#include "runtime/emulator/memory/access.h"

namespace tilewright::rt::emulator {
namespace {

/// The arguments that a lane passes to a function, and memory as the lane sees it.
class Caller {
 public:
  Caller(Warp& warp, const Instruction& call, int lane)
      : warp_(warp), call_(call), site_(warp.kernel->calls[call.options<CallOptions>().site]), lane_(lane) {}

  u64 argument(std::size_t k) const {
    u64 value = 0;
    std::memcpy(&value, address_of_passed(warp_, call_, site_.arguments[k], lane_), site_.arguments[k].bytes);
    return value;
  }

  void give(u32 result) const {
    if (!site_.results.empty()) std::memcpy(address_of_passed(warp_, call_, site_.results[0], lane_), &result, sizeof result);
  }

  /// Returns false, and reports, if there is no memory at the generic address.
  bool read(u64 address, void* to, int bytes) const {
    bool done = false;
    Lanes<u64> addresses;
    for (u64& each : addresses.at) each = address;
    locate(warp_, call_, kLaneBit[lane_], addresses, Space::generic, bytes, [&](const Request& request) {
      check_read(accessor_of(warp_, call_), request, lane_, bytes);
      check_written(warp_, call_, request, bytes, Access::read);
      std::memcpy(to, request.at[lane_], static_cast<std::size_t>(bytes));
      done = true;
    });
    return done;
  }

  std::string text(u64 address) const {
    std::string text;
    for (char c = 0; read(address, &c, 1) && c != 0; ++address) text += c;
    return text;
  }

 private:
  Warp& warp_;
  const Instruction& call_;
  const CallSite& site_;
  int lane_;
};

/// The arguments of a format string, in memory.
class Arguments {
 public:
  Arguments(const Caller& caller, u64 address) : caller_(caller), at_(address) {}

  template <class T>
  T next() {
    T value{};
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    caller_.read(at_, &value, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

 private:
  const Caller& caller_;
  u64 at_;
};

template <class... T>
std::string formatted(const std::string& spec, T... values) {
  const int size = std::snprintf(nullptr, 0, spec.c_str(), values...);
  std::string text(static_cast<std::size_t>(std::max(size, 0)) + 1, 0);
  std::snprintf(text.data(), text.size(), spec.c_str(), values...);
  text.pop_back();
  return text;
}

/// Converts one specification, from its % to its letter; `at` is moved past it; `count` counts the arguments.
std::string convert(const std::string& format, std::size_t& at, const Caller& caller, Arguments& arguments, int& count) {
  std::string spec = "%";
  bool is_long = false;
  for (++at; at < format.size(); ++at) {
    const char c = format[at];
    if (c == '*') {
      spec += std::to_string(arguments.next<s32>());
    } else if (std::strchr("-+ #0123456789.", c) != nullptr) {
      spec += c;
    } else if (std::strchr("hlzjt", c) != nullptr) {
      is_long |= c != 'h';
    } else {
      break;
    }
  }
  if (at == format.size()) return spec;
  const char letter = format[at++];
  if (letter == '%') return "%";
  ++count;
  switch (letter) {
    case 'd':
    case 'i': return formatted(spec + "lld", static_cast<long long>(is_long ? arguments.next<s64>() : arguments.next<s32>()));
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      return formatted(spec + "ll" + letter, static_cast<unsigned long long>(is_long ? arguments.next<u64>() : arguments.next<u32>()));
    case 'c': return formatted(spec + "c", arguments.next<s32>());
    case 'p': return formatted(spec + "p", std::bit_cast<void*>(arguments.next<u64>()));
    case 's': return formatted(spec + "s", caller.text(arguments.next<u64>()).c_str());
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': return formatted(spec + letter, arguments.next<double>());
    default: return spec + letter;
  }
}

void print(Warp& warp, const Instruction& i, Mask mask) {
  for (const int lane : lanes_of(mask)) {
    const Caller caller(warp, i, lane);
    const std::string format = caller.text(caller.argument(0));
    Arguments arguments(caller, caller.argument(1));
    std::string text;
    int count = 0;
    for (std::size_t at = 0; at < format.size();) {
      if (format[at] == '%')
        text += convert(format, at, caller, arguments, count);
      else
        text += format[at++];
    }
    LaunchState& launch = *warp.worker->launch;
    if (launch.printed != nullptr) {
      const std::lock_guard lock(launch.printing);
      *launch.printed += text;
    }
    caller.give(static_cast<u32>(count));
  }
}

void fail_assertion(Warp& warp, const Instruction& i, Mask mask) {
  const int lane = __builtin_ctz(mask);
  report(warp, i, DiagnosticKind::trap, lane, [&] {
    const Caller caller(warp, i, lane);
    return fmt::format("assertion '{}' failed at {}:{} in {}", caller.text(caller.argument(0)), caller.text(caller.argument(1)),
                       caller.argument(2), caller.text(caller.argument(3)));
  });
  warp.worker->stopped = true;
}

}  // namespace

Handler builtin_function(std::string_view name) {
  if (name == "vprintf") return print;
  if (name == "__assertfail") return fail_assertion;
  return nullptr;
}

}  // namespace tilewright::rt::emulator
