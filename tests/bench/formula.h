// A graph with the tensors that a run of it needs, their memory, and a plan.
#pragma once
#include <tilewright/tilewright.h>

#include <iterator>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace bench {

class Formula {
 public:
  using Tensor = tilewright::Tensor<float>;
  using Shape = std::vector<tilewright::Dim>;

  Tensor input(const std::string& name, const Shape& shape) {
    inputs_.emplace_back(name, elements(shape));
    return graph.input<float>(name, shape);
  }
  Tensor parameter(const std::string& name, const Shape& shape) {
    parameters_.emplace_back(name, elements(shape));
    return graph.parameter<float>(name, shape);
  }
  void output(const std::string& name, const Tensor& t) {
    outputs_.emplace_back(name, elements(t.shape()));
    graph.output(name, t);
  }

  tilewright::Graph graph;

 private:
  friend class Memory;
  using Named = std::vector<std::pair<std::string, std::size_t>>;
  static std::size_t elements(const Shape& shape) {
    std::size_t count = 1;
    for (const tilewright::Dim& d : shape) count *= static_cast<std::size_t>(d.value());
    return count;
  }
  Named inputs_, parameters_, outputs_;
};

/// The buffers of a formula, filled with numbers. Formulas with the same tensors have the same numbers.
class Memory {
 public:
  Memory(const tilewright::Device& device, const Formula& f) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.1f);
    const auto add = [&](const auto& tensors, std::vector<tilewright::RunArgument>& arguments) {
      for (const auto& [name, count] : tensors) {
        std::vector<float> values(count);
        for (float& v : values) v = normal(random);
        arguments.emplace_back(name, buffers_.emplace_back(device.upload(values)));
      }
    };
    add(f.inputs_, each_run_);
    add(f.parameters_, parameters_);
    const std::size_t count = buffers_.size();
    add(f.outputs_, each_run_);
    first_output_ = std::next(buffers_.begin(), static_cast<std::ptrdiff_t>(count));
  }

  const std::vector<tilewright::RunArgument>& each_run() const { return each_run_; }
  const std::vector<tilewright::RunArgument>& parameters() const { return parameters_; }
  /// What the latest run gave, the outputs one after the other.
  std::vector<float> results() const {
    std::vector<float> all;
    for (auto output = first_output_; output != buffers_.end(); ++output)
      for (float x : output->download()) all.push_back(x);
    return all;
  }

 private:
  std::list<tilewright::Buffer<float>> buffers_;
  std::list<tilewright::Buffer<float>>::const_iterator first_output_;
  std::vector<tilewright::RunArgument> each_run_, parameters_;
};

/// A plan with its memory. Parameters stay from the first run on.
class Run {
 public:
  Run(const tilewright::Device& device, Formula& f, tilewright::Search search)
      : Run(device, f, search, std::make_shared<const Memory>(device, f)) {}
  /// With the memory of another run: where buffers are decides up to a fifth of the time of a kernel on a host.
  Run(const tilewright::Device& device, Formula& f, tilewright::Search search, std::shared_ptr<const Memory> memory)
      : device_(device), memory_(std::move(memory)), plan(f.graph.compile(device, {.search = search})) {
    std::vector<tilewright::RunArgument> all = memory_->each_run();
    all.insert(all.end(), memory_->parameters().begin(), memory_->parameters().end());
    plan.run(all);
    device.synchronize();
  }
  void operator()() const {
    plan.run(memory_->each_run());
    device_.synchronize();
  }

 private:
  const tilewright::Device& device_;
  const std::shared_ptr<const Memory> memory_;

 public:
  tilewright::Plan plan;
};

}  // namespace bench
