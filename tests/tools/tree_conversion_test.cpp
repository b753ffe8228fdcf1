// Tests `create -r` and `extract -r`, which convert a tree to frames and back, as a mount would
// show it.

#include <algorithm>
#include <csignal>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/npy.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;

void set_mtime(const fs_std::path& path, std::time_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 123}};
  BOOST_TEST(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
}

struct stat status_of(const fs_std::path& path) {
  struct stat st {};
  BOOST_TEST(::lstat(path.c_str(), &st) == 0, path);
  return st;
}

/// A tree with everything that a mount keeps, and the directories of the results.
struct PlainFiles {
  PlainFiles() {
    fs_std::create_directories(source / "sub/deep");
    fs_std::create_directory(source / "empty");
    const ByteVector items = make_contents("floats", 1, 30000 * 8, 8);
    const std::string array =
        npy_header("<f8", {300, 100}) + std::string(items.begin(), items.end());
    write_file(source / "array.npy", array);
    write_file(source / "cut.npy", std::string_view(array).substr(0, 5000));
    write_file(source / "chunks", std::string_view("called as an index"));
    write_file(source / "sub/noise", make_contents("noise", 1, 3 << 20, 1));
    write_file(source / "sub/a b\n", std::string_view("odd name"));
    write_file(source / "sub/deep/nothing", std::string_view(""));
    write_file(source / "sub/deep/x.b2frame", std::string_view("no frame"));
    fs_std::create_symlink("array.npy", source / "link");
    fs_std::create_symlink("/nowhere/at/all", source / "dangling");
    BOOST_TEST(::chmod((source / "sub/noise").c_str(), 0640) == 0);
    BOOST_TEST(::chmod((source / "sub").c_str(), 0750) == 0);
    BOOST_TEST(::chmod((source / "sub/deep").c_str(), 0555) == 0);
    for (const char* name : {"array.npy", "link", "empty", "sub/deep/nothing", "sub/deep", "sub"})
      set_mtime(source / name, 1000000000);
  }
  ~PlainFiles() {
    // Otherwise the directories cannot be removed.
    for (const fs_std::path& root : {source, frames, back})
      ::chmod((root / "sub/deep").c_str(), 0755);
  }
  PlainFiles(const PlainFiles&) = delete;
  PlainFiles& operator=(const PlainFiles&) = delete;

  ProcessResult create() const {
    return b2frame({"create", "-r", source.string(), "-o", frames.string()});
  }
  ProcessResult extract() const {
    return b2frame({"extract", "-r", frames.string(), "-o", back.string()});
  }

  TempDir home;
  const fs_std::path source = home / "source", frames = home / "frames", back = home / "back";
};

/// Compares contents, types, modes, times and targets of symlinks.
void check_same_tree(const fs_std::path& a, const fs_std::path& b) {
  const ProcessResult result = run({"diff", "-r", "--no-dereference", a.string(), b.string()});
  BOOST_TEST(result.ok(), result.out + result.description());
  for (const auto& entry : fs_std::recursive_directory_iterator(a)) {
    const struct stat one = status_of(entry.path());
    const struct stat other = status_of(b / entry.path().lexically_relative(a));
    BOOST_TEST(one.st_mode == other.st_mode, entry.path());
    BOOST_TEST(one.st_mtim.tv_sec == other.st_mtim.tv_sec, entry.path());
    BOOST_TEST(one.st_mtim.tv_nsec == other.st_mtim.tv_nsec, entry.path());
  }
}

bool has_temporaries(const fs_std::path& directory) {
  std::error_code ignored;
  for (const auto& entry : fs_std::recursive_directory_iterator(directory, ignored))
    if (entry.path().filename().string().starts_with(".bloscfs-")) return true;
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_tree_conversion)

BOOST_AUTO_TEST_CASE(a_tree_comes_back_as_it_was_also_through_a_mount) {
  const PlainFiles files;
  const ProcessResult made = files.create();
  BOOST_TEST(made.ok(), made.description());
  for (const char* name : {"array.b2nd", "cut.npy.b2frame", "chunks.b2frame", "sub/noise.b2frame",
                           "sub/deep/x.b2frame.b2frame"})
    BOOST_TEST(fs_std::exists(files.frames / name), name);
  BOOST_TEST(info_of(files.frames / "array.b2nd").at("shape") == (nlohmann::json{300, 100}));
  BOOST_TEST(b2frame({"verify", "-r", files.frames.string()}).ok());
  {
    MountSettings settings;
    settings.options = {"ro"};
    const Mount mount(files.frames, settings);
    check_same_tree(files.source, mount.path());
  }
  const ProcessResult extracted = files.extract();
  BOOST_TEST(extracted.ok(), extracted.description());
  check_same_tree(files.source, files.back);
  BOOST_TEST(!has_temporaries(files.home.path()));
}

