// Checks that a wrong launch throws an Error with a text, at its line of this file.
#pragma once
#include "tests/kernels/matrices.h"

#define CHECK_MISTAKE(TEXT, ...)                                                               \
  do {                                                                                         \
    const std::string text = kernel_tests::message_of([&] { __VA_ARGS__; });                   \
    const std::string file = __FILE__;                                                         \
    CHECK_MESSAGE(kernel_tests::has(text, file + ":" + std::to_string(__LINE__) + ":"), text); \
    CHECK_MESSAGE(kernel_tests::has(text, TEXT), text);                                        \
  } while (false)
