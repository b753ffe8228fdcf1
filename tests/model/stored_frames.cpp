#include "tests/model/stored_frames.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <string_view>
#include <vector>

#include "tests/model/trees.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {

namespace {

constexpr std::string_view kFrameMagic(
    "\x9e\xa8"
    "b2frame\0",
    10);

bool starts_as_frame(const fs_std::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string start(kFrameMagic.size(), '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  return in && start == kFrameMagic;
}

bool is_container(const fs_std::path& path) {
  const auto status = fs_std::symlink_status(path);
  if (fs_std::is_directory(status)) return fs_std::exists(path / "chunks.b2frame");
  return fs_std::is_regular_file(status) && starts_as_frame(path);
}

bool is_sidecar(const fs_std::path& path) { return path.extension() == ".b2lock"; }

/// Returns the names under which a container of SOURCE may be shown.
std::vector<std::string> shown_names(const std::string& stored) {
  const fs_std::path name(stored);
  static const std::set<std::string> suffixes = {".b2frame", ".b2f", ".b2", ".b2nd"};
  const std::string stem = suffixes.count(name.extension()) != 0 ? name.stem().string() : stored;
  return {stem, stem + ".npy", stored, stored + ".npy"};
}

class Inspection {
 public:
  Inspection(const fs_std::path& source, const fs_std::path& model)
      : source_(source), model_(model) {}

  std::string run() {
    look_below({});
    verify();
    return problem_;
  }

 private:
  void complain(const std::string& text) { problem_ += text + "\n"; }

  void look_below(const fs_std::path& directory) {
    std::set<std::string> missing = names_in(model_ / directory);
    for (const auto& name : names_in(source_ / directory)) {
      const fs_std::path path = source_ / directory / name;
      if (is_sidecar(path)) continue;
      if (is_container(path))
        match_container(directory, name, missing);
      else
        match_other(directory, name, missing);
    }
    for (const auto& name : missing) complain("not in SOURCE: " + (directory / name).string());
  }

  void match_container(const fs_std::path& directory, const std::string& name,
                       std::set<std::string>& missing) {
    const fs_std::path path = source_ / directory / name;
    containers_.push_back(path.string());
    std::string seen;
    for (const auto& shown : shown_names(name)) {
      if (missing.count(shown) == 0) continue;
      const std::string difference = difference_of_contents(path, model_ / directory / shown);
      if (difference.empty()) {
        missing.erase(shown);
        return;
      }
      seen += " " + shown + " (" + difference + ")";
    }
    complain(path.string() + " holds no file of the model:" + seen);
  }

  void match_other(const fs_std::path& directory, const std::string& name,
                   std::set<std::string>& missing) {
    const fs_std::path path = source_ / directory / name;
    if (missing.erase(name) == 0) return complain("left behind: " + path.string());
    const auto type = fs_std::symlink_status(path).type();
    if (type != fs_std::symlink_status(model_ / directory / name).type())
      return complain("another type: " + path.string());
    if (type == fs_std::file_type::directory) return look_below(directory / name);
    if (type != fs_std::file_type::regular) return;
    if (read_file(path) != read_file(model_ / directory / name))
      complain("other contents: " + path.string());
  }

  std::string difference_of_contents(const fs_std::path& container, const fs_std::path& model) {
    if (!fs_std::is_regular_file(fs_std::symlink_status(model))) return "no file";
    const ByteVector expected = read_file(model);
    std::string difference;
    // An array may have taken the place of a flat frame, so its name does not show that it is an
    // array.
    for (const char* name : {"out", "out.npy"}) {
      const fs_std::path out = scratch_ / name;
      const auto result = run_b2frame({"extract", container.string(), "-o", out.string()});
      difference = result.ok() ? first_difference(expected, read_file(out)) : result.description();
      if (difference.empty() || model.extension() != ".npy") break;
    }
    return difference;
  }

  void verify() {
    if (containers_.empty()) return;
    Arguments arguments = containers_;
    arguments.insert(arguments.begin(), "verify");
    const auto result = run_b2frame(std::move(arguments));
    if (!result.ok()) complain("b2frame verify: " + result.description());
  }

  static ProcessResult run_b2frame(Arguments arguments) {
    arguments.insert(arguments.begin(), b2frame_program());
    return bloscfs::test::run(arguments);
  }

  const fs_std::path source_, model_;
  const TempDir scratch_;
  std::vector<std::string> containers_;
  std::string problem_;
};

}  // namespace

std::string problem_in_source(const fs_std::path& source, const fs_std::path& model) {
  return Inspection(source, model).run();
}

}  // namespace bloscfs::test
