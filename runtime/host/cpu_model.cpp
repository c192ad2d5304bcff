// Reads the properties of this machine's processor.
#include "runtime/host/cpu_model.h"

#include <unistd.h>

#include <cpuid.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "runtime/environment.h"

namespace tilewright::rt {

namespace {

bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

std::string brand() {
  unsigned words[12] = {};
  if (__get_cpuid_max(0x80000000u, nullptr) < 0x80000004u) return "x86-64 processor";
  for (unsigned i = 0; i < 3; ++i) __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  std::string name = text;
  const auto first = name.find_first_not_of(' '), last = name.find_last_not_of(' ');
  return first == std::string::npos ? "x86-64 processor" : name.substr(first, last - first + 1);
}

}  // namespace

int cpu_threads() {
  if (const int asked = environment_threads()) return asked;
  // The affinity mask is used, not the number of cores: in a container, more threads than the mask allows would only take turns.
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0) return CPU_COUNT(&allowed);
  const unsigned n = std::thread::hardware_concurrency();
  return n ? static_cast<int>(n) : 1;
}

std::string cpu_description(int threads) {
  return fmt::format("{}, {} thread{}, {}", brand(), threads, threads == 1 ? "" : "s", has_v4() ? "AVX-512" : has_v3() ? "AVX2" : "SSE2");
}

std::string reason_against_level(std::string_view level) {
  if (level == "x86-64") return "";
  if (level == "x86-64-v3") return has_v3() ? "" : "this machine's processor lacks AVX2 or FMA";
  if (level == "x86-64-v4") return has_v4() ? "" : "this machine's processor lacks AVX-512 (F, BW, CD, DQ, VL)";
  return "the levels of 'cpu' are x86-64, x86-64-v3 and x86-64-v4";
}

namespace {

/// The size of a cache of the first core, 0 if the kernel does not report it; on some processors sysconf adds up all slices of a socket.
int cache_kib(int index) {
  std::FILE* f = std::fopen(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index).c_str(), "r");
  if (!f) return 0;
  int kib = 0;
  const bool read = std::fscanf(f, "%dK", &kib) == 1;
  std::fclose(f);
  return read ? kib : 0;
}

// Indices 0 and 1 are the data and instruction caches of the first level.
constexpr int kLevel2 = 2, kLevel3 = 3;

}  // namespace

CacheSizes cache_sizes() {
  const int level2 = cache_kib(kLevel2), level3 = cache_kib(kLevel3);
  return {level2, level3 ? level3 : level2};
}

int CacheSizes::kib_for(std::int64_t threads) const {
  constexpr std::int64_t kLevel2PerThread = 4;
  return level2 ? static_cast<int>(std::min<std::int64_t>(kLevel2PerThread * level2 * threads, last_level)) : last_level;
}

}  // namespace tilewright::rt
