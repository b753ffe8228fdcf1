#include "tests/mount/posix_cases.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using Path = fs_std::path;
using Modes = std::initializer_list<mode_t>;

/// The second link to the file.
constexpr const char* kSecond = "second";
constexpr std::size_t kLongestName = 255;
constexpr uid_t kNewOwner = 12345;
constexpr gid_t kNewGroup = 54321;

int with_open(const Path& path, int flags, const std::function<int(int)>& work) {
  const Fd fd(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  return fd ? errno_of(work(fd.get())) : errno;
}

int open_with(const Path& path, int flags) {
  return with_open(path, flags, [](int) { return 0; });
}

int set_times(const Path& path, timespec accessed, timespec modified, int flags = 0) {
  const timespec times[2] = {accessed, modified};
  return errno_of(::utimensat(AT_FDCWD, path.c_str(), times, flags));
}

int rename_with(const Path& from, const Path& to, unsigned flags) {
  return errno_of(::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags));
}

int make_directory(const Path& path) { return errno_of(::mkdir(path.c_str(), 0755)); }

void link_file(const Path& directory) {
  fs_std::create_hard_link(directory / kFile, directory / kSecond);
}

void link_other(const Path& directory) {
  fs_std::create_hard_link(directory / kOther, directory / kSecond);
}

PosixCase open_case(const std::string& flags_name, const char* name, int flags) {
  return {"open " + std::string(name) + " with " + flags_name,
          [=](const Path& in) { return open_with(in / name, flags); }};
}

PosixCase truncate_case(const char* name, off_t size) {
  return {"truncate " + std::string(name) + " to " + std::to_string(size),
          [=](const Path& in) { return errno_of(::truncate((in / name).c_str(), size)); }};
}

PosixCase file_case(const std::string& name, int flags, const std::function<int(int)>& work) {
  return {name, [=](const Path& in) { return with_open(in / kFile, flags, work); }};
}

PosixCase chmod_case(const char* name, mode_t mode) {
  return {"chmod " + std::string(name),
          [=](const Path& in) { return errno_of(::chmod((in / name).c_str(), mode)); }};
}

PosixCase chown_case(const std::string& what, const char* name, uid_t owner, gid_t group,
                     mode_t mode) {
  return {"lchown " + std::string(name) + " to " + what,
          [=](const Path& in) { return errno_of(::lchown((in / name).c_str(), owner, group)); },
          [=](const Path& in) {
            if (mode != 0) fs_std::permissions(in / name, fs_std::perms(mode));
          }};
}

PosixCase times_case(const std::string& what, const char* name, timespec accessed,
                     timespec modified) {
  return {"utimensat " + std::string(name) + " " + what, [=](const Path& in) {
            return set_times(in / name, accessed, modified, AT_SYMLINK_NOFOLLOW);
          }};
}

PosixCase rename_case(const std::string& from, const std::string& to, unsigned flags = 0) {
  return {
      "rename " + from.substr(0, 20) + " to " + to.substr(0, 20) + " with " + std::to_string(flags),
      [=](const Path& in) { return rename_with(in / from, in / to, flags); }};
}

PosixCase link_case(const std::string& from, const std::string& to) {
  return {"link " + from.substr(0, 20) + " to " + to.substr(0, 20),
          [=](const Path& in) { return errno_of(::link((in / from).c_str(), (in / to).c_str())); }};
}

PosixCase unlink_case(const std::string& name) {
  return {"unlink " + name.substr(0, 20),
          [=](const Path& in) { return errno_of(::unlink((in / name).c_str())); }};
}

PosixCase rmdir_case(const std::string& name) {
  return {"rmdir " + name.substr(0, 20),
          [=](const Path& in) { return errno_of(::rmdir((in / name).c_str())); }};
}

PosixCase mkdir_case(const std::string& name) {
  return {"mkdir " + name.substr(0, 20), [=](const Path& in) { return make_directory(in / name); }};
}

PosixCase symlink_case(const std::string& target, const std::string& name) {
  return {"symlink " + name.substr(0, 20) + " for " + target.substr(0, 20),
          [=](const Path& in) { return errno_of(::symlink(target.c_str(), (in / name).c_str())); }};
}

PosixCase mknod_case(const std::string& name, mode_t mode) {
  return {"mknod " + name.substr(0, 20) + " " + std::to_string(mode & S_IFMT),
          [=](const Path& in) { return errno_of(::mknod((in / name).c_str(), mode, 0)); }};
}

