// b2frame ls: lists what a mount would show, with contents and storage of each entry.

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/remote/url.hpp"
#include "fs/source/naming.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/file_view.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/frame_tree.hpp"
#include "tools/input.hpp"
#include "tools/remote_files.hpp"
#include "tools/shown_tree.hpp"
#include "tools/size_text.hpp"
#include "tools/store_address.hpp"
#include "tools/text_columns.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {
namespace {

/// Maximum number of characters of a dtype in the table. --json shows all.
constexpr std::size_t kMaxDtype = 24;
constexpr const char* kNothing = "-";

TextColumns table() {
  using enum Align;
  return {
      {left, left, left, left, right, right, right, left, left},
      {"SHAPE", "DTYPE", "CODEC", "FILTERS", "CONTENTS", "STORED", "RATIO", "MODIFIED", "NAME"}};
}

std::optional<std::string> computed(const frame::FrameInfo& info, const char* name) {
  return fs::computed_value(info, std::string(fs::kAttributePrefix) + name);
}

/// Stored size and modification time of a file, or of all files of a sparse frame together.
struct Storage {
  std::int64_t bytes = 0;
  std::int64_t modified = 0;  ///< seconds since 1970; 0: not known
};

Storage storage_of(const frame::Snapshot& snapshot, std::int64_t file_bytes) {
  const std::int64_t bytes = file_bytes > 0 ? file_bytes : snapshot.info().frame_len;
  return {bytes, snapshot.stamp().mtime_s};
}

using BreakDown = std::tm* (*)(const std::time_t*, std::tm*);

/// Formats a time as local time or as UTC, depending on `break_down`. Returns "-" for an unknown
/// time.
std::string time_text(std::int64_t seconds, BreakDown break_down = ::localtime_r,
                      const char* form = "%Y-%m-%dT%H:%M") {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (seconds == 0 || break_down(&time, &parts) == nullptr) return kNothing;
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), form, &parts)};
}

void add_time(std::int64_t seconds, nlohmann::json& line) {
  if (seconds != 0) line["modified"] = time_text(seconds, ::gmtime_r, "%Y-%m-%dT%H:%M:%SZ");
}

constexpr std::string_view kDirectory = "directory", kTable = "ctable";

/// The name of an entry, on the command line and in a mount.
struct Name {
  std::string stored;  ///< DIR/a.b2nd
  std::string shown;   ///< DIR/a.npy; empty if not known

  /// Returns "DIR/a.b2nd -> a.npy" if the two names differ, with `end` behind each name.
  std::string text(const char* end) const {
    if (shown.empty() || shown == stored) return stored + end;
    return stored + end + " -> " + shown.substr(shown.rfind('/') + 1) + end;
  }
};

class Lines {
 public:
  explicit Lines(const LsOptions& options) : options_(options), table_(table()) {}

  void add(const Name& name, const frame::Snapshot& snapshot, const Storage& storage,
           const Readable& readable = {}) {
    const frame::FrameInfo& info = snapshot.info();
    const std::int64_t contents = fs::view_shape(info, true).content_size;
    if (options_.json) return print_json(name, info, contents, storage, readable);
    add_row(name, info, contents, storage);
    if (readable.health == Health::unsupported)
      complain(name.stored, "unsupported: " + readable.reason);
    else if (readable.health != Health::ok)
      complain(name.stored, readable.reason);
  }

  void add_directory(const Name& name, std::int64_t modified) {
    add_other(name, kDirectory, std::nullopt, modified);
  }

  /// Adds a line for a table, or for an entry that is not a frame. Only files have a `size`, in
  /// bytes.
  void add_other(const Name& name, std::string_view kind, std::optional<std::int64_t> size,
                 std::int64_t modified) {
    if (options_.json) {
      nlohmann::json line = {{"file", name.stored}, {"kind", kind}, {"status", "ok"}};
      if (!name.shown.empty()) line["shown"] = name.shown;
      if (size) line["contents"] = line["stored"] = *size;
      add_time(modified, line);
      return print(line);
    }
    const std::string bytes = size ? bytes_text(*size) : kNothing;
    const char* const end = kind == kDirectory ? "/" : "";
    const std::string type(kind == kTable ? kTable : kNothing);
    add_cells({kNothing, type, kNothing, kNothing, bytes, bytes, kNothing, time_text(modified),
               name.text(end)});
  }

