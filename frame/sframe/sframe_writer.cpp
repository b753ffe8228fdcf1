#include "frame/sframe/sframe_writer.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "codec/error.hpp"
#include "frame/editing/frame_transaction.hpp"
#include "frame/sframe/orphans.hpp"
#include "frame/sframe/sframe_commit.hpp"
#include "frame/sframe/sframe_state.hpp"
#include "frame/store/container_lock.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline sframe {
namespace {

/// begin() searches the index for doubtful numbers once there is one for each this many index
/// entries.
constexpr std::int64_t kEntriesPerDoubt = 64;

class SframeWriter final : public FrameWriter {
 public:
  explicit SframeWriter(SframeState state) : state_(std::move(state)) {}
  ~SframeWriter() override {
    // In a shared directory, no later writer finds the superseded chunk files, so this one deletes
    // them.
    if (!state_.settings.shared || !state_.current || state_.broken) return;
    try {
      reclaim(true);
    } catch (const std::exception&) {
      // The remaining files are leftovers, as after a crash.
    }
  }

  std::shared_ptr<const Snapshot> snapshot() const override { return state_.current; }

  std::unique_ptr<Transaction> begin() override {
    ContainerLock lock = lock_container();
    if (!state_.current)
      return std::make_unique<FrameTransaction>(
          FrameEdit(state_.planned.info, state_.planned.checksums),
          std::make_unique<SframeCommit>(state_, std::move(lock)));
    if (lock.peers) lock.peers.lock().announce_change(*state_.directory->open(kSframeLockName));
    reclaim(false);
    return std::make_unique<FrameTransaction>(
        FrameEdit(state_.current), std::make_unique<SframeCommit>(state_, std::move(lock)));
  }

  bool is_broken() const override { return state_.broken; }

  void tidy() override {
    if (!state_.current) return;
    const ContainerLock lock = lock_container();
    reclaim(true);
  }

  void compact() override {
    if (!state_.current) throw std::logic_error("compacting a frame that does not exist yet");
    const ContainerLock lock = lock_container();
    std::vector<std::uint32_t> present;
    for (const std::string& name : state_.directory->names())
      if (const auto number = chunk_file_number(name)) present.push_back(*number);
    remove(orphan_chunk_files(*state_.current, std::move(present), decoder_));
  }

  void moved(std::shared_ptr<StoreDirectory>, std::string) override {}  // the directory stays open

  void set_times(const timespec& accessed, const timespec& modified) override {
    if (!state_.current) return;
    if (!state_.expected->matches(*state_.index)) throw_stale("sparse frame");
    const Bytes header = state_.current->header_bytes();
    state_.expected->replace_file({header.begin(), header.end()}, [&] {
      state_.index->set_times(accessed, modified);
      return state_.index->stamp();
    });
  }

  bool has_name() const override { return state_.index && state_.index->link_count() > 0; }

  FileAttributes attributes() const override {
    if (!state_.index) throw std::logic_error("attributes of a sparse frame that is not there yet");
    return state_.index->attributes();
  }

  void set_attributes(const FileAttributes&) override {
    throw std::logic_error("attributes of a sparse frame are set by its commits");
  }

  FileStamp stamp() const override {
    if (!state_.index) throw std::logic_error("stamp of a sparse frame that is not there yet");
    return state_.index->stamp();
  }

 private:
  /// Locks out other writers. Throws if another program has changed the frame.
  ContainerLock lock_container() {
    if (state_.in_transaction) throw std::logic_error("two transactions on one container");
    if (state_.broken) throw_errno(EIO, "sparse frame: a commit failed half-way, open it again");
    if (!state_.current) return {};
    ContainerLock lock = frame::lock_container(*state_.index, *state_.directory, kSframeLockName,
                                               state_.settings.locking);
    if (!state_.current->unchanged()) throw_stale("sparse frame");
    return lock;
  }

  /// Removes the files that no reader needs any more. Ignores errors, because they must not fail a
  /// commit.
  void reclaim(bool all) {
    try {
      const std::int64_t doubts = std::ssize(state_.doubtful) * kEntriesPerDoubt;
      // With 1000 doubtful numbers, an index of up to 64,000 entries is searched.
      if (doubts > 0 && (all || doubts >= state_.current->info().nchunks))
        state_.superseded.add(
            orphan_chunk_files(*state_.current, std::exchange(state_.doubtful, {}), decoder_));
      // Other programs open chunk files by name when they need them, and no lease shows that.
      remove(state_.superseded.release([] { return false; }));
    } catch (const std::system_error&) {
    }
  }

  void remove(const std::vector<std::uint32_t>& numbers) {
    for (const std::uint32_t number : numbers) {
      const std::string name = chunk_file_name(number);
      if (state_.settings.shared || state_.directory->stamp(name)) state_.directory->unlink(name);
    }
  }

  SframeState state_;
  codec::BlockDecoder decoder_;
};

}  // namespace

std::unique_ptr<FrameWriter> open_sframe_writer(const std::shared_ptr<StoreDirectory>& parent,
                                                const std::string& name,
                                                const WriterSettings& settings,
                                                const std::shared_ptr<const Snapshot>& known) {
  const auto known_state = std::dynamic_pointer_cast<const FrameSnapshot>(known);
  if (known && !known_state) throw std::invalid_argument("the snapshot is not of a frame");
  SframeState state(settings);
  state.directory = parent->open_directory(name);
  if (settings.meant) {
    const auto stamp = state.directory->stamp(".");
    if (!stamp || !(id_of(*stamp) == *settings.meant)) throw_stale(name);
  }
  if (known_state) state.expected = known_state->expected();
  open_current(state);
  if (!state.current->unchanged()) throw_stale(name);
  if (known_state) state.superseded.watch(known_state);
  state.lengths.add(static_cast<std::uint64_t>(state.current->info().frame_len));
  return std::make_unique<SframeWriter>(std::move(state));
}

std::unique_ptr<FrameWriter> create_sframe(const std::shared_ptr<StoreDirectory>& parent,
                                           const std::string& name, const FrameSettings& frame,
                                           const WriterSettings& settings) {
  SframeState state(settings);
  state.planned = plan_frame(frame, ContainerKind::sframe);
  state.mode = frame.mode;
  // Every user who may read the files must be able to search the directory.
  const mode_t search = (frame.mode & mode_t{0444}) >> 2;
  parent->make_directory(name, frame.mode | search);
  state.directory = parent->open_directory(name);
  return std::make_unique<SframeWriter>(std::move(state));
}

}  // namespace bloscfs::frame::inline sframe
