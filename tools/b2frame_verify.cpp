// b2frame verify: decodes all chunks of files, stores and trees, and names each bad one.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"
#include "frame/pystore/python_store.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/remote/url.hpp"
#include "fs/support/printable.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/frame_tree.hpp"
#include "tools/ordered_output.hpp"
#include "tools/remote_files.hpp"
#include "tools/store_address.hpp"
#include "tools/tables/table.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {
namespace {

/// Maximum number of findings in a file's line of JSON. Further findings are only counted.
constexpr std::size_t kMaxFindings = 1000;

/// Returns how many bytes verify -r decodes of a file. Contents rarely compress better than 256
/// times. A file that claims more must not keep the rest of the tree from being verified.
std::int64_t default_limit(std::int64_t stored) {
  constexpr std::int64_t kLeast = std::int64_t{16} << 30, kFactor = 256;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return stored > (kMost - kLeast) / kFactor ? kMost : kLeast + kFactor * stored;
}

int exit_status(Health health) {
  switch (health) {
    case Health::ok:
      return 0;
    case Health::unsupported:
      return kExitUnsupported;
    case Health::too_large:
    case Health::unreadable:
      return kExitUnreadable;
    case Health::no_contents:
    case Health::damaged:
      break;
  }
  return kExitBadData;
}

/// A file that the command line names, or one that was found in a tree.
struct Piece {
  std::uint64_t number = 0;
  std::string shown;
  std::shared_ptr<const FileTree> tree;  ///< null for a named file
  /// The file that was found in `tree`. If `tree` is null: nullopt, or the error of the named file.
  std::optional<TreeFile> file;
};

/// Hands out the files that the command line means, in order. Thread-safe.
class Pieces {
 public:
  Pieces(const VerifyOptions& options, const RemoteFiles& remote)
      : options_(options), remote_(remote) {}

  std::optional<Piece> next() {
    const fs::MutexLock lock(mutex_);
    for (;;) {
      if (tree_) {
        if (auto file = tree_->next()) return Piece{given_++, file->shown, tree_, std::move(file)};
        tree_.reset();
      }
      if (named_ == options_.files.size()) return std::nullopt;
      const std::string& name = options_.files[named_++];
      try {
        tree_ = tree_of(name);
        if (!tree_) return Piece{given_++, name, nullptr, std::nullopt};
      } catch (const std::exception&) {
        return Piece{given_++, name, nullptr,
                     TreeFile{name, {}, nullptr, false, 0, std::current_exception()}};
      }
    }
  }

 private:
  /// Returns null if the name stands for a single file.
  std::shared_ptr<FileTree> tree_of(const std::string& name) const {
    if (!options_.recursive) return nullptr;
    if (frame::is_remote(name)) return remote_.files(name);
    return is_tree(name) ? std::make_shared<FrameTree>(name) : nullptr;
  }

  const VerifyOptions& options_;
  const RemoteFiles& remote_;
  fs::Mutex mutex_{fs::LockLevel::request};
  std::size_t named_ GUARDED_BY(mutex_) = 0;    ///< arguments that were taken
  std::uint64_t given_ GUARDED_BY(mutex_) = 0;  ///< pieces that were handed out
  std::shared_ptr<FileTree> tree_ GUARDED_BY(mutex_);
};

/// Begins a piece in the ordered output, and ends it when destroyed.
class OpenPiece {
 public:
  OpenPiece(std::uint64_t number, OrderedOutput& output) : number_(number), output_(output) {
    output_.begin(number_);
  }
  ~OpenPiece() { output_.end(number_); }
  OpenPiece(const OpenPiece&) = delete;
  OpenPiece& operator=(const OpenPiece&) = delete;

 private:
  const std::uint64_t number_;
  OrderedOutput& output_;
};

/// Reports the findings of one frame of a piece.
class FrameReport {
 public:
  FrameReport(const Piece& piece, const std::string& shown, bool as_json, OrderedOutput& output)
      : piece_(piece), shown_(frame::shown_url(shown)), json_(as_json), output_(output) {}

  void add(const Finding& finding) {
    // A sparse frame that is being removed loses its chunks first. Missing chunks of a frame that
    // has gone by now are not damage.
    if (piece_.tree && piece_.file->object && !piece_.tree->still_exists(*piece_.file)) return;
    worst_ = std::max(worst_, finding.health);
    found_++;
    if (!json_)
      output_.add(piece_.number, stderr, text_of(finding));
    else if (found_ <= kMaxFindings)
      findings_.push_back({{"part", finding.part},
                           {"status", health_name(finding.health)},
                           {"reason", finding.reason}});
  }

