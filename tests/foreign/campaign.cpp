#include "tests/foreign/campaign.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/pause.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

constexpr std::size_t kTraced = 1000;
constexpr std::size_t kNpyHeader = 128;
constexpr const char* kLayerPrefix = "user.blosc2.vlmeta.";

MountSettings settings_for(const std::string& option) {
  MountSettings settings;
  settings.options = {"cache_size=16M"};
  if (!option.empty()) settings.options.push_back(option);
  return settings;
}

std::vector<FileOracle> files() {
  std::vector<FileOracle> files(3);
  files[0].shown = "f";
  files[0].stored = {"f.b2frame"};
  files[1].shown = "g";
  files[1].stored = {"g.b2frame"};
  files[2].shown = "a.npy";
  files[2].stored = {"a.b2nd", "a.npy.b2frame"};
  files.back().kind = Kind::array;
  return files;
}

/// Returns seconds and milliseconds, by which a step can be found in the log.
std::string time_of_day() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{:02}.{:03}", now.tv_sec % 60, now.tv_nsec / 1'000'000);
}

int errno_after(ssize_t result) { return result < 0 ? errno : 0; }

/// Reads a whole file through one new descriptor. Returns 0 or the errno.
int read_whole(const fs_std::path& path, ByteVector& bytes) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno;
  struct stat st {};
  if (fstat(fd.get(), &st) != 0) return errno;
  bytes.assign(static_cast<std::size_t>(st.st_size) + 1, 0);
  std::size_t done = 0;
  for (;;) {
    const ssize_t got =
        pread(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0) return errno;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    if (done == bytes.size()) bytes.resize(2 * done);
  }
  bytes.resize(done);
  return 0;
}

}  // namespace

Campaign::Campaign(std::uint64_t seed, const std::string& option)
    : random_(seed),
      is_strict_(option == "sync=strict"),
      files_(files()),
      mount_(source_.path(), settings_for(option)) {}

const std::vector<Campaign::StepKind>& Campaign::kinds() {
  static const std::vector<StepKind> kinds = {
      {"open_writer", 10, &Campaign::open_writer},
      {"write", 24, &Campaign::write},
      {"resize", 4, &Campaign::resize},
      {"sync", 10, &Campaign::sync},
      {"close", 9, &Campaign::close},
      {"rewrite", 8, &Campaign::rewrite},
      {"set_layer", 8, &Campaign::set_layer},
      {"set_times", 3, &Campaign::set_times},
      {"look", 14, &Campaign::look},
      {"remove", 2, &Campaign::remove},
      {"rename", 3, &Campaign::rename},
      {"rest", 1, &Campaign::rest},
      {"replace", 8, &Campaign::replace},
      {"copy_over", 8, &Campaign::copy_over},
      {"edit", 8, &Campaign::edit},
      {"append_by_peer", 1, &Campaign::append_by_peer},
      {"remove_in_source", 2, &Campaign::remove_in_source},
  };
  return kinds;
}

void Campaign::run(std::uint64_t steps) {
  try {
    for (std::uint64_t done = 0; done < steps; done++) step();
    trace_.push_back("end");
    end();
  } catch (const std::exception& error) {
    std::string text = error.what();
    text += "\nafter:";
    for (const std::string& line : trace_) text += "\n  " + line;
    for (const FileOracle& file : files_) text += "\n" + description_in_source(file);
    throw Violation(text + "\nlog:\n" + mount_.log());
  }
}

std::string Campaign::description_in_source(const FileOracle& file) const {
  std::string text = "in SOURCE, " + file.shown + ": ";
  try {
    const auto stored = read_frame(file.path_in(source_.path()));
    if (!stored) return text + "nothing";
    text += std::to_string(stored->contents.size()) + " bytes";
    return text + (file.now && stored->contents == file.now->contents ? ", the same" : "");
  } catch (const std::exception& error) {
    return text + error.what();
  }
}

