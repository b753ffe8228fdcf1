// b2frame report: writes an HTML page about frames.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "frame/remote/open_remote.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"
#include "tools/output_file.hpp"
#include "tools/output_name.hpp"
#include "tools/promised_format.hpp"
#include "tools/remote_files.hpp"
#include "tools/report/page.hpp"
#include "tools/report/table_section.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// Maximum number of leaves of one store that get a section. If a store has more, a message says
/// how many.
constexpr std::size_t kMostLeaves = 64;

/// False for a leaf that is not a frame. True for a leaf that cannot be opened, because it may be a
/// damaged frame.
bool may_be_frame(const frame::PythonStore& store, const frame::Leaf& leaf) {
  try {
    return store.open(leaf) != nullptr;
  } catch (const std::exception&) {
    return true;
  }
}

class Reporter {
 public:
  explicit Reporter(const ReportOptions& options) : options_(options), remote_(options.remote) {}

  int run() {
    require_replaceable(options_.output, OutputKind::markup);
    for (const std::string& file : options_.files)
      for (const Shown& shown : shown_of(file)) add(shown);
    // A page without content must not replace an existing page.
    if (!is_worth_writing_) return status_;
    OutputFile out(options_.output);
    page_.write(options_.program, out);
    out.commit();
    return status_;
  }

 private:
  /// A frame, or a table, that gets a section.
  struct Shown {
    std::string name;
    bool is_table = false;
  };

  /// Returns the file itself, or the tables and frames of a store or of a group in it.
  std::vector<Shown> shown_of(const std::string& file) {
    if (frame::is_remote(file)) return {{file}};
    try {
      const auto address = parse_store_address(file);
      const auto store = address ? open_store(address->store) : find_any_store(file);
      if (!store) return {{file}};
      const std::string group = address ? address->key : "/";
      if (address && find_entry(*store, *address).leaf) return {{file}};
      for (const std::string& message : store->messages()) fail(file, message);
      return leaves_of(address ? address->store : file, *store, group);
    } catch (const std::exception&) {
      return {{file}};  // its section reports the error
    }
  }

  /// Returns the tables and frames of a group. Tables come before the frames that they consist of.
  std::vector<Shown> leaves_of(const std::string& path, const frame::PythonStore& store,
                               const std::string& group) {
    std::vector<Shown> tables, leaves;
    std::size_t count = 0;
    store.for_each_leaf(group, [&](const std::string& key, const frame::Leaf& leaf) {
      if (std::holds_alternative<frame::ReferencedLeaf>(leaf)) return;
      if (count < kMostLeaves) {
        if (!may_be_frame(store, leaf)) return;
        leaves.push_back({path + ":" + key});
      }
      count++;
      if (const auto table = table_of(store, key); table && tables.size() < kMostLeaves)
        tables.push_back({path + ":" + *table, true});
    });
    if (count == 0) fail(path, "has no frames");
    if (count > kMostLeaves)
      complain(path,
               fmt::format("has {} frames: the first {} are in the report", count, kMostLeaves));
    tables.insert(tables.end(), leaves.begin(), leaves.end());
    return tables;
  }

  /// Returns the group of a table if `key` is that of its leaf /_meta; otherwise nullopt.
  static std::optional<std::string> table_of(const frame::PythonStore& store,
                                             const std::string& key) {
    constexpr std::string_view kMeta = "/_meta";
    if (!key.ends_with(kMeta)) return std::nullopt;
    const std::string group =
        key.size() == kMeta.size() ? "/" : key.substr(0, key.size() - kMeta.size());
    return store.group_kind(group) == "ctable" ? std::optional(group) : std::nullopt;
  }

  void add(const Shown& shown) {
    throw_if_interrupted();
    Section section = make(shown);
    if (section.health != Health::ok) fail(shown.name, section.summary);
    is_worth_writing_ = is_worth_writing_ || section.has_content;
    page_.add(section);
  }

  Section make(const Shown& shown) {
    const std::string& file = shown.name;
    const std::string id = page_.next_id();
    try {
      if (shown.is_table) return table_section(file, limits_);
      Input input(file, false, remote_, limits_, Checksums::ignore);
      return frame_section(file, id, input);
    } catch (const Interrupted&) {
      throw;
    } catch (const UsageError&) {
      throw;
    } catch (const std::exception& error) {
      return remains_section(file, id, error);
    }
  }

  void fail(const std::string& file, const std::string& what) {
    complain(file, what);
    status_ = kExitBadData;
  }

  const ReportOptions& options_;
  RemoteFiles remote_;
  RunLimits limits_;
  Page page_;
  bool is_worth_writing_ = false;
  int status_ = 0;
};

}  // namespace

int run_report(const ReportOptions& options) {
  for (const std::string& file : options.files)
    if (same_file(file, options.output)) throw UsageError(file + ": the report would replace it");
  return guarded(options.output, [&] { return Reporter(options).run(); });
}

}  // namespace bloscfs::tools