  /// Says whether the frame has checksums. Call it for a frame that could be opened.
  void set_checksums(bool has_checksums) { has_checksums_ = has_checksums; }

  /// Returns the worst health that was found. Call it once, at the end.
  Health finish() {
    if (json_) {
      nlohmann::json line = {{"file", shown_},
                             {"status", health_name(worst_)},
                             {"problems", std::move(findings_)},
                             {"problem_count", found_}};
      if (has_checksums_) line["checksums"] = *has_checksums_;
      output_.add(piece_.number, stdout, frame::to_line(line));
    }
    return worst_;
  }

 private:
  std::string text_of(const Finding& finding) const {
    std::string text = finding.health == Health::unsupported ? "unsupported: " : "";
    if (!finding.part.empty()) text += finding.part + ": ";
    return fmt::format("b2frame: {}: {}", fs::printable(shown_),
                       fs::printable(text + finding.reason));
  }

  const Piece& piece_;
  const std::string shown_;
  const bool json_;
  OrderedOutput& output_;
  Health worst_ = Health::ok;
  std::size_t found_ = 0;
  std::optional<bool> has_checksums_;
  nlohmann::json findings_ = nlohmann::json::array();
};

/// The part of the progress bar that stands for one file. The destructor completes it, even after
/// an error.
class Share {
 public:
  Share(std::int64_t size, OrderedOutput& output) : size_(size), output_(output) {}
  ~Share() {
    reach(1);
    output_.count_file(size_, 0);
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  /// Sets the size of a file whose size was not known before it was opened.
  void note_size(std::int64_t size) {
    if (size_ == 0) size_ = size;
  }

  void reach(double part) {
    const auto at = static_cast<std::int64_t>(part * static_cast<double>(size_));
    output_.advance(at - done_);
    done_ = at;
  }

 private:
  std::int64_t size_;
  OrderedOutput& output_;
  std::int64_t done_ = 0;
};

bool is_far_away(const Piece& piece) { return frame::is_remote(piece.shown); }

std::int64_t size_of(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return 0;
  return S_ISDIR(st.st_mode) ? tree_size(path) : st.st_size;
}

/// Returns the bytes of all files to verify, or 0 if there are URLs among them. Looks at each file,
/// so call it only if there is a progress bar.
std::int64_t size_of_all(const VerifyOptions& options) {
  std::int64_t sum = 0;
  if (std::any_of(options.files.begin(), options.files.end(), frame::is_remote)) return 0;
  for (const std::string& name : options.files) {
    try {
      sum += size_of(name);
    } catch (const std::exception&) {
      // verify() reports the error.
    }
  }
  return sum;
}

std::size_t processors() { return std::max(1U, std::thread::hardware_concurrency()); }

bool has_one_file(const VerifyOptions& options) {
  const std::string& first = options.files.front();
  const bool may_be_many = options.recursive && (frame::is_remote(first) || is_tree(first));
  return options.files.size() == 1 && !may_be_many;
}

class Verification {
 public:
  explicit Verification(const VerifyOptions& options)
      : options_(options),
        file_threads_(has_one_file(options) ? 1 : processors()),
        chunk_threads_(has_one_file(options) ? processors() : 1),
        remote_(options.remote),
        pieces_(options, remote_),
        output_("verify", Progress::is_shown() ? size_of_all(options) : 0) {}

  int run() {
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 1; i < file_threads_; i++) workers.emplace_back([this] { work(); });
      work();
    }
    output_.finish();
    if (!options_.json && (options_.recursive || Progress::is_shown())) print_unchecked();
    const fs::MutexLock lock(mutex_);
    // A timer must not report success because the disk with the frames is not mounted.
    if (options_.recursive && !has_found_) {
      complain(options_.files.front(),
               "no frames found: none is committed yet, or the folder is a mount; name the folder "
               "that holds the frames");
      return kExitBadData;
    }
    return exit_status(worst_);
  }

 private:
  enum class WithTables : std::uint8_t { yes, no };
  /// Opens a frame to verify. Returns null for a file that is not a frame.
  using Open = std::function<std::unique_ptr<Input>()>;