void Campaign::step() {
  static const std::vector<const StepKind*> lots = [] {
    std::vector<const StepKind*> all;
    for (const StepKind& kind : kinds())
      all.insert(all.end(), static_cast<std::size_t>(kind.weight), &kind);
    return all;
  }();
  const StepKind& kind = *pick(random_, lots);
  FileOracle& file = files_[static_cast<std::size_t>(between(random_, 0, std::ssize(files_) - 1))];
  trace_.push_back(time_of_day() + " " + kind.name + " " + file.shown +
                   (file.now ? " of " + std::to_string(file.now->contents.size()) : " (none)") +
                   (file.is_overtaken ? " overtaken" : "") + (file.is_dirty ? " dirty" : "") +
                   ", writers: " + std::to_string(file.writers.size()));
  if (trace_.size() > kTraced) trace_.pop_front();
  if ((this->*kind.act)(file))
    ++counts_[kind.name];
  else
    trace_.pop_back();
}

void Campaign::note(const std::string& what) { trace_.back() += "; " + what; }

ByteVector Campaign::random_bytes(std::size_t most) {
  const auto size = static_cast<std::size_t>(between(random_, 1, static_cast<std::int64_t>(most)));
  return make_contents("noise", random_(), size, 1);
}

/// Returns a random writer whose file still has its name, or null if there is none.
Writer* Campaign::any_writer(FileOracle& file) {
  std::vector<Writer*> all;
  for (const auto& writer : file.writers)
    if (!writer->is_orphan) all.push_back(writer.get());
  return all.empty() ? nullptr : pick(random_, all);
}

// --- on the mount

bool Campaign::open_writer(FileOracle& file) {
  if (file.writers.size() >= 2) return false;
  if (file.is_overtaken) look(file);
  if (!file.now) return false;
  auto writer = std::make_unique<Writer>();
  writer->fd = Fd(open((mount_ / file.shown).c_str(), O_RDWR | O_CLOEXEC));
  if (!writer->fd) throw Violation(file.shown + ": open: " + std::strerror(errno));
  file.writers.push_back(std::move(writer));
  return true;
}

void Campaign::expect_stale_error(const FileOracle& file, Writer& writer, int error,
                                  const char* what) {
  note(std::string(what) + " gives " + std::strerror(error));
  if (writer.is_orphan && (error == 0 || error == ESTALE)) return;
  const int expected = writer.must_report_stale ? ESTALE : 0;
  if (error != expected)
    throw Violation(file.shown + ": " + what + " gives " + std::strerror(error) + ", not " +
                    std::strerror(expected));
  writer.must_report_stale = false;
  // The mount may already know of the next loss when it reports this one.
  writer.was_reported_late = error == ESTALE && file.is_overtaken;
}

bool Campaign::write(FileOracle& file) {
  Writer* const writer = any_writer(file);
  if (writer == nullptr) return false;
  const std::size_t size = file.is_overtaken ? file.former->size() : file.now->contents.size();
  std::size_t offset =
      static_cast<std::size_t>(between(random_, 0, static_cast<std::int64_t>(size) + 3000));
  ByteVector bytes = random_bytes(5000);
  if (file.kind == Kind::array) {
    // Write elements only, so that the file stays an array.
    if (size <= kNpyHeader) return false;
    offset = kNpyHeader + offset % (size - kNpyHeader);
    bytes.resize(std::min(bytes.size(), size - offset));
  }
  if (file.is_overtaken) {
    write_to_overtaken(file, *writer, offset, bytes);
    return true;
  }
  const bool must_report_stale = writer->must_report_stale;
  const int error =
      errno_after(pwrite(writer->fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)));
  expect_stale_error(file, *writer, error, "write");
  if (!must_report_stale) file.written(offset, bytes);
  return true;
}

