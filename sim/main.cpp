// The one front end: a table of verbs. What a verb does stands in sim/verbs/.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "sim/config/problems.h"
#include "sim/verbs/verbs.h"

#ifdef TRAINWIRE_HAS_CPU
#include "backend/cpu/execute.h"
#endif

namespace trainwire {
namespace {

void no_options(options::options_description&) {}

constexpr Verb verbs[] = {
    {"explain", "SCENARIO", "mesh, groups, memory, operations and bytes of a plan; no timing",
     "trainwire explain scenarios/llama-3-8b-dgx-h100.yaml", 1, 1, explain_options, explain},
    {"simulate", "SCENARIO", "predict a training step",
     "trainwire simulate scenarios/llama-3-8b-dgx-h100.yaml --set strategy.tensor=8", 1, 1, simulate_options,
     simulate_verb},
    {"execute", "SCENARIO", "run the same plan for real on this machine",
     "trainwire execute scenarios/quickstart.yaml --steps 10", 1, 1, execute_options, execute_verb},
    {"compare", "PREDICTED MEASURED", "two result folders, operation by operation, worst first",
     "trainwire compare reports/runs/quickstart/simulate reports/runs/quickstart/execute", 2, 2, no_options,
     compare_verb},
    {"calibrate", "", "measure this machine, for simulations of it", "trainwire calibrate --quick", 0, 0,
     calibrate_options, calibrate_verb},
    {"plot", "FOLDER...", "pictures and one HTML page of result folders",
     "trainwire plot reports/runs/quickstart/simulate reports/runs/quickstart/execute", 1, 64, no_options, plot},
    {"score", "TABLE...", "predict the rows of a table of published measurements",
     "trainwire score ../shared/measurements/vtrain/ground_truth_single.csv", 1, 64, score_options, score_verb},
    {"sweep", "SCENARIO", "every combination of varied keys", "", 0, 64, no_options, nullptr},
    {"search", "SCENARIO", "the fastest strategies that fit in memory", "", 0, 64, no_options, nullptr},
    {"import", "KIND FILE", "files of other tools to ours: nccl-topo, nvidia-smi-topo",
     "trainwire import nccl-topo topo.xml > topologies/mine.yaml", 2, 2, import_options, import_verb},
};

std::string usage() {
  std::string text =
      "trainwire: distributed deep-learning training, simulated or run for real from one scenario file\n\n";
  for (const Verb& verb : verbs) {
    text += fmt::format("  trainwire {:10}{:20}{}{}\n", verb.name, verb.arguments, verb.help,
                        verb.run ? "" : " (not supported yet)");
  }
  text += "\nEverywhere: -o DIR, --set key=value, --json, -q, --help. trainwire VERB --help has an example.\n";
  return text + "Exit status: 0 done, 1 the run failed, 2 bad input.\n";
}

const Verb& find_verb(const std::string& name) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs) {
    if (verb.name == name) return verb;
    names.emplace_back(verb.name);
  }
  throw UsageError(fmt::format("{} is not a verb. {}", name, suggestion(name, names)));
}

options::options_description shown_options(const Verb& verb) {
  options::options_description shown("Options");
  auto add = shown.add_options();
  add("output,o", options::value<std::string>()->value_name("DIR"), "folder for results");
  add("set", options::value<std::vector<std::string>>()->composing()->value_name("KEY=VALUE"),
      "change a value of the scenario (repeatable), e.g. training.sequence=4096");
  add("json", "the result as JSON on standard output, and nothing else there");
  add("quiet,q", "no messages but errors");
  add("help,h", "this text");
  verb.add_options(shown);
  return shown;
}

std::string help(const Verb& verb) {
  std::ostringstream text;
  text << fmt::format("trainwire {} {}\n  {}\n\nExample: {}\n\n", verb.name, verb.arguments, verb.help, verb.example);
  text << shown_options(verb);
  return text.str();
}

// Program_options' own message, and what was perhaps meant.
std::string explained(const options::error& e, const options::options_description& known) {
  std::string text = e.what();
  if (const auto* unknown = dynamic_cast<const options::unknown_option*>(&e)) {
    std::vector<std::string> names;
    for (const auto& option : known.options()) {
      if (!option->long_name().empty() && option->long_name() != "arguments")
        names.push_back("--" + option->long_name());
    }
    text += ". " + suggestion(unknown->get_option_name(), names);
  }
  return text;
}

Call read_call(const Verb& verb, const std::vector<std::string>& command) {
  options::options_description all = shown_options(verb);
  all.add_options()("arguments", options::value<std::vector<std::string>>());
  options::positional_options_description positional;
  positional.add("arguments", -1);
  Call call;
  call.verb = verb.name;
  call.command = command;
  try {
    namespace style = options::command_line_style;
    const std::vector<std::string> rest(command.begin() + 1, command.end());
    options::store(options::command_line_parser(rest)
                       .options(all)
                       .positional(positional)
                       .style(style::unix_style & ~style::allow_guessing)
                       .run(),
                   call.own);
  } catch (const options::error& e) { throw UsageError(explained(e, all)); }
  const auto texts = [&](const char* key) {
    return call.own.count(key) > 0 ? call.own[key].as<std::vector<std::string>>() : std::vector<std::string>{};
  };
  call.positional = texts("arguments");
  call.overrides = texts("set");
  if (call.own.count("output") > 0) call.output = call.own["output"].as<std::string>();
  if (call.own.count("output") > 0 && call.output.empty()) throw UsageError("-o needs the name of a folder");
  call.json = call.own.count("json") > 0;
  call.quiet = call.own.count("quiet") > 0;
  return call;
}

int run(const std::vector<std::string>& command) {
  if (command.empty()) throw UsageError("which verb?\n\n" + usage());
  const std::string& first = command.front();
  if (first == "--help" || first == "-h" || first == "help") return fmt::print("{}", usage()), done;
  if (first == "--version") return fmt::print("trainwire {}\n", TRAINWIRE_VERSION), done;
  const Verb& verb = find_verb(first);
  if (verb.run == nullptr) throw UsageError(fmt::format("{} is not supported yet", verb.name));
  const Call call = read_call(verb, command);
  if (call.own.count("help") > 0) return fmt::print("{}", help(verb)), done;
  const auto given = static_cast<int>(call.positional.size());
  if (given < verb.least || given > verb.most) {
    throw UsageError(fmt::format("{} takes {}, but {} {} given. Example: {}", verb.name,
                                 verb.most == 0 ? "no arguments" : verb.arguments, given, given == 1 ? "was" : "were",
                                 verb.example));
  }
  return verb.run(call);
}

// Of the ranks of a real run one speaks for all about what they all read.
bool speaks() {
#ifdef TRAINWIRE_HAS_CPU
  return cpu::world_rank() == 0;
#else
  return true;
#endif
}

}  // namespace
}  // namespace trainwire

int main(int argc, char** argv) {
  using namespace trainwire;
  try {
    return run({argv + 1, argv + argc});
  } catch (const UsageError& e) {
    if (speaks()) fmt::print(stderr, "trainwire: {}\n", e.what());
    return bad_input;
  } catch (const ConfigError& e) {
    if (speaks()) fmt::print(stderr, "{}\n", e.what());
    return bad_input;
  } catch (const std::exception& e) {
    fmt::print(stderr, "trainwire: {}\n", e.what());
    return failed;
  }
}