  void print_unchecked() const {
    if (unchecked_ == 0) return;
    fmt::print(
        "{} of {} frames have no checksums, so changed bytes can decode unnoticed; "
        "b2frame verify --json names them, b2frame convert --checksum --in-place adds "
        "checksums{}\n",
        unchecked_.load(), frames_.load(),
        has_unchecked_zip_ ? " (b2frame unpack a .b2z store before, and b2frame pack it again)"
                           : "");
  }

  /// Returns whether the frame has checksums, or needs none because it stores no bytes of chunks.
  static bool has_checksums(const Input& input) {
    const frame::Snapshot& snapshot = input.snapshot();
    return input.info().nchunks == 0 || snapshot.all_chunks_special() ||
           !input.info().checksum.empty() || snapshot.has_checksums();
  }

  void work() {
    while (const auto piece = pieces_.next()) {
      const OpenPiece open(piece->number, output_);
      output_.set_file(piece->shown);
      Share share(piece->file ? piece->file->size : size_of(piece->shown), output_);
      const Health health = verify(*piece, share);
      const fs::MutexLock lock(mutex_);
      worst_ = std::max(worst_, health);
    }
  }

  Health verify(const Piece& piece, Share& share) {
    try {
      if (!piece.file) return verify_named(piece, share);
      if (!piece.tree) std::rethrow_exception(piece.file->problem);
      return verify_found(piece, share);
    } catch (const std::exception& error) {
      has_found_ = true;
      FrameReport report(piece, piece.shown, options_.json, output_);
      report.add({"", health_of(error), reason(error, piece.shown)});
      return report.finish();
    }
  }

  Health verify_named(const Piece& piece, Share& share) {
    const std::string& name = piece.shown;
    const Open open = [&] {
      return std::make_unique<Input>(name, options_.chunk, remote_, limits_);
    };
    if (options_.chunk || frame::is_remote(name)) return verify_frame(piece, name, open, share);
    if (const auto address = parse_store_address(name)) {
      const auto store = open_store(address->store);
      const frame::StoreEntry entry = find_entry(*store, *address);
      if (entry.leaf || !entry.is_group) return verify_frame(piece, name, open, share);
      return verify_store(piece, address->store, *store, address->key);
    }
    if (const auto store = find_store(name)) return verify_store(piece, name, *store, "/");
    return verify_snapshot(piece, open_input(name, options_.chunk, remote_), share);
  }

  Health verify_found(const Piece& piece, Share& share) {
    const std::shared_ptr<const frame::Snapshot> snapshot = piece.tree->open(*piece.file);
    if (!snapshot) {
      const auto store = piece.tree->open_zip_store(*piece.file);
      if (store) return verify_store(piece, piece.shown, *store, "/");
      if (piece.tree->still_exists(*piece.file))
        require_no_frame_suffix(piece.file->path, piece.file->stored_size());
      return Health::ok;
    }
    return verify_snapshot(piece, snapshot, share);
  }

  /// Verifies a frame, and the leaves that are embedded in it.
  Health verify_snapshot(const Piece& piece, const std::shared_ptr<const frame::Snapshot>& snapshot,
                         Share& share) {
    const Health health = verify_frame(
        piece, piece.shown, [&] { return std::make_unique<Input>(snapshot, limits_); }, share);
    const auto kind = frame::store_kind(*snapshot);
    if (!kind) return health;
    // The store gets no directory, so that this verifies only embedded leaves. All other leaves are
    // separate files.
    const frame::PythonStore store(*kind, nullptr, snapshot, frame::uncharged());
    const bool is_whole = *kind == frame::StoreKind::embed;
    const Health worst = std::max(
        health,
        verify_store(piece, piece.shown, store, "/", is_whole ? WithTables::yes : WithTables::no));
    return is_whole ? worst : std::max(worst, verify_tables_beside(piece));
  }

  /// Checks the tables of a directory store that -r has found by its embed.b2e.
  Health verify_tables_beside(const Piece& piece) {
    const std::string end = "/" + std::string(frame::kEmbedName);
    if (!piece.tree || is_far_away(piece) || !piece.shown.ends_with(end)) return Health::ok;
    const std::string path = piece.shown.substr(0, piece.shown.size() - end.size());
    const auto store = find_store(path);
    return store ? report_damage(piece, path, problems_of_tables(*store, "/")) : Health::ok;
  }