/// Writes to a file that another program has changed. The bytes belong to the old state, unless the
/// mount has noticed the change already.
void Campaign::write_to_overtaken(FileOracle& file, Writer& writer, std::size_t offset,
                                  const ByteVector& bytes) {
  const int error =
      errno_after(pwrite(writer.fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)));
  note(std::string("overtaken; write gives ") + std::strerror(error));
  // An ESTALE that is due may be for an older loss. The mount need not know of this change yet.
  if (writer.must_report_stale) return expect_stale_error(file, writer, error, "write");
  if (error == ESTALE) return notice(file, &writer);
  if (error != 0) throw Violation(file.shown + ": write gives " + std::strerror(error));
  const int synced = errno_after(fsync(writer.fd.get()));
  note(std::string("fsync gives ") + std::strerror(synced));
  if (synced == ESTALE) {
    file.written_to_former(offset, bytes);
    return notice(file, &writer);
  }
  if (synced != 0) throw Violation(file.shown + ": fsync gives " + std::strerror(synced));
  notice(file, nullptr);
  if (!file.now) return;
  file.written(offset, bytes);
  file.committed();
  check_contents(file);
  check_stored(file);
}

bool Campaign::resize(FileOracle& file) {
  Writer* const writer = any_writer(file);
  if (writer == nullptr || file.kind == Kind::array) return false;
  if (file.is_overtaken) look(file);
  if (writer->is_orphan) return false;
  const auto size = static_cast<std::size_t>(between(random_, 0, 100000));
  const bool must_report_stale = writer->must_report_stale;
  expect_stale_error(file, *writer,
                     errno_after(ftruncate(writer->fd.get(), static_cast<off_t>(size))),
                     "ftruncate");
  if (!must_report_stale) file.resized(size);
  return true;
}

int Campaign::sync_overtaken(FileOracle& file, Writer& writer) {
  const int error = errno_after(fsync(writer.fd.get()));
  note(std::string("overtaken; fsync gives ") + std::strerror(error));
  if (error == ESTALE) {
    notice(file, &writer);
  } else if (error != 0) {
    throw Violation(file.shown + ": fsync gives " + std::strerror(error));
  } else if (file.conflict && file.conflict->is_certain) {
    if (!writer.was_reported_late)
      throw Violation(file.shown + ": fsync says nothing of what was lost");
    notice(file, nullptr);
  } else {
    file.conflict.reset();
  }
  return error;
}

bool Campaign::sync(FileOracle& file) {
  Writer* const writer = any_writer(file);
  if (writer == nullptr) return false;
  if (file.is_overtaken) {
    // An ESTALE that is due may be for an older loss.
    if (!writer->must_report_stale) sync_overtaken(file, *writer);
    return true;
  }
  const bool must_report_stale = writer->must_report_stale;
  expect_stale_error(file, *writer, errno_after(fsync(writer->fd.get())), "fsync");
  if (must_report_stale) return true;
  check_stored(file);
  file.committed();
  return true;
}

bool Campaign::close(FileOracle& file) {
  if (file.writers.empty()) return false;
  const std::unique_ptr<Writer> writer = std::move(file.writers.back());
  file.writers.pop_back();
  const int error = errno_after(::close(dup(writer->fd.get())));
  note(std::string(file.is_overtaken ? "overtaken; " : "") + "close gives " + std::strerror(error));
  if (!file.is_overtaken) {
    expect_stale_error(file, *writer, error, "close");
    return true;
  }
  if (error == ESTALE && !writer->must_report_stale) {
    notice(file, nullptr);
  } else if (error != 0 && error != ESTALE) {
    throw Violation(file.shown + ": close gives " + std::strerror(error));
  } else if (error == 0 && !writer->is_orphan && !writer->was_reported_late && file.conflict &&
             file.conflict->is_certain) {
    throw Violation(file.shown + ": close says nothing of what was lost");
  }
  return true;
}

