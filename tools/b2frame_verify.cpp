// b2frame verify: decodes every chunk of files and trees completely and names each one that is bad.

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"
#include "fs/support/printable.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/frame_tree.hpp"
#include "tools/ordered_output.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {
namespace {

/// Findings of one file that its line of JSON has; of more only the number is told.
constexpr std::size_t kMaxFindings = 1000;

int exit_status(Health health) {
  switch (health) {
    case Health::ok:
      return 0;
    case Health::unsupported:
      return kExitUnsupported;
    case Health::unreadable:
      return kExitUnreadable;
    case Health::no_contents:
    case Health::damaged:
      break;
  }
  return kExitBadData;
}

/// A file that was named, or one of a tree.
struct Piece {
  std::uint64_t number = 0;
  std::string shown;
  std::shared_ptr<const FrameTree> tree;  ///< null: named
  std::optional<TreeFile> file;           ///< of the tree
};

/// Gives out the files that the command line means, in order. Thread-safe.
class Pieces {
 public:
  explicit Pieces(const VerifyOptions& options) : options_(options) {}

  std::optional<Piece> next() {
    const fs::MutexLock lock(mutex_);
    for (;;) {
      if (tree_) {
        if (auto file = tree_->next()) return Piece{given_++, file->shown, tree_, std::move(file)};
        tree_.reset();
      }
      if (named_ == options_.files.size()) return std::nullopt;
      const std::string& name = options_.files[named_++];
      if (!options_.recursive || !is_tree(name))
        return Piece{given_++, name, nullptr, std::nullopt};
      try {
        tree_ = std::make_shared<FrameTree>(name);
      } catch (const std::exception&) {
        return Piece{given_++, name, nullptr,
                     TreeFile{name, {}, nullptr, false, 0, std::current_exception()}};
      }
    }
  }

 private:
  const VerifyOptions& options_;
  fs::Mutex mutex_;
  std::size_t named_ GUARDED_BY(mutex_) = 0;
  std::uint64_t given_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<FrameTree> tree_ GUARDED_BY(mutex_);
};

/// What is said of one piece.
class PieceReport {
 public:
  PieceReport(const Piece& piece, bool as_json, OrderedOutput& output)
      : piece_(piece), json_(as_json), output_(output) {
    output_.begin(piece_.number);
  }
  ~PieceReport() { output_.end(piece_.number); }
  PieceReport(const PieceReport&) = delete;
  PieceReport& operator=(const PieceReport&) = delete;

  void add(const Finding& finding) {
    // A sparse frame that is removed meanwhile loses its chunks first.
    if (piece_.tree && piece_.file->object && !piece_.tree->is_there(*piece_.file)) return;
    worst_ = std::max(worst_, finding.health);
    found_++;
    if (!json_)
      output_.add(piece_.number, stderr, text_of(finding));
    else if (found_ <= kMaxFindings)
      findings_.push_back({{"part", finding.part},
                           {"status", health_name(finding.health)},
                           {"reason", finding.reason}});
  }

  void add_line() {
    if (!json_) return;
    nlohmann::json line = {{"file", piece_.shown},
                           {"status", health_name(worst_)},
                           {"problems", std::move(findings_)},
                           {"problem_count", found_}};
    output_.add(piece_.number, stdout, frame::to_line(line));
  }

  Health worst() const { return worst_; }

 private:
  std::string text_of(const Finding& finding) const {
    std::string text = finding.health == Health::unsupported ? "unsupported: " : "";
    if (!finding.part.empty()) text += finding.part + ": ";
    return fmt::format("b2frame: {}: {}", fs::printable(piece_.shown),
                       fs::printable(text + finding.reason));
  }

  const Piece& piece_;
  const bool json_;
  OrderedOutput& output_;
  Health worst_ = Health::ok;
  std::size_t found_ = 0;
  nlohmann::json findings_ = nlohmann::json::array();
};

/// Tells how many bytes more are done, whatever a file turns out to be.
class Share {
 public:
  Share(std::int64_t size, OrderedOutput& output) : size_(size), output_(output) {}
  ~Share() { reach(1); }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  void reach(double part) {
    const auto at = static_cast<std::int64_t>(part * static_cast<double>(size_));
    output_.advance(at - done_);
    done_ = at;
  }

 private:
  const std::int64_t size_;
  OrderedOutput& output_;
  std::int64_t done_ = 0;
};

std::int64_t size_of(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return 0;
  return S_ISDIR(st.st_mode) ? tree_size(path) : st.st_size;
}

/// Bytes of all that is to be verified; costs a look at each file, and so is asked for the bar
/// alone.
std::int64_t size_of_all(const VerifyOptions& options) {
  std::int64_t sum = 0;
  for (const std::string& name : options.files) {
    try {
      sum += size_of(name);
    } catch (const std::exception&) {
      // The verification itself tells.
    }
  }
  return sum;
}

std::size_t processors() { return std::max(1U, std::thread::hardware_concurrency()); }

bool has_one_file(const VerifyOptions& options) {
  return options.files.size() == 1 && !(options.recursive && is_tree(options.files.front()));
}

class Verification {
 public:
  explicit Verification(const VerifyOptions& options)
      : options_(options),
        file_threads_(has_one_file(options) ? 1 : processors()),
        chunk_threads_(has_one_file(options) ? processors() : 1),
        pieces_(options),
        output_("verify", Progress::is_shown() ? size_of_all(options) : 0) {}

  int run() {
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 1; i < file_threads_; i++) workers.emplace_back([this] { work(); });
      work();
    }
    const fs::MutexLock lock(mutex_);
    return exit_status(worst_);
  }

 private:
  void work() {
    while (const auto piece = pieces_.next()) {
      PieceReport report(*piece, options_.json, output_);
      verify(*piece, report);
      const fs::MutexLock lock(mutex_);
      worst_ = std::max(worst_, report.worst());
    }
  }

  void verify(const Piece& piece, PieceReport& report) {
    try {
      Share share(piece.file ? piece.file->size : size_of(piece.shown), output_);
      const auto input = open(piece);
      if (!input) return;
      Verifier(
          *input, chunk_threads_, [&](const Finding& finding) { report.add(finding); },
          [&](double part) { share.reach(part); })
          .run();
    } catch (const std::exception& error) {
      report.add({"", health_of(error), reason(error)});
    }
    report.add_line();
  }

  /// Null for a file of a tree that is no frame.
  std::unique_ptr<Input> open(const Piece& piece) const {
    if (!piece.file) return std::make_unique<Input>(piece.shown, options_.chunk);
    if (!piece.tree) std::rethrow_exception(piece.file->problem);
    auto snapshot = piece.tree->open(*piece.file);
    return snapshot ? std::make_unique<Input>(std::move(snapshot)) : nullptr;
  }

  const VerifyOptions& options_;
  const std::size_t file_threads_, chunk_threads_;  ///< one of them is 1
  Pieces pieces_;
  OrderedOutput output_;
  fs::Mutex mutex_;
  Health worst_ GUARDED_BY(mutex_) = Health::ok;
};

}  // namespace

int run_verify(const VerifyOptions& options) {
  if (options.recursive && options.chunk) throw UsageError("--chunk goes with files, not with -r");
  return Verification(options).run();
}

}  // namespace bloscfs::tools
