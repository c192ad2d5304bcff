// Runs one .ptx file of tests/ptx/emulator: kernels, directives for their launches, and expected results.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::rt::emulator {

struct CaseFailure {
  int line;  // line in the file
  std::string message;
};

/// Runs every case of a file; cases are separated by lines `// -----`, and what stands before the first such line is the head, which holds
/// for all of them. PTX of the head comes first in each kernel. A case's first comment is its name. Directives are comments `// name:
/// text`; those of a case replace the head's of the same name.
///   target: sm_90a            .target of the module; sm_80 if not named
///   threads: 64  blocks: 2  cluster: 2     1, 1 and none if not named
///   array: in 1024 = i        a parameter, a pointer to so many words, and the first value of word i
///   tensor: map u16 64x64 box 64x16 of in  a parameter, a tensor map: type, extents (the first runs fastest), the box, and its array
///   order: forward backward   the case runs in each of these orders of warps, `async: lazy eager random` of asynchronous work
///   seed: 3                   of what is random
///   workers: 1 2              host threads: the case runs with each of these numbers; 0, all of them, if not named
///   limit: 1000000            instructions of a launch; 50000000 if not named
///   functions:                the PTX lines after it, up to the next directive, stand ahead of the kernel, those of the head first
///   kernel: .maxnreg 128      directives between the kernel's parameters and its body
///   text: NAME                the PTX lines after it, up to the next directive, are what a line `$NAME` stands for
///   each: NAME PTX            the case runs once for each of these lines; `$NAME` stands for its PTX, also in `finds` and `error`
///   finds: text               the findings hold this text; `*`: any. Without such a line there must be none.
///                             `\n` is the end of a line
///   finds_not: text           the findings do not hold it
///   finding_lines: 2          so many lines of findings
///   remarks: text             a remark holds this text
///   remark_lines: 1           so many remarks
///   value: out[0..63] = i + 5     words of an array after the launch
///   counters: bytes(bulk_copy) == 512     tests/counters/assertion.h
///   error: text               the module is not loaded; the error's message holds this text
///   refused: each line        every PTX line of the case, alone in a kernel, is an error when it is loaded
std::vector<CaseFailure> run_cases(std::string_view text);

}  // namespace tilewright::rt::emulator