bool Campaign::rewrite(FileOracle& file) {
  if (file.is_overtaken) look(file);
  ByteVector bytes;
  if (file.kind == Kind::array) {
    const std::int64_t items = between(random_, 1, 20000);
    const std::string header = npy_header("<i4", {items});
    bytes.assign(header.begin(), header.end());
    const ByteVector elements =
        make_contents("noise", random_(), static_cast<std::size_t>(4 * items), 1);
    bytes.insert(bytes.end(), elements.begin(), elements.end());
  } else {
    bytes = random_bytes(90000);
  }
  const Fd fd(open((mount_ / file.shown).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != std::ssize(bytes))
    throw Violation(file.shown + ": overwriting: " + std::strerror(errno));
  if (!file.now) file.now.emplace();
  file.now->contents = std::move(bytes);
  file.is_dirty = true;
  return true;
}

bool Campaign::set_layer(FileOracle& file) {
  if (file.is_overtaken) look(file);
  if (!file.now) return false;
  const std::string name = "k" + std::to_string(between(random_, 0, 3));
  const ByteVector value = random_bytes(60);
  const int error =
      errno_of_set_xattr(mount_ / file.shown, kLayerPrefix + name, {value.begin(), value.end()});
  if (error != 0) throw Violation(file.shown + ": setxattr gives " + std::strerror(error));
  file.now->layers[name] = value;
  file.dirty_layers.insert(name);
  note(name + " of " + std::to_string(value.size()));
  file.doubtful_layers.erase(name);
  return true;
}

bool Campaign::set_times(FileOracle& file) {
  if (file.is_overtaken) look(file);
  if (!file.now) return false;
  const timespec times[2] = {{1'000'000'000, 0}, {between(random_, 1, 1'600'000'000), 5}};
  const int error = errno_after(utimensat(AT_FDCWD, (mount_ / file.shown).c_str(), times, 0));
  if (error != 0) throw Violation(file.shown + ": utimensat gives " + std::strerror(error));
  struct stat st {};
  if (stat((mount_ / file.shown).c_str(), &st) != 0 || st.st_mtim.tv_sec != times[1].tv_sec)
    throw Violation(file.shown + ": the time was not set");
  return true;
}

bool Campaign::look(FileOracle& file) {
  if (file.is_overtaken && !file.now && file.conflict) {
    // The file has no name any more, so only a program that has it open can make the mount notice.
    if (Writer* const writer = any_writer(file)) sync_overtaken(file, *writer);
    if (!file.is_overtaken) return true;
  }
  check_contents(file);
  if (file.is_overtaken) notice(file, nullptr);
  check_layers(file);
  return true;
}

bool Campaign::remove(FileOracle& file) {
  if (file.is_overtaken) look(file);
  if (!file.now) return false;
  if (unlink((mount_ / file.shown).c_str()) != 0)
    throw Violation(file.shown + ": unlink: " + std::strerror(errno));
  file.now.reset();
  file.committed();
  for (const auto& writer : file.writers) writer->is_orphan = true;
  return true;
}

bool Campaign::rename(FileOracle& file) {
  FileOracle& other = &file == &files_[0] ? files_[1] : files_[0];
  if (file.kind == Kind::array || !file.writers.empty() || !other.writers.empty()) return false;
  for (FileOracle* one : {&file, &other})
    if (one->is_overtaken) look(*one);
  if (!file.now) return false;
  other.waits_to_replace =
      is_in_source(other) && (!is_in_source(file) || std::exchange(file.waits_to_replace, false));
  if (::rename((mount_ / file.shown).c_str(), (mount_ / other.shown).c_str()) != 0)
    throw Violation(file.shown + ": rename: " + std::strerror(errno));
  other.now = std::exchange(file.now, std::nullopt);
  other.is_dirty = std::exchange(file.is_dirty, false);
  other.dirty_layers = std::exchange(file.dirty_layers, {});
  other.doubtful_layers = std::exchange(file.doubtful_layers, {});
  return true;
}

/// Pauses, sometimes long enough for a commit in the background.
bool Campaign::rest(FileOracle&) {
  if (one_in(random_, 20))
    comes_true([this] { return mount_.counter("dirty_bytes") == 0; }, std::chrono::seconds(5));
  else
    pause_at_random(random_, std::chrono::milliseconds(40));
  return true;
}

