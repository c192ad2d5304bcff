// What a user of the generator chooses.
#pragma once

namespace tilewright::fuzz {

struct GeneratorOptions {
  int min_ops = 6, max_ops = 30;  // steps at the top level; one step may make several ops
  int max_log2_elements = 11;
  int matrix_products = 0;  // percentage of programs that only multiply matrices
};

}  // namespace tilewright::fuzz
