// Hugging Face config.json files as people have them.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/model/support.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

// A config in JSON text, one key a line, read like a file of that name.
Model read(const std::string& text, Problems& problems) {
  const Value value = read_text(text, "config.json", problems);
  return problems.empty() ? read_hf_config(value, problems) : Model{};
}

std::string problems_of(const std::string& text) {
  Problems problems;
  read(text, problems);
  return messages(problems);
}

const std::string llama =
    "{\n\"architectures\": [\"LlamaForCausalLM\"],\n\"num_hidden_layers\": 2,\n\"vocab_size\": "
    "100,\n\"intermediate_size\": 96,\n";

}  // namespace

TEST_CASE("a Llama config's optional keys default as in transformers", "[model]") {
  Problems problems;
  const Model model =
      read(llama + "\"hidden_size\": 64,\n\"num_attention_heads\": 4, \"sliding_window\": null}", problems);
  CHECK(messages(problems) == "");
  const Transformer& t = model.transformer;
  CHECK(t.kv_heads == 4);
  CHECK(t.head_dim == 16);
  CHECK(t.max_sequence == 2048);
  CHECK(t.rotary_theta == 10000.0F);
  CHECK_FALSE(t.tied);
}

TEST_CASE("a GPT-2 config has learned positions, biases and a tied head", "[model]") {
  Problems problems;
  const Model model = read(R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_inner": null,
    "n_positions": 1024, "vocab_size": 50257})",
                           problems);
  CHECK(messages(problems) == "");
  CHECK(parameter_count(model) == 124'439'808);
}

TEST_CASE("an explicit head_dim need not be hidden / heads", "[model]") {
  Problems problems;
  const Model model = read(llama + "\"hidden_size\": 60,\n\"num_attention_heads\": 8, \"head_dim\": 10}", problems);
  CHECK(messages(problems) == "");
  CHECK(model.transformer.head_dim == 10);
}

TEST_CASE("a sliding window that is on limits the sequence to where full attention is the same", "[model]") {
  const std::string body =
      "\"num_hidden_layers\": 2, \"vocab_size\": 100, \"intermediate_size\": 96, \"hidden_size\": 64,"
      "\"num_attention_heads\": 4, \"max_position_embeddings\": 4096, \"sliding_window\": 1024";
  Problems problems;
  CHECK(read("{\"model_type\": \"mistral\", " + body + "}", problems).transformer.max_sequence == 1024);
  CHECK(read("{\"model_type\": \"qwen2\", " + body + "}", problems).transformer.max_sequence == 4096);
  CHECK(read("{\"model_type\": \"qwen2\", \"use_sliding_window\": true, " + body + "}", problems)
            .transformer.max_sequence == 1024);
  CHECK(messages(problems) == "");
}

TEST_CASE("a malformed config is a problem with file and line", "[model]") {
  struct Row {
    std::string text, expected;
  };
  const Row row = GENERATE(
      Row{llama + "\"hidden_size\": 100,\n\"num_attention_heads\": 8}",
          "config.json:6: hidden_size = 100: must be a multiple of num_attention_heads = 8"},
      Row{llama + "\"hidden_size\": 64,\n\"num_attention_heads\": 8,\n\"num_key_value_heads\": 5}",
          "config.json:8: num_key_value_heads = 5: must divide num_attention_heads = 8"},
      Row{llama + "\"hidden_size\": 64,\n\"num_attention_heads\": \"8\"}", "config.json:7: num_attention_heads = 8"},
      Row{llama + "\"hidden_size\": 64,\n\"num_attention_heads\": -8}", "config.json:7: num_attention_heads = -8"},
      Row{llama + "\"hidden_size\": 64}", "num_attention_heads: is missing"},
      Row{llama + "\"hidden_size\": 64,\n\"num_attention_heads\": 8,\n\"hidden_act\": \"relu\"}",
          "config.json:8: hidden_act = relu"},
      Row{llama + "\"hidden_size\": 64,\n\"num_attention_heads\": 8,\n\"attention_bias\": true}",
          "config.json:8: attention_bias = true"},
      Row{"{\"model_type\": \"gemma2\"}", "gemma2 is not supported yet: it caps logits softly"},
      Row{"{\"model_type\": \"new\", \"num_experts\": 8}", "new is not supported yet: it is a mixture of experts"},
      Row{"{\"model_type\": \"unheard-of\"}",
          "model_type = unheard-of: unheard-of is not supported yet. Supported: GPT2LMHeadModel"},
      Row{"{\"hidden_size\": 64}", "neither architectures nor model_type"});
  const std::string text = problems_of(row.text);
  CAPTURE(row.text, text);
  CHECK(contains(text, row.expected));
  CHECK(contains(text, "config.json:"));
}