BOOST_AUTO_TEST_CASE(what_is_done_is_left_and_what_has_changed_is_done_again) {
  const PlainFiles files;
  BOOST_TEST(files.create().ok());
  BOOST_TEST(files.extract().ok());
  const auto inode = [&](const fs_std::path& path) { return status_of(path).st_ino; };
  const fs_std::path kept = files.frames / "array.b2nd", changed = files.frames / "chunks.b2frame";
  const ino_t kept_before = inode(kept), back_before = inode(files.back / "array.npy");
  write_file(files.source / "chunks", std::string_view("CALLED AS AN INDEX"));
  set_mtime(files.source / "chunks", 1500000000);
  fs_std::remove(files.frames / "sub/noise.b2frame");
  const ProcessResult again = files.create();
  BOOST_TEST(again.ok(), again.description());
  BOOST_TEST(inode(kept) == kept_before);
  BOOST_TEST(extracted(changed) == "CALLED AS AN INDEX");
  BOOST_TEST(fs_std::exists(files.frames / "sub/noise.b2frame"));
  BOOST_TEST(files.extract().ok());
  BOOST_TEST(inode(files.back / "array.npy") == back_before);
  check_same_tree(files.source, files.back);
}

BOOST_AUTO_TEST_CASE(what_was_changed_since_is_not_overwritten) {
  const PlainFiles files;
  BOOST_TEST(files.create().ok());
  BOOST_TEST(files.extract().ok());
  // Older than the file that it was made from, and of the same size.
  const fs_std::path frame = files.frames / "chunks.b2frame", file = files.back / "chunks";
  write_file(files.home / "mine", std::string_view("my own contents"));
  BOOST_TEST(b2frame({"create", files.home / "mine", "-o", frame.string()}).ok());
  write_file(file, std::string_view("mine"));
  for (const auto& path : {frame, file}) set_mtime(path, 1000000000);
  write_file(files.source / "sub/noise", std::string_view("new"));
  const auto run_again = [&](const std::string& command, const fs_std::path& from,
                             const fs_std::path& to, const char* option) {
    Arguments arguments{command, "-r", from.string(), "-o", to.string()};
    if (*option != '\0') arguments.emplace_back(option);
    return b2frame(arguments);
  };
  const auto refused = run_again("create", files.source, files.frames, "");
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err ==
             "b2frame: " + (files.source / "chunks").string() + ": " + frame.string() +
                 " was changed after it was made; kept it (--force overwrites it)\n");
  BOOST_TEST(extracted(frame) == "my own contents");
  BOOST_TEST(extracted(files.frames / "sub/noise.b2frame") == "new");
  BOOST_TEST(run_again("create", files.source, files.frames, "--update").ok());
  BOOST_TEST(extracted(frame) == "my own contents");
  const auto told = run_again("create", files.source, files.home / "not there", "-n");
  BOOST_TEST(told.ok(), told.description());
  BOOST_TEST(told.out.find("not there/chunks.b2frame\n") != std::string::npos);
  BOOST_TEST(!fs_std::exists(files.home / "not there"));

  BOOST_TEST(run_again("extract", files.frames, files.back, "").status == 1);
  BOOST_TEST(read_file(file) == bytes_of("mine"));
  BOOST_TEST(read_file(files.back / "sub/noise") == bytes_of("new"));
  BOOST_TEST(run_again("extract", files.frames, files.back, "--force").ok());
  BOOST_TEST(read_file(file) == bytes_of("my own contents"));
  BOOST_TEST(run_again("create", files.source, files.frames, "--force").ok());
  BOOST_TEST(extracted(frame) != "my own contents");
  BOOST_TEST(b2frame({"create", "--force", file.string(), "-o", frame.string()}).status == 2);
}

BOOST_AUTO_TEST_CASE(tells_how_many_files_an_earlier_run_has_made) {
  const PlainFiles files;
  BOOST_TEST(files.create().err.empty());
  for (const char* option : {"--force", "--checksum"}) {
    const ProcessResult again =
        b2frame({"create", "-r", option, files.source.string(), "-o", files.frames.string()});
    BOOST_TEST(again.ok(), again.description());
    BOOST_TEST(again.err.find(": 7 files are kept from an earlier run") != std::string::npos,
               again.err);
  }
  BOOST_TEST(b2frame({"create", "-r", "--schema", "a:int8", files.source.string(), "-o",
                      files.frames.string()})
                 .status == 2);
  const ProcessResult one =
      b2frame({"create", "-r", (files.source / "array.npy").string(), "-o", "x"});
  BOOST_TEST(one.status == 2);
  BOOST_TEST(one.err.find("-r stores a directory; leave it out") != std::string::npos, one.err);
}

