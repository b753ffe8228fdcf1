#include "tests/support/prisoner.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>

#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

constexpr const char* kEscapee = BLOSCFS_TEST_BUILD_ROOT "/tests/support/libescapee.so";

ProcessSettings as(uid_t user) {
  ProcessSettings settings;
  settings.uid = user;
  return settings;
}

void give(const fs_std::path& path, uid_t owner) {
  if (::lchown(path.c_str(), owner, static_cast<gid_t>(owner)) != 0) throw_errno("lchown");
}

}  // namespace

std::set<std::string> ways_out(const Outcomes& outcomes) {
  std::set<std::string> ways;
  for (const auto& [way, outcome] : outcomes)
    if (outcome == "ok") ways.insert(way);
  return ways;
}

fs_std::path copy_for_all(const fs_std::path& file, const TempDir& home) {
  const fs_std::path copy = home / file.filename().string();
  fs_std::copy_file(file, copy);
  return copy;
}

void Prisoner::make_places(uid_t user) const {
  for (const TempDir* directory : {&home_, &source_, &outside_})
    fs_std::permissions(directory->path(), fs_std::perms(0755));
  write_file(outside_ / "secret", "secret");
  fs_std::create_directory(outside_ / "point");
  fs_std::create_symlink(outside_ / "secret", source_ / "way_out");
  write_file(source_ / "a.b2frame", flat_frame(std::string("contents")));
  write_file(home_ / "escapes", "");
  for (const auto& path :
       {outside_.path(), outside_ / "secret", source_.path(), source_ / "way_out",
        source_ / "a.b2frame", home_ / "escapes", folder_.path()})
    give(path, user);
}

Prisoner::Prisoner(uid_t user, std::vector<std::string> options, const std::string& url)
    : victim_({"sleep", "1000"}, (home_ / "victim_log").string(), as(user)) {
  make_places(user);
  MountSettings settings;
  settings.options = std::move(options);
  settings.uid = user;
  settings.program = copy_for_all(bloscfs_program(), home_);
  settings.environment = {"LD_PRELOAD=" + copy_for_all(kEscapee, home_).string(),
                          "BLOSCFS_ESCAPES=" + (home_ / "escapes").string(),
                          "BLOSCFS_OUTSIDE=" + outside_.path().string(),
                          "BLOSCFS_VICTIM=" + std::to_string(victim_.pid())};
  if (std::ranges::count(settings.options, "ro") > 0)
    settings.environment.emplace_back("BLOSCFS_READ_ONLY=1");
  if (!url.empty()) {
    settings.options.push_back("disk_cache=" + folder_.path().string());
    settings.environment.push_back("BLOSCFS_FOLDER=" + folder_.path().string());
  }
  mount_.emplace(url.empty() ? source_.path() : fs_std::path(url), settings);
  // The daemon serves requests once this has succeeded.
  const ProcessResult listed = run({"ls", mount_->path()}, as(user));
  if (!listed.ok()) throw std::runtime_error(listed.description() + mount_->log());
}

Outcomes Prisoner::escape() {
  mount_->signal(SIGUSR1);
  Outcomes outcomes;
  const bool has_ended = comes_true([&] {
    outcomes = outcomes_so_far();
    return outcomes.contains("end") || !mount_->running();
  });
  if (!has_ended) throw std::runtime_error("the daemon tries to get out for ever");
  outcomes.erase("end");
  return outcomes;
}

Outcomes Prisoner::outcomes_so_far() const {
  std::ifstream file(home_ / "escapes");
  Outcomes outcomes;
  for (std::string way, outcome; file >> way >> outcome;) outcomes[way] = outcome;
  return outcomes;
}

}  // namespace bloscfs::test
