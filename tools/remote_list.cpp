#include "tools/remote_list.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "frame/container/missing_decoder.hpp"
#include "frame/header/msgpack_json.hpp"
#include "frame/header/sframe_format.hpp"
#include "frame/open/open.hpp"
#include "fs/source/naming.hpp"
#include "fs/view/file_view.hpp"
#include "tools/input.hpp"
#include "tools/remote_files.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {
namespace {

/// Objects that are looked at side by side.
constexpr std::size_t kLooksAtOnce = 8;

/// An entry of a directory, and what a look at it found.
struct Looked {
  frame::ObjectEntry entry;
  std::string path;
  fs::ShownAs shown = fs::ShownAs::itself;
  bool is_frame = false;
  std::optional<std::uint64_t> size = std::nullopt;  ///< as it is shown
  std::vector<frame::ObjectEntry> below = {};
  Health health = Health::ok;
  std::string reason = {};  ///< what is wrong, unless ok

  bool is_directory() const { return entry.is_directory && !is_frame; }
};

class RemoteLister {
 public:
  RemoteLister(frame::ObjectTree& tree, bool as_json) : tree_(tree), json_(as_json) {}

  bool complete() const { return complete_; }

  /// What stands in a directory, which is called `path`, and is shown as `prefix`.
  void print(const std::string& path, const std::string& prefix,
             std::vector<frame::ObjectEntry> entries) {
    std::vector<Looked> looked;
    looked.reserve(entries.size());
    for (frame::ObjectEntry& entry : entries) {
      if (fs::is_temporary(entry.name) || fs::is_lock_file(entry.name)) continue;
      std::string below = path.empty() ? entry.name : path + "/" + entry.name;
      looked.push_back({std::move(entry), std::move(below)});
    }
    look_at_all(looked);
    std::vector<fs::NamedEntry> named;
    named.reserve(looked.size());
    for (const Looked& one : looked) named.push_back({one.entry.name, one.shown});
    const std::vector<std::string> names = fs::shown_names(named);
    std::vector<std::pair<std::string, Looked*>> sorted;
    for (std::size_t i = 0; i < looked.size(); i++) sorted.emplace_back(names[i], &looked[i]);
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [name, one] : sorted) {
      print_one(prefix + name, *one);
      if (one->is_directory()) print(one->path, prefix + name + "/", std::move(one->below));
    }
  }

 private:
  void look_at_all(std::vector<Looked>& all) const {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < all.size(); i = next++) look_at(all[i]);
    };
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(kLooksAtOnce, all.size()); i++) others.emplace_back(work);
    work();
  }

  void look_at(Looked& one) const {
    try {
      if (one.entry.is_directory)
        enter(one);
      else
        look_inside(one);
    } catch (const std::exception& error) {
      one.health = health_of(error);
      one.reason = reason(error);
    }
  }

  void enter(Looked& one) const {
    one.below = tree_.list(one.path);
    one.is_frame = std::any_of(one.below.begin(), one.below.end(), [](const auto& entry) {
      return entry.name == frame::kSframeIndexName && !entry.is_directory;
    });
    if (!one.is_frame) return;
    one.shown = fs::promised_by(one.entry.name);
    if (one.shown != fs::ShownAs::array) one.shown = fs::ShownAs::flat;
  }

  void look_inside(Looked& one) const {
    const auto object = tree_.open(one.path, nullptr);
    one.size = object->state().size;
    // An empty file may be a frame that is being made.
    if (one.size == 0) return;
    const auto snapshot = frame::open_file(object, {});
    if (!snapshot) return;
    const fs::ViewShape shape = fs::view_shape(snapshot->info(), false);
    one.shown = shape.is_array ? fs::ShownAs::array : fs::ShownAs::flat;
    one.is_frame = true;
    one.size = shape.file_size();
    const auto missing = frame::missing_decoder(*snapshot);
    if (!missing) return;
    one.health = Health::unsupported;
    one.reason = json_ ? *missing : "unsupported: " + *missing;
  }

  void print_one(const std::string& shown, const Looked& one) {
    const bool is_directory = one.is_directory();
    if (is_directory && one.health != Health::ok) complete_ = false;
    if (!json_) {
      fmt::print("{}{}\n", shown, is_directory ? "/" : "");
      if (one.health != Health::ok) complain(shown, one.reason);
      return;
    }
    nlohmann::json line = {{"name", shown},
                           {"stored", one.path},
                           {"type", is_directory ? "directory" : "file"},
                           {"frame", one.is_frame},
                           {"status", health_name(one.health)}};
    if (one.size) line["nbytes"] = *one.size;
    if (one.health != Health::ok) line["reason"] = one.reason;
    fmt::print("{}\n", frame::to_line(line));
  }

  frame::ObjectTree& tree_;
  const bool json_;
  bool complete_ = true;
};

}  // namespace

int list_remote(const ListOptions& options) {
  const auto tree = RemoteFiles(options.remote).tree(options.directory);
  RemoteLister lister(*tree, options.json);
  const auto& single = tree->single();
  lister.print(
      "", "",
      single ? std::vector<frame::ObjectEntry>{{*single, false, std::nullopt}} : tree->list(""));
  return lister.complete() ? 0 : kExitBadData;
}

}  // namespace bloscfs::tools
