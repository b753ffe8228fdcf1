// bloscfs: mounts Blosc2 frames, or a tree of them, as ordinary files.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "frame/remote/url.hpp"
#include "fs/fuse/remount.hpp"
#include "fs/fuse/session.hpp"
#include "fs/options/options.hpp"
#include "fs/support/file_error.hpp"
#include "fs/support/printable.hpp"
#include "tools/help_layout.hpp"
#include "tools/mounted_objects.hpp"
#include "tools/unknown_word.hpp"

namespace {

/// Descriptors 0 to 2 are replaced on the way into the background, so nothing else may be there.
void occupy_standard_descriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd >= 0) ::close(fd);
}

/// Tells what went wrong with `file`, in one line; returns the exit status.
int report(const std::string& file, const std::exception& error) {
  const std::string line = bloscfs::fs::printable(file + ": " + error.what());
  std::fprintf(stderr, "bloscfs: %s\n", line.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  bloscfs::fs::SessionSettings settings;
  std::vector<std::string> option_lists;
  CLI::App app(
      "Mounts Blosc2 frames, Bloscpack files, or a directory tree of them, and shows\n"
      "the decompressed contents as ordinary files.",
      "bloscfs");
  app.formatter(bloscfs::tools::help_layout());
  app.set_help_flag("-h,--help", "print this help");
  app.add_option("SOURCE", settings.source,
                 "frame, sparse frame, or directory; or a URL: http, https, s3")
      ->required();
  app.add_option("MOUNTPOINT", settings.mountpoint, "an existing directory")->required();
  app.add_option("-o", option_lists, "mount options, separated by commas (see below)")
      ->option_text("OPTION,...")
      ->allow_extra_args(false);
  app.add_flag("-f", settings.foreground, "stay in the foreground");
  app.add_flag("-d", settings.debug, "show every request (libfuse's debugging); implies -f");
  app.set_version_flag("-V,--version", "bloscfs " BLOSCFS_VERSION, "print the version");
  app.footer("Mount options:\n" + bloscfs::fs::options_help() +
             "Examples:\n"
             "  bloscfs -o ro,cache_size=512M /data /mnt\n"
             "  bloscfs -o allow_other,idle_timeout=600 run.b2nd /mnt\n"
             "  fusermount3 -u /mnt");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::string what = bloscfs::fs::printable(bloscfs::tools::explanation(error, app));
    std::fprintf(stderr, "bloscfs: %s\nTry 'bloscfs --help'.\n", what.c_str());
    return 2;
  }
  try {
    settings.options = bloscfs::fs::parse_options(option_lists);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bloscfs: %s\n", error.what());
    return 2;
  }
  const bool is_remount = settings.options.remount;
  try {
    if (!is_remount) bloscfs::tools::choose_objects(settings);
    if (is_remount)
      bloscfs::fs::remount(settings.mountpoint, settings.options.passed_on);
    else
      bloscfs::fs::run_session(settings);
  } catch (const bloscfs::fs::FileError& error) {
    return report(error.file(), error);
  } catch (const std::exception& error) {
    return report(is_remount ? settings.mountpoint : bloscfs::frame::shown_url(settings.source),
                  error);
  }
  return 0;
}
