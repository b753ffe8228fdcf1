// b2frame verify: decodes every chunk completely and names each one that is bad.

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "fs/view/stored_contents.hpp"
#include "fs/view/thread_decoder.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/progress.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// No metalayer of a sound frame is larger than its 32-bit length allows; this keeps a small
/// hostile one from growing to that.
constexpr std::size_t kMaxMetalayer = std::size_t{64} << 20;

class Verifier {
 public:
  /// `input` is what messages call `file`.
  Verifier(std::string file, Input& input)
      : file_(std::move(file)), input_(input), progress_(file_, input_.info().nchunks) {}

  int run() {
    check_metalayers();
    check_contents();
    if (input_.snapshot().all_chunks_special())
      check("chunks", 0, input_.info().nchunks);
    else
      for_each_page(input_.reader(), [this](const frame::IndexPage& page) { check_page(page); });
    return bad_ ? kExitBadData : 0;
  }

 private:
  void check_page(const frame::IndexPage& page) {
    const std::int64_t end = page.first_chunk() + page.chunk_count();
    if (page.uniform_special()) return check("chunks", page.first_chunk(), end);
    for (std::int64_t chunk = page.first_chunk(); chunk < end; chunk++) {
      check("chunk", chunk, chunk + 1);
      input_.trim();
      progress_.update(chunk);
    }
  }

  /// Decodes the first and the last chunk of a range whose chunks are alike.
  void check(const char* what, std::int64_t first, std::int64_t end) {
    if (first == end) return;
    try {
      input_.reader().check_chunk(first);
      if (end - first > 1) input_.reader().check_chunk(end - 1);
    } catch (const std::exception& error) {
      const bool one = end - first == 1;
      report(one ? fmt::format("{} {}", what, first)
                 : fmt::format("{} {} to {}", what, first, end - 1),
             error);
    }
  }

  void check_metalayers() {
    const frame::Snapshot& snapshot = input_.snapshot();
    for (const auto& entry : snapshot.vlmetalayers()) {
      try {
        snapshot.read_vlmetalayer(entry, kMaxMetalayer, fs::thread_decoder());
      } catch (const std::exception& error) {
        report("vlmetalayer " + entry.name, error);
      }
    }
  }

  /// Chunks that are sound show nothing where the contents are not in them.
  void check_contents() {
    try {
      const auto missing = fs::missing_contents(input_.reader());
      if (missing) codec::throw_unsupported(*missing);
    } catch (const std::exception& error) {
      report("contents", error);
    }
  }

  void report(const std::string& part, const std::exception& error) {
    progress_.clear();
    const std::string text = reason(error);
    complain(file_, text.starts_with(part + ":") ? text : part + ": " + text);
    bad_ = true;
  }

  const std::string file_;
  Input& input_;
  Progress progress_;
  bool bad_ = false;
};

int verify_frame(const std::string& file, bool bare_chunk) {
  Input input(file, bare_chunk);
  return Verifier(file, input).run();
}

/// Each leaf for itself: what is wrong with one leaves the others as they are.
int verify_store(const std::string& file, const frame::PythonStore& store,
                 const std::string& group) {
  int status = 0;
  for (const std::string& message : store.messages()) {
    complain(file, message);
    status = kExitBadData;
  }
  store.for_each_leaf(group, [&](const std::string& key, const frame::Leaf& leaf) {
    if (std::holds_alternative<frame::ReferencedLeaf>(leaf)) return;
    const std::string name = file + ":" + key;
    status = std::max(status, guarded(name, [&] {
                        std::shared_ptr<const frame::Snapshot> snapshot = store.open(leaf);
                        if (!snapshot) return 0;
                        Input input(std::move(snapshot));
                        return Verifier(name, input).run();
                      }));
  });
  return status;
}

int verify(const std::string& file, bool bare_chunk) {
  if (bare_chunk) return verify_frame(file, bare_chunk);
  if (const auto address = parse_store_address(file)) {
    const auto store = open_store(address->store);
    const frame::StoreEntry entry = find_entry(*store, address->key);
    if (entry.leaf || !entry.is_group) return verify_frame(file, false);
    return verify_store(address->store, *store, address->key);
  }
  const auto store = find_store(file);
  if (!store) return verify_frame(file, false);
  // A store without files is a frame itself.
  const bool is_frame = store->kind() == frame::StoreKind::embed;
  const int status = is_frame ? verify_frame(file, false) : 0;
  return std::max(status, verify_store(file, *store, "/"));
}

}  // namespace

int run_verify(const VerifyOptions& options) {
  int status = 0;
  for (const std::string& file : options.files)
    status = std::max(status, guarded(file, [&] { return verify(file, options.chunk); }));
  return status;
}

}  // namespace bloscfs::tools
