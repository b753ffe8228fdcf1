#include "tests/model/lockstep.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iomanip>
#include <sstream>

#include <fcntl.h>

#include "tests/model/trees.hpp"

namespace bloscfs::test {

namespace {

constexpr std::size_t kHistory = 60;

bool is(const Operation& operation, const char* name) {
  return std::strcmp(operation.kind->name, name) == 0;
}

bool is_earlier(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

bool is_same(const timespec& a, const timespec& b) {
  return !is_earlier(a, b) && !is_earlier(b, a);
}

std::string describe(const timespec& time) {
  std::ostringstream text;
  text << time.tv_sec << "." << std::setw(9) << std::setfill('0') << time.tv_nsec;
  return text.str();
}

/// Gets the status of the file that the operation works on. Returns false if there is no such file.
bool status_of(const Side& side, const Operation& operation, struct stat& st) {
  if (operation.path.empty()) {
    const auto& fd = side.files[operation.slot].fd;
    return fd && fstat(fd.get(), &st) == 0;
  }
  return fstatat(AT_FDCWD, (side / operation.path).c_str(), &st,
                 is(operation, "utimens") ? AT_SYMLINK_NOFOLLOW : 0) == 0;
}

std::size_t links_of(const std::string& path) {
  struct stat st {};
  return lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) ? st.st_nlink : 0;
}

bool is_container_name(const fs_std::path& path) {
  const std::string suffix = path.extension();
  return suffix == ".b2" || suffix == ".b2frame" || suffix == ".b2nd";
}

/// Returns the path at which a file is made if a program creates it under that name.
fs_std::path behind_symlinks(fs_std::path path) {
  constexpr int kMaxSymlinks = 40;
  std::error_code none;
  for (int i = 0; i < kMaxSymlinks && fs_std::is_symlink(path, none); ++i)
    path = path.parent_path() / fs_std::read_symlink(path);
  return path;
}

/// If a file in the directory is named like a container, the mount may show another name than a
/// program asked for.
bool is_among_container_names(const fs_std::path& path) {
  if (is_container_name(path)) return true;
  std::error_code none;
  for (const auto& entry : fs_std::directory_iterator(path.parent_path(), none))
    if (is_container_name(entry.path())) return true;
  return false;
}

bool has_sparse_frame(const fs_std::path& source) {
  std::error_code vanished;
  for (fs_std::recursive_directory_iterator at(source, vanished), end; at != end;
       at.increment(vanished))
    if (at->path().filename() == "chunks.b2frame") return true;
  return false;
}

}  // namespace

Lockstep::Lockstep(const fs_std::path& model, const fs_std::path& mount, const fs_std::path& source)
    : model_(model, true), mount_(mount, false), source_(source) {
  // A write to a FIFO without readers must fail with EPIPE on both sides.
  ::signal(SIGPIPE, SIG_IGN);
}

void Lockstep::differ(const std::string& text) const { throw Difference(text + "\n" + history()); }

std::string Lockstep::history() const {
  std::string text = "last operations:\n";
  for (const auto& line : history_) text += "  " + line + "\n";
  return text;
}

void Lockstep::remember(const Operation& operation, const Outcome& model, const Outcome& mount) {
  std::string line = describe(operation) + " -> " + describe(model);
  if (model.error != mount.error || model.value != mount.value)
    line += "; in the mount: " + describe(mount);
  history_.push_back(std::move(line));
  if (history_.size() > kHistory) history_.pop_front();
}

/// True if the documentation says that a mount may refuse the operation with that error.
bool Lockstep::may_refuse(const Operation& operation, int error) const {
  if (error == EEXIST)
    return is_among_container_names(model_ / operation.path) ||
           is_among_container_names(model_ / operation.other) ||
           (operation.kind->touches == Touches::contents &&
            is_among_container_names(behind_symlinks(model_ / operation.path)));
  if (error == EPERM) return is(operation, "link") && has_sparse_frame(source_);
  if (error == EOPNOTSUPP)
    return links_of(model_ / operation.path) > 1 || links_of(model_ / operation.other) > 1;
  return false;
}

void Lockstep::step(const Operation& operation, bool look) {
  forget_ended_files(operation);
  note_touched(operation);
  Count& count = counts_[operation.kind->name];
  const Outcome mount = operation.kind->perform(mount_, operation);
  if (may_refuse(operation, mount.error)) {
    ++count.refused;
    if (is(operation, "open")) model_.files[operation.slot] = OpenFile();
    remember(operation, mount, mount);
    if (mount.is_half_done) do_first_half(operation);
    return;
  }
  const Outcome model = operation.kind->perform(model_, operation);
  remember(operation, model, mount);
  compare(operation, model, mount);
  ++(model.error == 0 ? count.worked : count.failed);
  note_touched(operation);
  if (operation.kind->touches == Touches::times && model.error == 0) note_times(operation);
  if (look) look_at(operation);
}

/// If the mount has saved the file but refused to rename it, saves the file on the model's side,
/// too.
void Lockstep::do_first_half(const Operation& operation) {
  Operation saving = operation;
  saving.other.clear();
  const Outcome model = operation.kind->perform(model_, saving);
  if (model.error != 0) differ(describe(saving) + ": " + describe(model) + ", in the mount done");
  note_touched(operation);
}

// --- results

void Lockstep::compare(const Operation& operation, const Outcome& model, const Outcome& mount) {
  // The filesystem chooses the position of an open directory, and so the error of a read.
  const bool seeks = std::strncmp(operation.kind->name, "seek", 4) == 0;
  if ((seeks || (is(operation, "read") && model.error != 0 && mount.error == EISDIR)) &&
      fs_std::is_directory("/proc/self/fd/" +
                           std::to_string(model_.files[operation.slot].fd.get())))
    return;
  if (is(operation, "seek_data") || is(operation, "seek_hole"))
    return compare_holes(operation, model, mount);
  if (model.error == mount.error && model.value == mount.value && model.bytes == mount.bytes &&
      model.names == mount.names)
    return;
  std::ostringstream text;
  text << describe(operation) << "\n  in a plain directory: " << describe(model)
       << "\n  in the mount:         " << describe(mount);
  if (model.bytes != mount.bytes) text << "\n  " << first_difference(model.bytes, mount.bytes);
  differ(text.str());
}

/// The filesystem chooses where holes are. Their bytes must be zero.
void Lockstep::compare_holes(const Operation& operation, const Outcome& model,
                             const Outcome& mount) {
  struct stat st {};
  const int fd = model_.files[operation.slot].fd.get();
  if (fstat(fd, &st) != 0) throw_errno("fstat");
  const bool is_inside = S_ISREG(st.st_mode) && operation.offset < st.st_size;
  if (!is_inside) {
    if (model.error != mount.error)
      differ(describe(operation) + ": " + describe(model) + ", in the mount: " + describe(mount));
    return;
  }
  const ByteVector contents = read_file("/proc/self/fd/" + std::to_string(fd));
  const bool no_data = mount.error == ENXIO && is(operation, "seek_data");
  if (mount.error != 0 && !no_data) differ(describe(operation) + ": " + describe(mount));
  const std::int64_t found = no_data ? st.st_size : mount.value;
  if (found < operation.offset || found > st.st_size)
    differ(describe(operation) + ": " + describe(mount) + " is outside of the file");
  if (is(operation, "seek_data")) check_hole(contents, operation.offset, found);
  if (is(operation, "seek_hole")) check_hole(contents, found, std::min(found + 1, st.st_size));
}

void Lockstep::check_hole(const ByteVector& contents, std::int64_t begin, std::int64_t end) {
  for (std::int64_t at = begin; at < end; ++at)
    if (contents.at(static_cast<std::size_t>(at)) != 0)
      differ("the byte at " + std::to_string(at) + " is said to be in a hole, but is data");
}

// --- times

void Lockstep::note_changed(const struct stat& model) {
  if (const auto known = times_.find(model.st_ino); known != times_.end())
    known->second.exact = false;
}

/// Called before and after each operation, since the name may have another file then.
void Lockstep::note_touched(const Operation& operation) {
  if (is(operation, "store_mapped")) {
    mapped_.insert(model_.mappings[operation.slot].inode());
    return;
  }
  if (operation.kind->touches != Touches::contents) return;
  struct stat st {};
  if (status_of(model_, operation, st)) note_changed(st);
  if (operation.other_slot < kSlots && model_.files[operation.other_slot].fd &&
      fstat(model_.files[operation.other_slot].fd.get(), &st) == 0)
    note_changed(st);
  if (!operation.other.empty() && lstat((model_ / operation.other).c_str(), &st) == 0)
    note_changed(st);
}

/// A new file may get the inode number of a removed file, or of a file that goes when its slot is
/// used again.
void Lockstep::forget_ended_files(const Operation& operation) {
  std::set<ino_t> present;
  struct stat st {};
  for (const auto& entry : fs_std::recursive_directory_iterator(model_.root()))
    if (lstat(entry.path().c_str(), &st) == 0) present.insert(st.st_ino);
  for (const OpenFile& file : model_.files)
    if (file.fd && !(is(operation, "open") && &file == &model_.files[operation.slot]) &&
        fstat(file.fd.get(), &st) == 0)
      present.insert(st.st_ino);
  std::erase_if(times_, [&](const auto& known) { return present.count(known.first) == 0; });
}

void Lockstep::note_times(const Operation& operation) {
  struct stat model {};
  const bool sets_modified = operation.times[1].tv_nsec != UTIME_OMIT;
  if (!sets_modified || !status_of(model_, operation, model)) return;
  if (mapped_.count(model.st_ino) == 0) times_[model.st_ino] = {model.st_mtim, true};
}

void Lockstep::check_time(const std::string& what, const struct stat& model,
                          const struct stat& mount) {
  if (!S_ISREG(model.st_mode) || mapped_.count(model.st_ino) != 0) return;
  const auto known = times_.find(model.st_ino);
  if (known != times_.end()) {
    const LastTime& last = known->second;
    if (last.exact && !is_same(last.modified, mount.st_mtim))
      differ(what + ": modified " + describe(last.modified) + ", and now shown as modified " +
             describe(mount.st_mtim) + " although nothing changed it");
    if (is_earlier(mount.st_mtim, last.modified))
      differ(what + ": modified " + describe(mount.st_mtim) + ", before " +
             describe(last.modified));
  }
  times_[model.st_ino] = {mount.st_mtim, true};
}

// --- attributes and trees

void Lockstep::look_at(const Operation& operation) {
  struct stat model {
  }, mount{};
  const bool in_model = status_of(model_, operation, model);
  const bool in_mount = status_of(mount_, operation, mount);
  const int error = errno;
  if (in_model != in_mount)
    differ(describe(operation) + ": afterwards " + (in_model ? "only" : "not") +
           " the plain directory has the file; in the mount: " +
           (in_mount ? "found" : std::strerror(error)));
  if (in_model) compare_attributes(describe(operation), model, mount);
  if (!operation.other.empty() && lstat((model_ / operation.other).c_str(), &model) == 0)
    compare_entry(operation.other);
}

void Lockstep::compare_attributes(const std::string& what, const struct stat& model,
                                  const struct stat& mount) {
  const auto compare_one = [&](const char* name, auto of_model, auto of_mount) {
    if (of_model == of_mount) return;
    std::ostringstream text;
    text << what << ": " << name << " " << of_model << ", in the mount " << of_mount;
    differ(text.str());
  };
  compare_one("mode", model.st_mode, mount.st_mode);
  compare_one("user", model.st_uid, mount.st_uid);
  compare_one("group", model.st_gid, mount.st_gid);
  if (!S_ISDIR(model.st_mode)) compare_one("size", model.st_size, mount.st_size);
  // An uncommitted file does not replace the earlier one in SOURCE yet, so that one keeps its link.
  if (S_ISREG(model.st_mode) && (all_is_committed_ || mount.st_nlink < model.st_nlink))
    compare_one("links", model.st_nlink, mount.st_nlink);
  check_time(what, model, mount);
}

void Lockstep::compare_trees() { compare_below({}); }

void Lockstep::compare_committed_trees() {
  all_is_committed_ = true;
  compare_trees();
  all_is_committed_ = false;
}

void Lockstep::compare_below(const std::string& directory) {
  const auto model = names_in(model_ / directory);
  const auto mount = names_in(mount_ / directory);
  if (model != mount)
    differ("names in '" + directory + "': " + join(model) + ", in the mount: " + join(mount));
  for (const auto& name : model) compare_entry(directory.empty() ? name : directory + "/" + name);
}

void Lockstep::compare_entry(const std::string& path) {
  struct stat model {
  }, mount{};
  if (lstat((model_ / path).c_str(), &model) != 0) throw_errno("lstat " + path);
  if (lstat((mount_ / path).c_str(), &mount) != 0)
    differ(path + ": lstat in the mount: " + std::strerror(errno));
  compare_attributes(path, model, mount);
  const std::string what = difference_of(model_ / path, mount_ / path);
  if (!what.empty()) differ(path + ": " + what);
  if (S_ISDIR(model.st_mode)) compare_below(path);
}

void Lockstep::close_all() {
  model_.close_all();
  mount_.close_all();
  for (const ino_t inode : mapped_) times_.erase(inode);
  mapped_.clear();
}

}  // namespace bloscfs::test