  /// `file` has the attributes if the name is that of a file, which then has a row; else null.
  void add_problem(const Name& name, const std::exception& error, const struct stat* file) {
    has_problems_ = true;
    const std::string status = health_name(health_of(error));
    if (options_.json) {
      nlohmann::json line = {
          {"file", name.stored}, {"status", status}, {"reason", reason(error, name.stored)}};
      if (file != nullptr) {
        if (!name.shown.empty()) line["shown"] = name.shown;
        line["stored"] = file->st_size;
        add_time(file->st_mtime, line);
      }
      return print(line);
    }
    if (file != nullptr)
      add_cells({kNothing, status, kNothing, kNothing, kNothing, bytes_text(file->st_size),
                 kNothing, time_text(file->st_mtime), name.text("")});
    complain(name.stored, reason(error, name.stored));
  }

  int finish() {
    if (has_rows_) fmt::print("{}", table_.take());
    return has_problems_ ? kExitBadData : 0;
  }

 private:
  void add_cells(const std::vector<std::string>& cells) {
    table_.add(cells);
    has_rows_ = true;
    if (table_.is_full()) fmt::print("{}", table_.take());
  }

  static void print(const nlohmann::json& line) { fmt::print("{}\n", frame::to_line(line)); }

  static void print_json(const Name& name, const frame::FrameInfo& info, std::int64_t contents,
                         const Storage& storage, const Readable& readable) {
    nlohmann::json line;
    line["file"] = name.stored;
    if (!name.shown.empty()) line["shown"] = name.shown;
    line["kind"] = info.kind_name();
    line["status"] = health_name(readable.health);
    if (readable.health != Health::ok) line["reason"] = readable.reason;
    if (info.array) line["shape"] = info.array->shape;
    if (info.array && info.array->dtype) line["dtype"] = *info.array->dtype;
    line["typesize"] = info.typesize;
    line["items"] = contents / info.typesize;
    if (info.codec) {
      line["codec"] = *computed(info, "codec");
      line["clevel"] = info.clevel;
      line["filters"] = *computed(info, "filters");
    }
    line["contents"] = contents;
    line["stored"] = storage.bytes;
    if (storage.bytes > 0) line["ratio"] = ratio(contents, storage.bytes);
    add_time(storage.modified, line);
    print(line);
  }

  static double ratio(std::int64_t contents, std::int64_t stored) {
    return static_cast<double>(contents) / static_cast<double>(stored);
  }

  std::string bytes_text(std::int64_t bytes) const {
    return options_.human ? size_text(static_cast<double>(bytes)) : std::to_string(bytes);
  }

  /// Returns a text without blanks, so that other programs can split the columns.
  static std::string dtype_text(const frame::FrameInfo& info) {
    std::string text = computed(info, "dtype").value_or(std::to_string(info.typesize));
    std::erase(text, ' ');
    if (text.size() > kMaxDtype) text = text.substr(0, kMaxDtype - 3) + "...";
    return text;
  }

  static std::string filters_text(const frame::FrameInfo& info) {
    if (!info.codec) return kNothing;
    std::string text = *computed(info, "filters");
    std::replace(text.begin(), text.end(), ',', '+');
    return text.empty() ? "none" : text;
  }

  void add_row(const Name& name, const frame::FrameInfo& info, std::int64_t contents,
               const Storage& storage) {
    std::string shape = computed(info, "shape").value_or(std::to_string(contents / info.typesize));
    if (shape.empty()) shape = "()";
    add_cells({std::move(shape), dtype_text(info),
               info.codec ? fmt::format("{}-{}", *computed(info, "codec"), info.clevel) : kNothing,
               filters_text(info), bytes_text(contents), bytes_text(storage.bytes),
               storage.bytes > 0 ? fmt::format("{:.2f}", ratio(contents, storage.bytes)) : kNothing,
               time_text(storage.modified), name.text("")});
  }

  const LsOptions& options_;
  TextColumns table_;
  bool has_rows_ = false;
  bool has_problems_ = false;
};