BOOST_AUTO_TEST_CASE(an_interrupted_run_can_be_taken_up) {
  const PlainFiles files;
  for (int i = 0; i < 8; i++)
    write_file(files.source / ("big" + std::to_string(i)),
               make_contents("text", static_cast<std::uint64_t>(i), 8 << 20, 1));
  Child child({B2FRAME, "create", "-r", "--clevel", "9", files.source.string(), "-o",
               files.frames.string()},
              (files.home / "log").string());
  comes_true([&] { return !child.running() || fs_std::exists(files.frames / "big0.b2frame"); });
  child.signal(SIGINT);
  BOOST_TEST(child.wait(Seconds{60}));
  BOOST_TEST(child.result().signal == SIGINT);
  BOOST_TEST(!has_temporaries(files.frames));
  const ino_t first = status_of(files.frames / "big0.b2frame").st_ino;
  BOOST_TEST(files.create().ok());
  BOOST_TEST(status_of(files.frames / "big0.b2frame").st_ino == first);
  BOOST_TEST(files.extract().ok());
  check_same_tree(files.source, files.back);
}

BOOST_AUTO_TEST_CASE(nothing_is_written_outside_whatever_stands_there) {
  const PlainFiles files;
  const fs_std::path outside = files.home / "outside";
  fs_std::create_directories(outside);
  write_file(outside / "victim", std::string_view("as it was"));
  for (const fs_std::path& target : {files.frames, files.back}) {
    fs_std::create_directory(target);
    fs_std::create_symlink(outside, target / "sub");
    fs_std::create_symlink(outside / "victim", target / "chunks");
    fs_std::create_symlink(outside / "victim", target / "chunks.b2frame");
  }
  const ProcessResult made = files.create();
  BOOST_TEST(made.status == 1);
  BOOST_TEST(made.err.find("/sub: exists and is not a directory") != std::string::npos, made.err);
  BOOST_TEST(made.err.find("chunks.b2frame was changed after it was made") != std::string::npos,
             made.err);
  BOOST_TEST(fs_std::exists(files.frames / "array.b2nd"));
  const fs_std::path frames = files.home / "others";
  BOOST_TEST(b2frame({"create", "-r", files.source.string(), "-o", frames.string()}).ok());
  const ProcessResult extracted =
      b2frame({"extract", "-r", frames.string(), "-o", files.back.string()});
  ::chmod((frames / "sub/deep").c_str(), 0755);
  BOOST_TEST(extracted.status == 1);
  BOOST_TEST(extracted.err.find("/sub: exists and is not a directory") != std::string::npos,
             extracted.err);
  BOOST_TEST(fs_std::exists(files.back / "array.npy"));
  BOOST_TEST(
      (read_file(outside / "victim") == ByteVector{'a', 's', ' ', 'i', 't', ' ', 'w', 'a', 's'}));
  BOOST_TEST(std::distance(fs_std::directory_iterator(outside), {}) == 1);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_kept_is_told_and_the_rest_is_done) {
  const PlainFiles files;
  BOOST_TEST(::mkfifo((files.source / "fifo").c_str(), 0600) == 0);
  write_file(files.source / ".bloscfs-0123456789abcdef.tmp", std::string_view("hidden"));
  const ProcessResult made = files.create();
  BOOST_TEST(made.status == 1);
  BOOST_TEST(made.err.find("/fifo: is left out") != std::string::npos, made.err);
  BOOST_TEST(fs_std::exists(files.frames / "sub/noise.b2frame"));
  const ProcessResult inside =
      b2frame({"create", "-r", files.source.string(), "-o", (files.source / "empty/x").string()});
  BOOST_TEST(inside.status == 1);
  BOOST_TEST(inside.err.find("is in the directory that is read") != std::string::npos, inside.err);
  for (const Arguments& nonsense :
       {Arguments{"create", "-r", "--chunk-shape", "1,1"}, Arguments{"extract", "-r", "--npy"}})
    BOOST_TEST(
        b2frame(nonsense + Arguments{files.source.string(), "-o", files.back.string()}).status ==
        2);
}

BOOST_AUTO_TEST_SUITE_END()
