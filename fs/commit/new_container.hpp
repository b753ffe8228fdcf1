#pragma once
// A container that a commit writes beside the one that the file has, to take its place.

#include <memory>
#include <string>
#include <utility>

#include "frame/container/frame_writer.hpp"
#include "fs/content/content_home.hpp"

namespace bloscfs::fs {

/// A temporary, which the destructor removes again unless keep() was called. For one thread.
class NewContainer {
 public:
  enum class Where {
    beside,         ///< a temporary of its own
    own_temporary,  ///< the one that the file has had since it was made, which is empty
    unnamed,        ///< the file has no name any more, and the container gets none
    by_name,        ///< as of StoredPlace::is_shared
  };
  /// `name` is that of by_name. `shown` is what it will be shown as. Errors: as
  /// frame::create_cframe's.
  NewContainer(const frame::FrameSettings& settings, ShownAs shown, const StoredPlace& place,
               Where where, const std::string& name, const frame::WriterSettings& writer_settings);
  ~NewContainer();
  NewContainer(const NewContainer&) = delete;
  NewContainer& operator=(const NewContainer&) = delete;

  ShownAs shown() const { return shown_; }
  frame::FrameWriter& writer() { return *writer_; }
  std::unique_ptr<frame::FrameWriter> take_writer() { return std::move(writer_); }
  const std::string& name() const { return name_; }
  /// True if it does not move where the file is renamed.
  bool is_beside() const { return where_ == Where::beside; }
  /// The container is the file's now, under whatever name: the destructor leaves it.
  void keep() { directory_ = nullptr; }
  /// Takes its name away, while it may go on without.
  void remove_name() noexcept;

 private:
  const ShownAs shown_;
  const Where where_;
  std::string name_;
  std::shared_ptr<frame::StoreDirectory> directory_;  ///< to remove it from; null: it stays
  std::unique_ptr<frame::FrameWriter> writer_;
};

}  // namespace bloscfs::fs
