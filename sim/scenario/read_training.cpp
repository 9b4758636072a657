// Section `training` of a scenario file.
#include "sim/scenario/names.h"
#include "sim/scenario/read.h"

namespace trainwire {
namespace {

constexpr Named<Precision> precisions[] = {{"fp32", Precision::fp32},
                                           {"tf32", Precision::tf32},
                                           {"fp16", Precision::fp16},
                                           {"bf16", Precision::bf16},
                                           {"fp8", Precision::fp8, false}};
constexpr Named<OptimizerKind> optimizers[] = {{"sgd", OptimizerKind::sgd},
                                               {"momentum", OptimizerKind::momentum},
                                               {"adam", OptimizerKind::adam},
                                               {"adamw", OptimizerKind::adamw}};
constexpr Named<Recompute> recomputes[] = {
    {"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}};
constexpr Named<Framework> frameworks[] = {{"none", Framework::none},
                                           {"megatron-2021", Framework::megatron_2021},
                                           {"megatron-core", Framework::megatron_core},
                                           {"pytorch", Framework::pytorch},
                                           {"deepspeed", Framework::deepspeed}};
constexpr Named<DType> grad_dtypes[] = {{"fp32", DType::fp32}, {"bf16", DType::bf16}, {"fp16", DType::fp16}};

// A name, or {method: full, every: 2} or {method: full, layers: 4}: of the blocks of each stage (interleaved: chunk)
// the first of every so many, or the first so many.
void read_recompute(Reader& reader, Training& t) {
  const Value value = reader.map_or_shorthand("recompute", "method");
  Reader inner(value, "training.recompute", reader.problems());
  t.recompute = read_name<Recompute>(inner, "method", recomputes, t.recompute);
  t.recompute_every = static_cast<int>(inner.integer("every", 1, 1, 100'000));
  t.recompute_blocks = inner.integer("layers", 0, 1, 100'000);
  t.recompute_segment = static_cast<int>(inner.integer("segment", 1, 1, 100'000));
  if (t.recompute_segment > 1 && t.recompute == Recompute::selective)
    inner.fail("segment", "joins whole blocks, and selective recomputes less than one", "Try method: full");
  for (const char* key : {"every", "layers", "segment"})
    if (inner.has(key) && t.recompute == Recompute::none)
      inner.fail(key, "chooses blocks to recompute, and the method is none", "Add method: full or method: selective");
  inner.finish();
}

}  // namespace

Training read_training(const Value& section, Problems& problems) {
  Training t;
  Reader reader(section, "training", problems);
  t.sequence = reader.integer("sequence", 0, 1, 100'000'000);
  t.micro_batch = reader.integer("micro_batch", 1, 1, 1'000'000);
  t.global_batch = reader.integer("global_batch", 64, 1, 1'000'000'000);
  t.precision = read_name<Precision>(reader, "precision", precisions, t.precision);
  t.optimizer = read_name<OptimizerKind>(reader, "optimizer", optimizers, t.optimizer);
  read_recompute(reader, t);
  t.grad_dtype = read_name<DType>(reader, "grad_dtype", grad_dtypes, t.grad_dtype);
  t.framework = read_name<Framework>(reader, "framework", frameworks, t.framework);
  t.gradient_clip = reader.number("gradient_clip", t.gradient_clip, 0, 1e9);
  t.learning_rate = reader.number("learning_rate", t.learning_rate, 0, 1e6);
  t.steps = static_cast<int>(reader.integer("steps", t.steps, 1, 1'000'000));
  t.seed = reader.integer("seed", t.seed, 0);
  reader.finish();
  return t;
}

}  // namespace trainwire
