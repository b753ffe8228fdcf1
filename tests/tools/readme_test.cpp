// The commands in README.md and GUIDE.md must print what is shown there. Those in the EXAMPLES of
// the manual pages must succeed.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <boost/algorithm/string/replace.hpp>
#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/tools/help_text.hpp"
#include "tests/tools/page.hpp"

namespace {

using namespace bloscfs::test;

struct ShownCommand {
  std::string line, output;
};

std::vector<std::string> lines_of(const char* document) {
  std::ifstream stream(fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / document);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Returns the commands behind "    $ ", each with the indented lines that follow it.
std::vector<ShownCommand> shown_commands(const char* document) {
  const std::string indent = "    ", prompt = "    $ ";
  std::vector<ShownCommand> commands;
  bool is_output = false;
  for (const std::string& line : lines_of(document)) {
    if (line.starts_with(prompt))
      commands.push_back({line.substr(prompt.size()), ""});
    else if (is_output && line.starts_with(indent))
      commands.back().output += line.substr(indent.size()) + "\n";
    is_output = line.starts_with(prompt) || (is_output && line.starts_with(indent));
  }
  return commands;
}

/// A directory in place of the documents' /tmp. The destructor unmounts the mounts in it.
class TourPlace {
 public:
  ~TourPlace() {
    for (const char* name : {"mnt", "cases"}) force_unmount(home_ / name);
  }

  ProcessResult run_shown(const std::string& line) const {
    const std::string tools = fs_std::path(bloscfs_program()).parent_path().string(),
                      python = fs_std::path(numpy_python()).parent_path().string();
    ProcessSettings settings;
    settings.environment = {"PATH=" + tools + ":" + python + ":" + std::getenv("PATH"),
                            "PYTHONPATH=" BLOSCFS_TEST_SOURCE_ROOT "/tools/python",
                            "PYTHONDONTWRITEBYTECODE=1"};
    return run({"bash", "-c", "cd '" BLOSCFS_TEST_SOURCE_ROOT "' && " + here(line)}, settings);
  }
  std::string here(const std::string& text) const {
    return boost::replace_all_copy(text, "/tmp/", home_.path().string() + "/");
  }

 private:
  TempDir home_;
};

/// Makes the files that the examples of the pages name. $1 is the root of the sources.
constexpr const char* kExampleFiles = R"(
set -e
mkdir -p data mnt bin var/log var/spool/rescue
ln -s $(command -v bloscfs) bin/mount.bloscfs
python3 - <<END
import numpy as np
run = np.arange(120 * 30 * 4, dtype="<f4").reshape(120, 30, 4)
for name in "run", "field", "measured":
    np.save(name, run)
np.savez("arrays.npz", a=run, b=run[0])
np.arange(5000, dtype="<i4").tofile("x")
np.arange(5000, dtype="<i4").tofile("records.bin")
with open("trips.csv", "w") as table:
    print("id,name,note,x,y", file=table)
    for row in range(40):
        print(f"{row},n{row},text,{row / 2},{row / 4}", file=table)
END
echo '{"by": "anna"}' > note.json
b2frame create run.npy -o run.b2nd
seq 300000 | b2frame create - -o log.b2frame
cp run.b2nd log.b2frame data
cp "$1/tests/data/bloscpack/numpy-0.blp" old.blp
b2frame convert old.blp -o old.b2nd
b2frame create trips.csv -o trips.b2d
b2frame pack trips.b2d -o trips.b2z
cp trips.b2z table.b2z
b2frame create arrays.npz -o run.b2d
mkdir run.b2d/temperature run.b2d/temp
cp run.b2nd run.b2d/day.b2nd
cp run.b2nd run.b2d/temperature
mv run.b2d/temperature/run.b2nd run.b2d/temperature/day.b2nd
cp run.b2nd run.b2d/temp/x.b2nd
mv trips.b2d run.b2d/trips
rm run.b2d/trips/embed.b2e
b2frame unpack "$1/tests/data/tables/null_struct.b2z" -o structs.b2d
mv structs.b2d/_cols/v.b2b run.b2d/events.b2b
b2frame pack run.b2d -o run.b2z
cp run.b2z old.b2z
cp run.b2z new.b2z
rm -r run.b2d structs.b2d
)";

/// Words of the examples that are not run, with the reason.
constexpr std::pair<const char*, const char*> kNotRun[] = {
    {"https://", "needs a host of the network"},
    {"s3://", "needs an object store"},
    {"<<END", "writes to /etc"},
    {"systemctl", "needs systemd"},
    {"systemd-run", "needs systemd"},
    {"--watch", "runs until it is interrupted"},
};

bool is_run(const std::string& line) {
  // An ordinary user may not share mounts, as fuse.conf usually is.
  if (::geteuid() != 0 && line.find("allow_other") != std::string::npos) return false;
  return std::none_of(std::begin(kNotRun), std::end(kNotRun),
                      [&](const auto& row) { return line.find(row.first) != std::string::npos; });
}

/// A directory with the files of the examples, in place of the working directory, /data, /mnt and
/// /var. The destructor unmounts.
class ExamplePlace {
 public:
  ExamplePlace() {
    const ProcessResult made = run_here(kExampleFiles);
    BOOST_TEST_REQUIRE(made.ok(), made.description());
  }
  ~ExamplePlace() { unmount(); }