  std::vector<std::string> problems_of_tables(const frame::PythonStore& store,
                                              const std::string& group) {
    std::vector<std::string> problems;
    for (const TableProblem& problem : table_problems(store, group, limits_))
      problems.push_back(problem.group + ": " + problem.reason);
    return problems;
  }

  /// Reports messages about a whole store.
  Health report_damage(const Piece& piece, const std::string& path,
                       const std::vector<std::string>& messages) {
    if (messages.empty()) return Health::ok;
    FrameReport report(piece, path, options_.json, output_);
    for (const std::string& message : messages) report.add({"", Health::damaged, message});
    return report.finish();
  }

  /// Verifies each leaf on its own, so that a bad leaf does not affect the others.
  Health verify_store(const Piece& piece, const std::string& path, const frame::PythonStore& store,
                      const std::string& group, WithTables with_tables = WithTables::yes) {
    has_found_ = true;
    std::vector<std::string> messages = store.messages();
    // Without checksums of chunks, the ZIP file's own checksums are all that reveals changed bytes.
    if (group == "/") {
      const std::vector<std::string> wrong = store.wrong_members();
      messages.insert(messages.end(), wrong.begin(), wrong.end());
    }
    // The columns of a table may be leaves outside of embed.b2e.
    if (with_tables == WithTables::yes) {
      const std::vector<std::string> problems = problems_of_tables(store, group);
      messages.insert(messages.end(), problems.begin(), problems.end());
    }
    Health worst = report_damage(piece, path, messages);
    store.for_each_leaf(group, [&](const std::string& key, const frame::Leaf& leaf) {
      if (std::holds_alternative<frame::ReferencedLeaf>(leaf)) return;
      const Open open = [&] {
        std::shared_ptr<const frame::Snapshot> snapshot = store.open(leaf);
        return snapshot ? std::make_unique<Input>(std::move(snapshot), limits_) : nullptr;
      };
      Share none(0, output_);
      worst = std::max(worst, verify_frame(piece, path + ":" + key, open, none));
    });
    return worst;
  }

  Health verify_frame(const Piece& piece, const std::string& shown, const Open& open,
                      Share& share) {
    has_found_ = true;
    FrameReport report(piece, shown, options_.json, output_);
    try {
      const auto input = open();
      if (!input) return Health::ok;
      if (is_far_away(piece)) share.note_size(input->info().cbytes);
      Verifier(
          *input, shown, chunk_threads_, [&](const Finding& finding) { report.add(finding); },
          [&](double part) { share.reach(part); }, limit_for(piece, *input))
          .run();
      frames_++;
      const bool is_checked = has_checksums(*input);
      if (!is_checked) unchecked_++;
      if (!is_checked && is_in_zip_store(shown)) has_unchecked_zip_ = true;
      report.set_checksums(is_checked);
    } catch (const std::exception& error) {
      report.add({"", health_of(error), reason(error, piece.shown)});
    }
    return report.finish();
  }

  /// Returns the maximum number of bytes to decode. Without --limit, it depends on the file's
  /// actual size, not on the size that its header claims.
  std::int64_t limit_for(const Piece& piece, const Input& input) const {
    if (options_.limit) return *options_.limit;
    if (!options_.recursive) return std::numeric_limits<std::int64_t>::max();
    const std::int64_t listed = piece.file ? piece.file->size : 0;
    return default_limit(std::max(listed, input.snapshot().stamp().size));
  }

  const VerifyOptions& options_;
  const std::size_t file_threads_, chunk_threads_;  ///< one of them is 1
  RemoteFiles remote_;
  RunLimits limits_;
  Pieces pieces_;
  OrderedOutput output_;
  std::atomic<bool> has_found_{false};          ///< a frame, a store, or a file that should be one
  std::atomic<std::uint64_t> frames_{0};        ///< that could be opened
  std::atomic<std::uint64_t> unchecked_{0};     ///< of them, those without checksums
  std::atomic<bool> has_unchecked_zip_{false};  ///< one of them is in a .b2z store
  fs::Mutex mutex_{fs::LockLevel::request};
  Health worst_ GUARDED_BY(mutex_) = Health::ok;
};

}  // namespace

int run_verify(const VerifyOptions& options) {
  if (options.recursive && options.chunk) throw UsageError("--chunk goes with files, not with -r");
  if (options.repairable) {
    if (options.recursive || options.chunk)
      throw UsageError("--repairable goes with frames that are named, one by one");
    return run_repairable(options);
  }
  return Verification(options).run();
}

}  // namespace bloscfs::tools
