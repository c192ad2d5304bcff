// Counters beside the source. The idea: an emulated GPU counts what each line of a kernel did, so that what a line costs on a real one
// can be seen with none at hand: here how many sectors of memory its requests touch, and how many there would be at best.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "example.h"

namespace tw = tilewright;

// Distances of points from the origin, where a point's three coordinates follow each other.
void of_points(tw::Ptr<const float> xyz, tw::Ptr<float> out, tw::I32 n, int BLOCK) {
  auto i = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  auto x = tw::load(xyz + 3 * i, i < n);
  auto y = tw::load(xyz + 3 * i + 1, i < n);
  auto z = tw::load(xyz + 3 * i + 2, i < n);
  tw::store(out + i, tw::sqrt(x * x + y * y + z * z), i < n);
}

// Distances of points, where an array has all x first, then all y and all z.
void of_coordinates(tw::Ptr<const float> xyz, tw::Ptr<float> out, tw::I32 n, int BLOCK) {
  auto i = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  auto x = tw::load(xyz + i, i < n);
  auto y = tw::load(xyz + n + i, i < n);
  auto z = tw::load(xyz + 2 * n + i, i < n);
  tw::store(out + i, tw::sqrt(x * x + y * y + z * z), i < n);
}

// How many a request takes, "-" where there are none.
std::string a_request(std::uint64_t units, std::uint64_t requests) {
  if (requests == 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(units) / static_cast<double>(requests));
  return text;
}

// Prints the lines of this file that the kernel's instructions come from. The sum of all sectors.
std::uint64_t print(const tw::KernelReport& report) {
  std::printf("\n%s\n%12s %17s %7s\n", report.kernel.c_str(), "instructions", "sectors a request", "at best");
  std::ifstream in(EXAMPLE_SOURCE);
  std::uint64_t sectors = 0;
  std::string source;
  int number = 0;
  for (const tw::LineReport& line : report.lines) {
    sectors += line.sectors;
    while (number < line.line && std::getline(in, source)) ++number;
    std::printf("%12llu %17s %7s | %s\n", static_cast<unsigned long long>(line.instructions),
                a_request(line.sectors, line.global_requests).c_str(), a_request(line.least_sectors, line.global_requests).c_str(),
                number > 1 ? source.c_str() : "(the start of the kernel)");
  }
  return sectors;
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  tw::Device device = tw::Device::open(options.device.starts_with("emulator:") ? options.device : "emulator:sm_80");
  constexpr int kPoints = 4000, kBlock = 1024;
  const auto values = example::normal(3 * kPoints, 13);
  auto xyz = device.upload(values);
  auto out = device.allocate<float>(kPoints);
  bool right = true;
  // Coordinate k of point i is value `step` i + `between` k.
  const auto run = [&](const char* name, auto* kernel, int step, int between) {
    out.fill(0);
    tw::Kernel distances(name, kernel);
    device.take_reports();
    distances({.grid = tw::cdiv(kPoints, kBlock)}, xyz, out, kPoints, kBlock);
    const auto got = out.download();
    for (int i = 0; i < kPoints; ++i) {
      const float* point = &values[std::size_t(step) * i];
      right = right && std::fabs(got[i] - std::hypot(point[0], point[between], point[2 * between])) < 1e-5;
    }
    return print(device.take_reports().at(0));
  };
  const auto points = run("of_points", of_points, 3, 1), coordinates = run("of_coordinates", of_coordinates, 1, kPoints);
  constexpr int kLeast = 4 * kPoints * 4 / 32;
  std::printf("\npoint by point %llu sectors, coordinate by coordinate %llu, where the data have %d\n",
              static_cast<unsigned long long>(points), static_cast<unsigned long long>(coordinates), kLeast);
  if (!right) std::printf("WRONG: a distance is wrong\n");
  return right && coordinates == kLeast && points > 2 * kLeast ? 0 : 1;
}
