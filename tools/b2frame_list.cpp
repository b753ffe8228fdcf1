// b2frame list: the names that a mount would show, without mounting.

#include <algorithm>
#include <string>
#include <system_error>

#include <fmt/core.h>
#include <sys/stat.h>

#include "fs/classifier.hpp"
#include "fs/filesystem.hpp"
#include "fs/source_root.hpp"
#include "fs/tree.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/ended_mounts.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {
namespace {

class Lister {
 public:
  explicit Lister(fs::MountSource source)
      : root_(std::move(source.root)),
        classifier_(root_, false, nullptr),
        tree_(root_, classifier_, std::move(source.single), {}) {}

  /// Prints what is below a directory that is shown as `prefix`, sorted by name.
  void print(fs::NodeId directory, const std::string& prefix) {
    auto entries = tree_.list(directory);
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.shown_name < b.shown_name; });
    for (const auto& entry : entries) {
      const bool is_directory = S_ISDIR(entry.type);
      fmt::print("{}{}{}\n", prefix, entry.shown_name, is_directory ? "/" : "");
      if (!is_directory) continue;
      const auto found = tree_.enter(directory, entry);
      if (!found) continue;
      print_readable(found->id, prefix + entry.shown_name + "/");
      tree_.forget(found->id, 1);
    }
  }

  bool complete() const { return complete_; }

 private:
  void print_readable(fs::NodeId directory, const std::string& prefix) {
    try {
      print(directory, prefix);
    } catch (const std::system_error& error) {
      complain(prefix, reason(error));
      complete_ = false;
    }
  }

  fs::SourceRoot root_;
  fs::Classifier classifier_;
  fs::Tree tree_;
  bool complete_ = true;
};

}  // namespace

int run_list(const ListOptions& options) {
  return guarded(options.directory, [&] {
    wait_for_ended_mounts(options.directory);
    Lister lister(fs::open_source(options.directory, false));
    lister.print(fs::kRootId, "");
    return lister.complete() ? 0 : kExitBadData;
  });
}

}  // namespace bloscfs::tools
