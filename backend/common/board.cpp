#include "backend/common/board.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace trainwire {
namespace {

std::string names_file(const std::string& folder, Rank rank) { return fmt::format("{}/{}.names", folder, rank); }
std::string place_file(const std::string& folder, Rank rank) { return fmt::format("{}/{}.place", folder, rank); }

}  // namespace

Board::Board(const Program& program, Rank rank) {
  const char* folder = std::getenv("TRAINWIRE_BOARD");
  if (folder == nullptr) return;
  const int file = open(place_file(folder, rank).c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0) return;
  if (ftruncate(file, sizeof(OpId)) == 0) {
    void* memory = mmap(nullptr, sizeof(OpId), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) place_ = static_cast<volatile OpId*>(memory);
  }
  close(file);
  std::ofstream names(names_file(folder, rank));
  for (const Op& op : program.ops) names << op_name(program, op) << '\n';
}

Board::~Board() {
  if (place_ != nullptr) munmap(const_cast<OpId*>(place_), sizeof(OpId));
}

BoardFolder::BoardFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "trainwire-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

BoardFolder::~BoardFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string BoardFolder::last_seen(int world_size) const {
  std::string text;
  for (Rank rank = 0; rank < world_size; ++rank) {
    std::ifstream place(place_file(path_, rank), std::ios::binary), names(names_file(path_, rank));
    OpId op = 0;
    if (!place.read(reinterpret_cast<char*>(&op), sizeof op)) continue;
    std::string name;
    for (OpId line = 0; line <= op && std::getline(names, name); ++line) {}
    text += fmt::format("rank {} was in {}\n", rank, name);
  }
  return text;
}

}  // namespace trainwire