struct User {
  const char* name;
  uid_t user;
  gid_t group;
  std::vector<gid_t> groups = {};
};

/// Makes `as` the effective user while the object lives.
class Acting {
 public:
  explicit Acting(const User& as) {
    if (::setgroups(as.groups.size(), as.groups.data()) != 0 || ::setegid(as.group) != 0 ||
        ::seteuid(as.user) != 0)
      throw_errno("seteuid");
  }
  ~Acting() {
    if (::seteuid(0) != 0 || ::setegid(0) != 0 || ::setgroups(0, nullptr) != 0) std::abort();
  }
  Acting(const Acting&) = delete;
  Acting& operator=(const Acting&) = delete;
};

PosixCase by_nobody(PosixCase made, mode_t directory_mode) {
  made.name += " by nobody in a directory of mode " + std::to_string(directory_mode);
  made.act = [act = std::move(made.act)](const Path& in) {
    const Acting as_nobody({"nobody", nobody(), static_cast<gid_t>(nobody())});
    return act(in);
  };
  made.prepare = [prepare = std::move(made.prepare), directory_mode](const Path& in) {
    if (prepare) prepare(in);
    fs_std::permissions(in, fs_std::perms(directory_mode));
  };
  return made;
}

}  // namespace

std::vector<PosixCase> attribute_cases() {
  constexpr timespec kThen{1'000'000'000, 123'456'789};
  constexpr timespec kNow{0, UTIME_NOW}, kOmit{0, UTIME_OMIT};
  constexpr auto kSame = static_cast<std::uint32_t>(-1);
  std::vector<PosixCase> cases;
  for (const char* name : {kFile, kEmpty, kLink, kLoop, "missing", "f/below"}) {
    cases.push_back(chmod_case(name, 0640));
    cases.push_back(chown_case("another user", name, kNewOwner, kNewGroup, 0));
    cases.push_back(chown_case("another group", name, kSame, kNewGroup, 0));
    cases.push_back(chown_case("nobody else", name, kSame, kSame, 0));
    cases.push_back(times_case("to a time", name, kThen, kThen));
    cases.push_back(times_case("to now", name, kNow, kNow));
    cases.push_back(times_case("to its times", name, kOmit, kOmit));
    cases.push_back(times_case("of access alone", name, kThen, kOmit));
    cases.push_back(times_case("of modification alone", name, kOmit, kNow));
    for (const off_t size : {0, 3, 8, 100'000}) cases.push_back(truncate_case(name, size));
    cases.push_back(truncate_case(name, -1));
    cases.push_back(open_case("O_RDONLY", name, O_RDONLY));
    cases.push_back(open_case("O_WRONLY", name, O_WRONLY));
    cases.push_back(open_case("O_TRUNC", name, O_WRONLY | O_TRUNC));
    cases.push_back(open_case("O_CREAT", name, O_WRONLY | O_CREAT));
    cases.push_back(open_case("O_CREAT and O_TRUNC", name, O_WRONLY | O_CREAT | O_TRUNC));
    cases.push_back(open_case("O_EXCL", name, O_WRONLY | O_CREAT | O_EXCL));
    cases.push_back(open_case("O_DIRECTORY", name, O_RDONLY | O_DIRECTORY));
    cases.push_back(open_case("O_NOFOLLOW", name, O_RDONLY | O_NOFOLLOW));
  }
  for (const mode_t mode : Modes{06777, 06767})
    for (const uid_t owner : {kSame, kNewOwner})
      cases.push_back(
          chown_case("lose bits of " + std::to_string(mode), kFile, owner, kSame, mode));
  const auto write = [](std::size_t size) {
    return [=](int fd) { return static_cast<int>(::write(fd, "contents", size)); };
  };
  cases.push_back(file_case("write", O_WRONLY, write(8)));
  cases.push_back(file_case("append", O_WRONLY | O_APPEND, write(8)));
  cases.push_back(file_case("write nothing", O_WRONLY, write(0)));
  cases.push_back(file_case("write to a reader", O_RDONLY, write(1)));
  for (const off_t size : {0, 3, 8, 100'000, -1})
    cases.push_back(file_case("ftruncate to " + std::to_string(size), O_WRONLY,
                              [=](int fd) { return ::ftruncate(fd, size); }));
  for (const int mode :
       {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE})
    cases.push_back(file_case("fallocate " + std::to_string(mode), O_WRONLY,
                              [=](int fd) { return ::fallocate(fd, mode, 2, 4); }));
  cases.push_back(file_case("fallocate beyond the end", O_WRONLY,
                            [](int fd) { return ::fallocate(fd, 0, 0, 5000); }));
  cases.push_back(file_case("fchmod", O_RDONLY, [](int fd) { return ::fchmod(fd, 0600); }));
  cases.push_back(file_case("fsetxattr", O_RDONLY,
                            [](int fd) { return ::fsetxattr(fd, "user.note", "value", 5, 0); }));
  cases.push_back(file_case("fremovexattr of a missing one", O_RDONLY,
                            [](int fd) { return ::fremovexattr(fd, "user.note"); }));
  return cases;
}

std::vector<PosixCase> name_cases() {
  const std::string longest(kLongestName, 'n'), too_long(kLongestName + 1, 'n');
  const std::string long_path = "d/" + std::string(4096, '/') + "n";
  std::vector<PosixCase> cases;
  const std::vector<std::string> places = {"new",   kFile,    kOther,    kEmpty,        kFull,
                                           kLink,   kLoop,    "d/new",   "missing/new", "f/below",
                                           longest, too_long, long_path, "loop/new"};
  for (const std::string& to : places) {
    for (const std::string& from : std::vector<std::string>{kFile, kEmpty, kFull, kLink, "missing"})
      cases.push_back(rename_case(from, to));
    cases.push_back(link_case(kFile, to));
    cases.push_back(unlink_case(to));
    cases.push_back(rmdir_case(to));
    cases.push_back(mkdir_case(to));
    cases.push_back(symlink_case("somewhere", to));
    cases.push_back(mknod_case(to, S_IFIFO | 0644));
    cases.push_back({"create " + to.substr(0, 20), [=](const Path& in) {
                       return open_with(in / to, O_WRONLY | O_CREAT | O_EXCL);
                     }});
  }
  for (const unsigned flags : std::initializer_list<unsigned>{RENAME_NOREPLACE, RENAME_EXCHANGE})
    for (const char* to : {"new", kOther, kEmpty, kFull, kLink, "e/inside"})
      cases.push_back(rename_case(kFile, to, flags));
  cases.push_back(rename_case(kEmpty, "e/moved"));
  cases.push_back(rename_case(kFull, "d/moved"));
  cases.push_back(rename_case(kFull, "e/below/itself"));
  cases.push_back(rename_case(kFull, "e/itself"));
  cases.push_back(rename_case(kFile, "e/inside"));
  cases.push_back(rename_case("e/inside", kFile));
  cases.push_back(rename_case("e/.", "new"));
  cases.push_back(rename_case(kEmpty, "."));
  cases.push_back(rename_case(kFile, "d/"));
  cases.push_back(rename_case(kFull, "new/"));
  for (const char* from : {kEmpty, kLink, "missing", "f/below"})
    cases.push_back(link_case(from, "new"));
  for (const char* name : {"e/inside", "e/.", ".", ".."}) cases.push_back(unlink_case(name));
  for (const char* name : {"d/.", "e/..", "d/"}) cases.push_back(rmdir_case(name));
  cases.push_back(symlink_case("", "new"));
  cases.push_back(symlink_case(std::string(4095, 't'), "new"));
  cases.push_back(symlink_case(std::string(4096, 't'), "new"));
  for (const mode_t mode : Modes{S_IFREG, S_IFCHR, S_IFSOCK})
    cases.push_back(mknod_case("new", mode | 0644));
  for (PosixCase made : {unlink_case(kFile), rename_case(kFile, "new"), rename_case(kFile, kOther),
                         rename_case(kFile, kSecond), rename_case(kOther, kFile),
                         chmod_case(kFile, 0600), truncate_case(kFile, 3),
                         rename_case(kOther, kSecond), rename_case(kFile, kOther, RENAME_EXCHANGE),
                         unlink_case(kSecond), link_case(kSecond, "third")}) {
    made.name += " that has two links";
    made.prepare = link_file;
    cases.push_back(std::move(made));
  }
  for (PosixCase made :
       {rename_case(kFile, kOther), rename_case(kEmpty, kOther),
        rename_case(kFile, kOther, RENAME_EXCHANGE), rename_case(kFile, kSecond)}) {
    made.name += " where the other has two links";
    made.prepare = link_other;
    cases.push_back(std::move(made));
  }
  return cases;
}

std::vector<PosixCase> stranger_cases() {
  constexpr timespec kThen{1'000'000'000, 0}, kNow{0, UTIME_NOW};
  constexpr auto kSame = static_cast<std::uint32_t>(-1);
  std::vector<PosixCase> cases;
  for (const mode_t mode : Modes{0755, 0777, 01777, 0700, 0744})
    for (PosixCase made : {chmod_case(kFile, 0600),
                           chown_case("nobody", kFile, nobody(), kSame, 0),
                           times_case("to a time", kFile, kThen, kThen),
                           times_case("to now", kFile, kNow, kNow),
                           truncate_case(kFile, 0),
                           open_case("O_RDONLY", kFile, O_RDONLY),
                           open_case("O_WRONLY", kFile, O_WRONLY),
                           open_case("O_CREAT", "new", O_WRONLY | O_CREAT),
                           mkdir_case("new"),
                           symlink_case("f", "new"),
                           mknod_case("new", S_IFIFO | 0644),
                           mknod_case("new", S_IFCHR | 0644),
                           link_case(kFile, "new"),
                           unlink_case(kFile),
                           rmdir_case(kEmpty),
                           rename_case(kFile, "new"),
                           rename_case(kFile, kOther),
                           rename_case(kEmpty, "e/moved"),
                           rename_case("missing", "new"),
                           unlink_case("missing")})
      cases.push_back(by_nobody(std::move(made), mode));
  return cases;
}

std::vector<PosixCase> privilege_cases() {
  constexpr auto kSame = static_cast<std::uint32_t>(-1);
  constexpr gid_t kOtherGroup = 4321;
  const std::vector<User> users = {{"root", 0, 0},
                                   {"an owner", kNewOwner, kOtherGroup},
                                   {"an owner in the group", kNewOwner, kOtherGroup, {kNewGroup}},
                                   {"a member of the group", 2000, 2000, {kNewGroup}},
                                   {"a stranger", 2000, 2000}};
  const auto write = [](int fd) { return static_cast<int>(::write(fd, "contents", 8)); };
  const auto write_page = [](int fd) {
    alignas(4096) static const std::array<char, 4096> kPage{};
    return static_cast<int>(::write(fd, kPage.data(), kPage.size()));
  };
  std::vector<PosixCase> changes = {
      file_case("write", O_WRONLY, write),
      file_case("write directly", O_WRONLY | O_DIRECT, write_page),
      file_case("append", O_WRONLY | O_APPEND, write),
      truncate_case(kFile, 3),
      truncate_case(kFile, 8),
      open_case("O_TRUNC", kFile, O_WRONLY | O_TRUNC),
      file_case("ftruncate", O_WRONLY, [](int fd) { return ::ftruncate(fd, 5); })};
  for (const int mode : {0, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE})
    changes.push_back(file_case("fallocate " + std::to_string(mode), O_WRONLY,
                                [=](int fd) { return ::fallocate(fd, mode, 0, 20'000); }));
  const std::size_t by_contents = changes.size();
  changes.push_back(chown_case("another group", kFile, kSame, kOtherGroup, 0));
  changes.push_back(chown_case("nobody else", kFile, kSame, kSame, 0));
  std::vector<PosixCase> cases;
  for (std::size_t i = 0; i < changes.size(); ++i)
    for (const User& user : users)
      for (const mode_t mode : Modes{06777, 06767, 02767}) {
        // If another user calls chown() without a new owner, the kernel's request looks like that
        // of a write.
        if (i > by_contents && user.user != 0 && user.user != kNewOwner) continue;
        cases.push_back({changes[i].name + " by " + user.name + ", mode " + std::to_string(mode),
                         [act = changes[i].act, user](const Path& in) {
                           const Acting acting(user);
                           return act(in);
                         },
                         [=](const Path& in) {
                           if (::chown((in / kFile).c_str(), kNewOwner, kNewGroup) != 0)
                             throw_errno("chown");
                           fs_std::permissions(in / kFile, fs_std::perms(mode));
                         }});
      }
  return cases;
}

}  // namespace bloscfs::test
