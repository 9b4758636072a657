#include "backend/common/data.h"

#include <algorithm>

#include "backend/common/random.h"

namespace trainwire {
namespace {

// Purposes, so that no two draws share a hash.
enum Purpose : std::int64_t { parameter_value = 1, first_token, noise_token, noise_kind, sample_class, pattern, pixel };

constexpr std::int64_t active_tokens = 256;  // few enough that a handful of steps sees each of them
constexpr double noise_share = 0.1;

struct Source {
  std::int64_t seed, step, classes;

  std::int64_t class_of(std::int64_t sample) const {
    return static_cast<std::int64_t>(hash(seed, sample_class, step, sample) % static_cast<std::uint64_t>(classes));
  }
  // Tokens in use are spread over the whole vocabulary, so that every shard of it has some.
  std::int64_t active() const { return std::min(classes, active_tokens); }
  std::int64_t draw(Purpose purpose, std::int64_t sequence, std::int64_t position) const {
    return static_cast<std::int64_t>(hash(seed, purpose, step, sequence, position) %
                                     static_cast<std::uint64_t>(active()));
  }
  std::int64_t next(std::int64_t token, std::int64_t sequence, std::int64_t position) const {
    if (uniform(hash(seed, noise_kind, step, sequence, position)) < noise_share)
      return draw(noise_token, sequence, position);
    return (5 * token + 17) % active();
  }
  std::int32_t name_of(std::int64_t token) const { return static_cast<std::int32_t>(token * classes / active()); }
};

std::int64_t classes_of(const Model& model) {
  const std::int64_t n = model.family == "cnn"   ? model.cnn.classes
                         : model.family == "mlp" ? model.mlp.classes
                                                 : model.transformer.vocab;
  return std::max<std::int64_t>(n, 2);
}

// B sequences of S tokens, or of S targets: the targets are the tokens one position on.
// `positions`: which tokens of the whole sequence these are.
void fill_sequences(const Source& source, std::int32_t* out, const std::vector<std::int64_t>& positions, std::int64_t B,
                    std::int64_t whole, std::int64_t first, bool targets) {
  std::vector<std::int32_t> sequence(static_cast<std::size_t>(whole));
  for (std::int64_t b = 0; b < B; ++b) {
    std::int64_t token = source.draw(first_token, first + b, 0);
    for (std::int64_t s = 0; s < whole; ++s) {
      const std::int64_t next = source.next(token, first + b, s);
      sequence[static_cast<std::size_t>(s)] = source.name_of(targets ? next : token);
      token = next;
    }
    for (const std::int64_t position : positions) *out++ = sequence[static_cast<std::size_t>(position)];
  }
}

void fill_samples(const Source& source, float* out, const Shape& shape, std::int64_t first) {
  const std::int64_t size = shape.elements() / shape[0];
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    const std::int64_t label = source.class_of(first + b);
    for (std::int64_t i = 0; i < size; ++i) {
      // Uniform numbers of variance 1 each (width 2√3): images are large, and a normal costs ten times as much.
      const double signal = uniform(hash(source.seed, pattern, label, i)) - 0.5;
      const double noise = uniform(hash(source.seed, pixel, source.step, first + b, i)) - 0.5;
      out[b * size + i] = static_cast<float>(3.4641016 * (0.8 * signal + 0.6 * noise));
    }
  }
}

}  // namespace

void initial_parameter(const Plan& plan, const Program& program, const Tensor& tensor, const Coordinates& at,
                       std::int64_t seed, float* values) {
  for_each_parameter_run(
      program, tensor, at, [&](const Tensor& parameter, std::int64_t local, std::int64_t global, std::int64_t count) {
        const std::int32_t number = parameter.parameter;
        const ModelParameter& model = plan.parameters[static_cast<std::size_t>(number)];
        for (std::int64_t i = 0; i < count; ++i) {
          const double draw = model.init_std == 0.0F ? 0.0 : normal(hash(seed, parameter_value, number, global + i));
          values[local + i] = model.init_mean + model.init_std * static_cast<float>(draw);
        }
      });
}

void input_values(const Scenario& scenario, const Plan& plan, const Program& program, BufferId buffer,
                  const Coordinates& at, std::int64_t step, void* values) {
  const Source source{scenario.training.seed, step, classes_of(scenario.model)};
  Coordinates degree{};
  for (std::size_t axis = 0; axis < axis_count; ++axis) degree[axis] = plan.mesh.degree(static_cast<Axis>(axis));
  const std::int64_t replica = replica_of(plan.mesh, at);
  const Tensor& tensor = program.tensor(buffer);
  const std::int64_t micro_batch = std::max(program.buffers[static_cast<std::size_t>(buffer)].micro_batch, 0);
  const std::int64_t first = (replica * plan.micro_batches + micro_batch) * tensor.shape[0];
  const bool targets = tensor.name == "targets";
  auto* integers = static_cast<std::int32_t*>(values);
  if (tensor.dtype != DType::int32) {
    fill_samples(source, static_cast<float*>(values), tensor.shape, first);
  } else if (tensor.shape.rank == 2) {
    fill_sequences(source, integers, sequence_positions(tensor, at, degree), tensor.shape[0], tensor.global[1], first,
                   targets);
  } else {
    for (std::int64_t i = 0; i < tensor.shape[0]; ++i)
      integers[i] = static_cast<std::int32_t>(source.class_of(first + i));
  }
}

}  // namespace trainwire