class Listing {
 public:
  explicit Listing(const LsOptions& options)
      : options_(options), remote_(options.remote), lines_(options) {}

  int run() {
    if (options_.files.empty()) attempt({".", {}}, [&] { show("."); });
    for (const std::string& file : options_.files)
      attempt({frame::shown_url(file), {}}, [&] { show(file); });
    return lines_.finish();
  }

 private:
  /// Runs `work`. If it throws, adds a line with the problem.
  template <typename Work>
  void attempt(const Name& name, const Work& work, const struct stat* file = nullptr) {
    try {
      work();
    } catch (const std::exception& error) {
      lines_.add_problem(name, error, file);
    }
  }

  void show(const std::string& file) {
    ShownTree::Settings settings;
    settings.logs_verdicts = false;
    if (!options_.recursive) settings.below = Subdirectories::give;
    const auto address = parse_any_address(file);
    if (address) settings.key = address->key;
    const std::string source = address ? address->store : file;
    ShownTree tree(source, remote_, settings);
    if (address && !tree.is_store()) codec::throw_malformed("not a store of python-blosc2");
    bool is_empty = true;
    while (const auto entry = tree.next()) {
      const std::string key = entry->key.empty() ? "/" : entry->key;
      if (!entry->problem && key.size() >= settings.key.size() && tree.is_table(*entry))
        lines_.add_other(name_of(tree, *entry, source), kTable, std::nullopt, entry->st.st_mtime);
      if (entry->path.empty() && !entry->problem) continue;
      // A group above the requested key does not show that the key exists.
      if (entry->problem || key.size() >= settings.key.size()) is_empty = false;
      const Name name = name_of(tree, *entry, source);
      const bool is_file = !entry->problem && S_ISREG(entry->st.st_mode);
      attempt(
          name, [&] { show_entry(tree, *entry, name); }, is_file ? &entry->st : nullptr);
    }
    if (address && is_empty && address->key != "/") refuse_key(*address);
  }

  Name name_of(const ShownTree& tree, const ShownEntry& entry, const std::string& source) const {
    const std::string told = frame::shown_url(source);
    if (entry.path.empty()) return {told, {}};
    // Without arguments, names in the working directory have no prefix, as in ls.
    const std::string prefix = options_.files.empty() ? ""
                               : told.ends_with('/')  ? told
                                                      : told + '/';
    if (tree.is_store()) return {told + ':' + entry.key, prefix + entry.path};
    const bool is_whole = frame::is_remote(source) && !entry.problem;
    if (tree.is_single())
      return {is_whole ? entry.stored : told, told.substr(0, told.rfind('/') + 1) + entry.path};
    return {is_whole ? entry.stored : prefix + entry.stored, prefix + entry.path};
  }

  void show_entry(ShownTree& tree, const ShownEntry& entry, const Name& name) {
    if (entry.problem) std::rethrow_exception(entry.problem);
    const mode_t type = entry.st.st_mode & S_IFMT;
    if (type == S_IFDIR) {
      if (!tree.enters_directories()) lines_.add_directory(name, entry.st.st_mtime);
      return;
    }
    if (type == S_IFLNK) return lines_.add_other(name, "symlink", std::nullopt, entry.st.st_mtime);
    if (type != S_IFREG) return lines_.add_other(name, "special", std::nullopt, entry.st.st_mtime);
    const fs::StoredForm form = tree.stored_form(entry);
    if (form.frame)
      return lines_.add(name, *form.frame, storage_of(*form.frame, form.bytes),
                        tree.readable(form));
    require_no_frame_suffix(entry.full_name, entry.st.st_size);
    // A plain file is not a leaf of the store, so it has no key. Its shown name stands in place of
    // STORE:/KEY.
    lines_.add_other(tree.is_store() ? Name{name.shown, name.shown} : name, "plain",
                     entry.st.st_size, entry.st.st_mtime);
  }

  const LsOptions& options_;
  RemoteFiles remote_;
  Lines lines_;
};

}  // namespace

int run_ls(const LsOptions& options) { return Listing(options).run(); }

}  // namespace bloscfs::tools
