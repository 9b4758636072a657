// What the verbs of the command share: the parsed command line, the table's row, and the verbs themselves.
#pragma once
#include <boost/program_options.hpp>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace trainwire {

namespace options = boost::program_options;

// Exit status of the command.
enum Status { done = 0, failed = 1, bad_input = 2 };

// Bad use of the command line: one line for a person; status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Call {
  std::string verb;
  std::vector<std::string> command;     // the whole command line without the program, to start it again
  std::vector<std::string> positional;  // scenario, folders
  std::vector<std::string> overrides;   // --set
  std::filesystem::path output;         // -o; empty: the verb's default
  bool json = false, quiet = false;
  options::variables_map own;  // the verb's own options
};

struct Verb {
  const char* name;
  const char* arguments;  // as the help shows them
  const char* help;       // one line
  const char* example;
  int least, most;  // positional arguments
  void (*add_options)(options::options_description&);
  int (*run)(const Call&);  // nullptr: not supported yet
};

void explain_options(options::options_description&);
void simulate_options(options::options_description&);
void execute_options(options::options_description&);
void calibrate_options(options::options_description&);
void import_options(options::options_description&);
void score_options(options::options_description&);

int explain(const Call&);
int simulate_verb(const Call&);
int execute_verb(const Call&);
int compare_verb(const Call&);
int calibrate_verb(const Call&);
int plot(const Call&);
int import_verb(const Call&);
int score_verb(const Call&);

}  // namespace trainwire