void Campaign::notice(FileOracle& file, Writer* told) {
  file.noticed(take_conflict(file));
  if (told != nullptr) told->must_report_stale = false;
  for (const auto& writer : file.writers) {
    if (!std::exchange(writer->may_report_stale, false)) continue;
    const int error = errno_after(fsync(writer->fd.get()));
    note(std::string("fsync gives ") + std::strerror(error));
    if (error != 0 && error != ESTALE)
      throw Violation(file.shown + ": fsync gives " + std::strerror(error));
  }
}

std::optional<ByteVector> Campaign::take_conflict(const FileOracle& file) {
  std::vector<fs_std::path> found;
  for (const auto& entry : fs_std::directory_iterator(mount_.path()))
    if (entry.path().filename().string().starts_with(file.shown + ".conflict-"))
      found.push_back(entry.path());
  if (found.size() > 1) throw Violation(file.shown + ": several conflicts of one change");
  if (found.empty()) return std::nullopt;
  ByteVector bytes;
  if (const int error = read_whole(found.front(), bytes))
    throw Violation(found.front().string() + ": " + std::strerror(error));
  fs_std::remove(found.front());
  note("conflict of " + std::to_string(bytes.size()) + " bytes");
  conflicts_++;
  return bytes;
}

void Campaign::check_contents(FileOracle& file) {
  ByteVector bytes;
  int error = read_whole(mount_ / file.shown, bytes);
  const int expected = file.now ? 0 : ENOENT;
  // An error may last one open longer than its cause.
  if (error != expected && file.is_overtaken) error = read_whole(mount_ / file.shown, bytes);
  // During a commit, the mount shows the data that it is committing until it notices the change.
  comes_true([&] {
    const bool shows_old =
        file.is_overtaken && file.conflict && error == 0 && bytes == file.conflict->contents;
    if (shows_old) error = read_whole(mount_ / file.shown, bytes);
    return !shows_old;
  });
  if (error != expected)
    throw Violation(file.shown + ": reading gives " + std::strerror(error) + ", not " +
                    std::strerror(expected));
  if (!file.now || bytes == file.now->contents) return;
  const auto& contents = file.now->contents;
  const auto at = std::mismatch(bytes.begin(), bytes.end(), contents.begin(), contents.end()).first;
  throw Violation(file.shown + ": " + std::to_string(bytes.size()) + " bytes, not " +
                  std::to_string(contents.size()) + ", from " + std::to_string(at - bytes.begin()) +
                  " on");
}

void Campaign::check_layers(const FileOracle& file) {
  if (!file.now) return;
  for (const auto& [name, value] : file.now->layers) {
    if (file.doubtful_layers.count(name) != 0) continue;
    const auto shown = get_xattr(mount_ / file.shown, kLayerPrefix + name);
    if (shown != std::string(value.begin(), value.end()))
      throw Violation(file.shown + ": vlmetalayer " + name + " has " +
                      (shown ? std::to_string(shown->size()) : "no") + " bytes, not the " +
                      std::to_string(value.size()) + " of SOURCE");
  }
}

/// Checks that SOURCE has everything that fsync has acknowledged.
void Campaign::check_stored(const FileOracle& file) {
  const auto stored = read_frame(file.path_in(source_.path()));
  if (!stored) throw Violation(file.shown + ": not in SOURCE after fsync");
  if (stored->contents != file.now->contents)
    throw Violation(file.shown + ": other contents in SOURCE after fsync");
  for (const std::string& name : file.dirty_layers) {
    const auto layer = stored->layers.find(name);
    if (layer == stored->layers.end() || layer->second != file.now->layers.at(name))
      throw Violation(file.shown + ": vlmetalayer " + name + " is not in SOURCE after fsync");
  }
}

}  // namespace bloscfs::test