TEST_CASE("a config that ends too early names file and line, and Python's Infinity does not hide what is wrong",
          "[model]") {
  const auto folder = std::filesystem::temp_directory_path() / ("trainwire-hf-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto problems_of_file = [&](const std::string& text) {
    std::ofstream(folder / "config.json") << text;
    Problems problems;
    load(folder.string(), problems);
    return messages(problems);
  };
  CHECK(contains(problems_of_file(llama + "\"hidden_size\": 6"), "config.json:6: not valid JSON"));
  const std::string text =
      problems_of_file("{\"model_type\": \"nemotron_h\", \"time\": [-Infinity, NaN, \"NaN \\\" NaN\"]}");
  CAPTURE(text);
  CHECK(contains(text, "config.json:1: model_type = nemotron_h: nemotron_h is not supported yet"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("every sample config loads with its published parameter count or is refused by name", "[model]") {
  const char* set = std::getenv("TRAINWIRE_SAMPLES");
  const std::filesystem::path samples = set != nullptr
                                            ? std::filesystem::path(set)
                                            : std::filesystem::path(TRAINWIRE_SOURCE_DIR) / ".." / "shared" / "samples";
  const std::filesystem::path folder = samples / "hf_configs";
  if (!std::filesystem::is_directory(folder)) {
    WARN("SKIPPED: no sample configs in " << folder << " (set TRAINWIRE_SAMPLES)");
    return;
  }
  // Parameters of the checkpoints on the Hugging Face hub (Qwen3-0.6B: its tied head counted once).
  const std::map<std::string, std::int64_t> published = {{"openai-community--gpt2", 124'439'808},
                                                         {"openai-community--gpt2-large", 774'030'080},
                                                         {"meta-llama--Llama-2-7b-hf", 6'738'415'616},
                                                         {"meta-llama--Llama-2-13b-hf", 13'015'864'320},
                                                         {"meta-llama--Llama-2-70b-hf", 68'976'648'192},
                                                         {"meta-llama--Meta-Llama-3-8B", 8'030'261'248},
                                                         {"Qwen--Qwen2-7B", 7'615'616'512},
                                                         {"Qwen--Qwen1.5-110B", 111'209'914'368},
                                                         {"microsoft--Phi-3-mini-4k-instruct", 3'821'079'552},
                                                         {"microsoft--Phi-3-medium-4k-instruct", 13'960'238'080},
                                                         {"Qwen--Qwen3-0.6B", 596'049'920},
                                                         {"Qwen--Qwen3-8B", 8'190'735'360},
                                                         {"Qwen--Qwen3-32B", 32'762'123'264},
                                                         {"Qwen--Qwen3-30B-A3B", 30'532'122'624},
                                                         {"Qwen--Qwen3-235B-A22B", 235'093'634'560},
                                                         {"mistralai--Mixtral-8x7B-v0.1", 46'702'792'704},
                                                         {"mistralai--Mixtral-8x22B-v0.1", 140'620'634'112}};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    Problems problems;
    const Model model = load(entry.path().string(), problems);
    const auto known = published.find(file.substr(0, file.find(".config.json")));
    CAPTURE(file, messages(problems));
    if (known != published.end()) {
      REQUIRE(problems.empty());
      CHECK(parameter_count(model) == known->second);
    } else {
      REQUIRE(problems.all().size() == 1);
      CHECK((contains(messages(problems), "is not supported yet") ||
             contains(messages(problems), "neither architectures")));
      CHECK(contains(messages(problems), file + ":"));
      CHECK(contains(messages(problems), "Supported: "));
    }
  }
}

TEST_CASE("a config with any one value replaced loads as a sound model or gives problems", "[model]") {
  const std::vector<std::string> keys = {"num_hidden_layers",
                                         "hidden_size",
                                         "num_attention_heads",
                                         "num_key_value_heads",
                                         "head_dim",
                                         "intermediate_size",
                                         "vocab_size",
                                         "rms_norm_eps",
                                         "rope_theta",
                                         "max_position_embeddings",
                                         "hidden_act",
                                         "tie_word_embeddings",
                                         "architectures",
                                         "attention_bias"};
  for (const std::string& key : keys)
    for (const std::string value : {"-1", "0", "3", "1.5", "1e99", "9223372036854775807", "99999999999999999999",
                                    "\"64\"", "\"\"", "null", "[]", "{}", "[[1]]", "true", "nan"}) {
      std::string text = "{\"" + key + "\": " + value;
      const auto other = [&](const std::string& name, const std::string& usual) {
        if (name != key) text += ", \"" + name + "\": " + usual;
      };
      other("architectures", "[LlamaForCausalLM]");
      other("num_hidden_layers", "2");
      other("hidden_size", "64");
      other("num_attention_heads", "4");
      other("intermediate_size", "96");
      other("vocab_size", "100");
      Problems problems;
      const Model model = read(text + "}", problems);
      CAPTURE(text, messages(problems));
      CHECK((!problems.empty() || parameter_count(model) > 0));
    }
}
