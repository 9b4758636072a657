// What is wrong with the input: every problem of a file is collected, then thrown at once as one ConfigError.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace trainwire {

// A place in a file that a person wrote. line 0: no line (the command line, or a whole file).
struct Where {
  std::string file;
  int line = 0;
};

// "file:line: key = value: problem. fix"   (key, value and fix may be empty)
struct Problem {
  Where where;
  std::string key, value, problem, fix;
};
std::string to_text(const Problem&);

// Bad input. what() has one line a problem. The front end prints it and exits with status 2.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(const std::vector<Problem>& problems);
};

// The collector that everything which reads input appends to.
class Problems {
 public:
  void add(Problem problem) { problems_.push_back(std::move(problem)); }
  bool empty() const { return problems_.empty(); }
  const std::vector<Problem>& all() const { return problems_; }
  void throw_if_any() const;  // ConfigError with all of them

 private:
  std::vector<Problem> problems_;
};

// The known names nearest to `name` by edit distance, best first, at most three; empty when none is near.
std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& known);
// "Did you mean a or b?" or, when none is near, "Known: a, b, c."
std::string suggestion(const std::string& name, const std::vector<std::string>& known);

}  // namespace trainwire