  void unmount() const { force_unmount(home_ / "mnt"); }
  ProcessResult run_example(std::string line) const {
    for (const char* path : {"/data", "/mnt", "/var/"})
      boost::replace_all(line, path, home_.path().string() + path);
    for (const char* prefix : {"uid=", "u:"})
      boost::replace_all(line, std::string(prefix) + "anna", std::string(prefix) + "nobody");
    return run_here(line);
  }

 private:
  ProcessResult run_here(const std::string& script) const {
    const std::string tools = fs_std::path(bloscfs_program()).parent_path().string(),
                      python = fs_std::path(numpy_python()).parent_path().string();
    ProcessSettings settings;
    settings.environment = {"PATH=" + (home_ / "bin").string() + ":" + tools + ":" + python + ":" +
                            std::getenv("PATH")};
    return run({"bash", "-o", "pipefail", "-c", "cd '" + home_.path().string() + "' && " + script,
                "bash", BLOSCFS_TEST_SOURCE_ROOT},
               settings);
  }

  TempDir home_;
};

/// Joins the lines of one command: those that end in a backslash, and those of a here-document.
std::vector<std::string> commands_of(const std::vector<std::string>& lines) {
  std::vector<std::string> commands;
  bool continues = false, is_document = false;
  for (const std::string& line : lines) {
    if (continues || is_document)
      commands.back() += "\n" + line;
    else
      commands.push_back(line);
    continues = line.ends_with('\\');
    is_document = (is_document || line.find("<<END") != std::string::npos) && line != "END";
  }
  return commands;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(readme)

BOOST_AUTO_TEST_CASE(what_it_shows_can_be_followed,
                     *boost::unit_test::precondition(needs_numpy) *
                         boost::unit_test::precondition(needs_programs("getfattr flock"))) {
  for (const char* document : {"README.md", "GUIDE.md"}) {
    const TourPlace place;
    const std::vector<ShownCommand> commands = shown_commands(document);
    BOOST_TEST(!commands.empty());
    for (const ShownCommand& command : commands) {
      const ProcessResult result = place.run_shown(command.line);
      BOOST_TEST(result.ok(), command.line << ": " << result.description());
      BOOST_TEST(result.out == place.here(command.output), command.line << ":\n" << result.out);
      BOOST_TEST(result.err == "", command.line << ": " << result.err);
    }
  }
}

BOOST_AUTO_TEST_CASE(
    the_examples_of_the_pages_can_be_followed,
    *boost::unit_test::precondition(needs_numpy) *
        boost::unit_test::precondition(needs_programs("getfattr jq less od setfacl"))) {
  for (const auto& entry : fs_std::directory_iterator(pages_folder())) {
    const Page page = read_page(entry.path());
    if (page.examples.empty()) continue;
    const ExamplePlace place;
    for (const std::vector<std::string>& block : page.examples) {
      // Other blocks go on with the mount of the block before.
      if (!block.front().starts_with("bloscfs --")) place.unmount();
      for (const std::string& line : commands_of(block)) {
        if (!is_run(line)) continue;
        const ProcessResult result = place.run_example(line);
        BOOST_TEST((result.ok() && result.err == ""),
                   page.name << ": " << line << ": " << result.description());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(it_tells_what_each_subcommand_is_for) {
  std::string text;
  for (const std::string& line : lines_of("README.md")) text += line + "\n";
  for (const HelpText& help : help_of_subcommands())
    BOOST_TEST(text.find("`b2frame " + help.subcommand + " ") != std::string::npos,
               "README.md has no row for b2frame " << help.subcommand);
}

BOOST_AUTO_TEST_SUITE_END()
