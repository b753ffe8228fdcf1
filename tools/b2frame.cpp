// b2frame: works on frames without mounting them. Parses the command line and calls a subcommand.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "codec/names.hpp"
#include "frame/remote/open_remote.hpp"
#include "fs/options/option_values.hpp"
#include "fs/support/log.hpp"
#include "fs/support/printable.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/interrupt.hpp"
#include "tools/metalayer_file.hpp"

namespace {

using namespace bloscfs::tools;

[[noreturn]] void refuse(const std::string& text, const std::string& what) {
  throw CLI::ValidationError("'" + text + "' is not " + what);
}

/// Reads a byte count; nothing but decimal digits will do.
std::int64_t parse_bytes(const std::string& text) {
  const auto value = bloscfs::fs::parse_number(text);
  if (!value) refuse(text, "a number of bytes");
  return *value;
}

std::int32_t parse_size(const std::string& text) {
  const auto size = bloscfs::fs::parse_size(text);
  if (!size || *size < 1 || *size > bloscfs::codec::kMaxChunkNbytes)
    refuse(text, "a size below 2G, such as 512K or 4M");
  return static_cast<std::int32_t>(*size);
}

bloscfs::fs::CodecChoice parse_codec(const std::string& text) {
  const auto codec = bloscfs::fs::parse_codec(text);
  if (!codec) refuse(text, "one of " + bloscfs::codec::list_written_codecs("and"));
  return *codec;
}

bloscfs::fs::FilterSteps parse_filters(const std::string& text) {
  const auto filters = bloscfs::fs::parse_filters(text, ',');
  if (!filters)
    refuse(text, "none, nor up to six of " + bloscfs::codec::list_written_filters("and"));
  return *filters;
}

std::vector<std::int32_t> parse_shape(const std::string& text) {
  std::vector<std::int32_t> shape;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto extent = bloscfs::fs::parse_number(text.substr(at, end - at));
    if (!extent || *extent < 1 || *extent > std::numeric_limits<std::int32_t>::max())
      refuse(text, "a shape, such as 100,200");
    shape.push_back(static_cast<std::int32_t>(*extent));
    at = end + 1;
  }
  return shape;
}

std::vector<std::uint8_t> parse_json(const std::string& text) {
  try {
    return msgpack_of(text);
  } catch (const std::runtime_error&) {
    refuse(text, "JSON that a metalayer can hold");
  }
}

/// Reads NAME=FILE or NAME:=JSON for a list that has no layer of that name yet.
NamedLayer parse_layer(const std::string& text, const std::vector<NamedLayer>& known) {
  constexpr std::size_t kMaxName = 31;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) refuse(text, "of the form NAME=FILE or NAME:=JSON");
  const bool is_json = equals > 0 && text[equals - 1] == ':';
  NamedLayer layer{text.substr(0, equals - (is_json ? 1 : 0)), {}, std::nullopt};
  if (is_json)
    layer.content = parse_json(text.substr(equals + 1));
  else
    layer.file = text.substr(equals + 1);
  if (layer.name.empty() || layer.name.size() > kMaxName)
    refuse(layer.name, "a name of 1 to 31 bytes");
  if (layer.name == "b2nd" || layer.name == "caterva" || layer.name == "bloscfs.xxh3")
    refuse(layer.name, "a name to choose: its content is fixed");
  for (const NamedLayer& other : known)
    if (other.name == layer.name) refuse(layer.name, "a name to be given twice");
  return layer;
}

/// Refuses URLs where only local files will do.
CLI::Validator local() {
  return CLI::Validator(
      [](std::string& text) {
        return bloscfs::frame::is_remote(text)
                   ? std::string("URLs are read only, by info, list, extract, cat and verify")
                   : std::string();
      },
      "");
}

class CommandLine {
 public:
  CommandLine() {
    app_.set_version_flag("-V,--version", std::string("b2frame ") + BLOSCFS_VERSION);
    app_.set_help_flag("-h,--help", "Print this help message and exit");
    app_.require_subcommand(0, 1);
    add_info();
    add_list();
    add_extract();
    add_cat();
    add_verify();
    add_create();
    add_compact();
    add_set_meta();
    add_pack();
    add_recover();
    add_gc();
    add_repair();
    app_.allow_extras();  // last, since subcommands inherit it; run() names the first one
  }

  /// The exit status of the whole program.
  int run(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
      if (const auto words = app_.remaining(); !words.empty())
        throw UsageError("unknown subcommand or option: " + words.front());
      if (!work_) throw UsageError("a subcommand is required");
      return work_();
    } catch (const CLI::Success& request) {
      return app_.exit(request);
    } catch (const CLI::ParseError& error) {
      fmt::print(stderr, "b2frame: {}\nTry 'b2frame --help'.\n",
                 bloscfs::fs::printable(error.what()));
    } catch (const UsageError& error) {
      fmt::print(stderr, "b2frame: {}\nTry 'b2frame --help'.\n",
                 bloscfs::fs::printable(error.what()));
    }
    return kExitBadUsage;
  }

 private:
  void add_info() {
    CLI::App* command = app_.add_subcommand("info", "Show header, chunks and metalayers of frames");
    command->add_flag("--json", info_.json, "One JSON object per file");
    add_recursive(*command, info_.recursive);
    command->add_flag("--chunk", info_.chunk, "The files are bare chunks");
    command
        ->add_option("FILE", info_.files,
                     "Frames, sparse frames, Bloscpack files, URLs, stores or STORE:/KEY")
        ->required();
    add_remote(*command, info_.remote);
    command->callback([this] { work_ = [this] { return run_info(info_); }; });
  }

  static void add_remote(CLI::App& command, RemoteOptions& options) {
    command.add_option("--cafile", options.cafile,
                       "Whose certificates are trusted for https (the system's authorities)");
    command
        .add_option("--retry-time", options.retry_time,
                    "Seconds in which a server's failures are tried again (60)")
        ->check(CLI::Range(0, 86400));
    command.add_option("--netrc", options.netrc,
                       "File with users and passwords of web servers, as curl reads it");
    command.add_option("--endpoint", options.endpoint,
                       "URL of the store of s3:// (Amazon's, by the region)");
    command.add_option("--region", options.region, "Of s3:// (as AWS_REGION says)");
    command.add_flag("--virtual-host", options.virtual_host,
                     "The bucket of s3:// stands in the host's name");
    command.add_flag("--anonymous", options.anonymous, "Requests to s3:// are not signed");
  }

  static void add_recursive(CLI::App& command, bool& recursive) {
    command.add_flag("-r,--recursive", recursive,
                     "Of a directory, all frames below it; symlinks are not followed");
  }

  void add_list() {
    CLI::App* command =
        app_.add_subcommand("list", "Show the names that a mount would have, or a store's keys");
    command->add_flag(
        "--json", list_.json,
        "One JSON object per name: name, stored, type, frame, status, nbytes, reason");
    command->add_flag("-r,--recursive")->description("As it is: list always goes down");
    command
        ->add_option("DIR", list_.directory,
                     "Directory that would be mounted, .b2z or .b2e file, STORE:/KEY, or URL")
        ->required();
    add_remote(*command, list_.remote);
    command->callback([this] { work_ = [this] { return run_list(list_); }; });
  }

  void add_extract() {
    CLI::App* command = app_.add_subcommand("extract", "Write decompressed contents");
    command->add_flag("--chunk", extract_.chunk, "FILE is a bare chunk");
    command->add_flag("--npy", extract_.npy, "Write an array as a NPY file");
    command->add_option_function<std::string>(
        "--offset", [this](const std::string& text) { extract_.offset = parse_bytes(text); },
        "First byte to write, counted in what would be written whole");
    command->add_option_function<std::string>(
        "--length", [this](const std::string& text) { extract_.length = parse_bytes(text); },
        "Bytes to write, at most");
    add_json(*command, extract_);
    add_remote(*command, extract_.remote);
    command
        ->add_option("FILE", extract_.file,
                     "Frame, sparse frame, Bloscpack file, URL, or STORE:/KEY")
        ->required();
    command->add_option("-o", extract_.output, "File to write; - is stdout; .npy implies --npy")
        ->required()
        ->check(local());
    command->callback([this] { work_ = [this] { return run_extract(extract_); }; });
  }

  void add_cat() {
    CLI::App* command = app_.add_subcommand("cat", "Write decompressed contents to stdout");
    add_json(*command, cat_);
    add_remote(*command, cat_.remote);
    command
        ->add_option("FILE", cat_.file, "Frame, sparse frame, Bloscpack file, URL, or STORE:/KEY")
        ->required();
    cat_.output = "-";
    command->callback([this] { work_ = [this] { return run_extract(cat_); }; });
  }

  static void add_json(CLI::App& command, ExtractOptions& options) {
    command.add_flag("--json", options.json,
                     "Write a list of Python's objects as JSON, an object a line: bytes as "
                     "{\"$binary\": base64}, tuples as arrays, NaN as null");
  }

  void add_verify() {
    CLI::App* command = app_.add_subcommand("verify", "Decode everything and name each bad chunk");
    command->add_flag("--chunk", verify_.chunk, "The files are bare chunks");
    command->add_flag("--json", verify_.json,
                      "One JSON object per frame: file, status, problems, problem_count");
    command->add_flag("--repairable", verify_.repairable,
                      "Say what repair would bring back, as repair does and with its exit status");
    add_recursive(*command, verify_.recursive);
    add_remote(*command, verify_.remote);
    command
        ->add_option("FILE", verify_.files,
                     "Frames, sparse frames, Bloscpack files, URLs, stores or STORE:/KEY")
        ->required();
    command->footer(fmt::format(
        "Exit status: 0 all good, {} damaged, or without contents, {} a codec, a filter or a "
        "version is missing here, {} could not be read; of several the one that stands first in: "
        "{} {} {}.",
        kExitBadData, kExitUnsupported, kExitUnreadable, kExitBadData, kExitUnreadable,
        kExitUnsupported));
    command->callback([this] { work_ = [this] { return run_verify(verify_); }; });
  }

  void add_create() {
    CLI::App* command =
        app_.add_subcommand("create", "Compress a file to a frame, or a NPY file to an array");
    command
        ->add_option("INPUT", create_.input,
                     "File to compress, - is stdin; one that has the bytes of a NPY file gives "
                     "a B2ND array")
        ->required()
        ->check(local());
    command->add_option("-o", create_.output, "Frame to write; one that is there is replaced")
        ->required()
        ->check(local());
    add_compression(*command);
    add_layout(*command);
    add_layers(*command, "--meta", create_.metalayers,
               "Fixed metalayer with the bytes of FILE, or with the msgpack of a FILE that ends in "
               ".json; may be repeated");
    add_layers(*command, "--vlmeta", create_.vlmetalayers, "The same that can be changed later");
    command->callback([this] { work_ = [this] { return run_create(create_); }; });
  }

  void add_compression(CLI::App& command) {
    add_parsed(command, "--codec", create_.codec, parse_codec, "NAME[:META]",
               bloscfs::codec::list_written_codecs("or") + " (zstd)");
    command.add_option("--clevel", create_.clevel, "Compression level, 0 to 9 (3)")
        ->check(CLI::Range(0, 9));
    add_parsed(command, "--filters", create_.filters, parse_filters, "NAME[:META],...",
               "Up to six filters, or none (shuffle, where items have several bytes)");
    add_parsed(command, "--typesize", create_.typesize, parse_size, "N",
               "Bytes of an item (the array's, or guessed from the data)");
    command.add_flag(
        "--dict", create_.dictionary,
        "Compress with dictionaries (" + bloscfs::codec::list_dictionary_codecs("or") + ")");
    create_.threads = std::max(1U, std::thread::hardware_concurrency());
    command.add_option("--threads", create_.threads, "Threads that compress (all processors)")
        ->check(CLI::Range(1, 256));
  }

  void add_layout(CLI::App& command) {
    add_parsed(command, "--chunk-size", create_.chunk_size, parse_size, "SIZE",
               "Bytes of a chunk, with K, M or G (about 4M)");
    add_parsed(command, "--block-size", create_.block_size, parse_size, "SIZE",
               "Bytes of a block (by codec and level)");
    add_parsed(command, "--chunk-shape", create_.chunk_shape, parse_shape, "N,...",
               "Shape of an array's chunks (whole rows, as --chunk-size allows)");
    add_parsed(command, "--block-shape", create_.block_shape, parse_shape, "N,...",
               "Shape of an array's blocks");
    command.add_flag("--flat", create_.flat, "Store a NPY file as it is");
    command.add_flag("--sparse", create_.sparse, "Write a sparse frame, which is a directory");
    command.add_flag("--checksum", create_.checksum, "Keep a checksum of each chunk");
  }

  void add_compact() {
    CLI::App* command = app_.add_subcommand("compact", "Rewrite frames without their unused space");
    command->add_option("FILE", compact_.files, "Frames or sparse frames")
        ->required()
        ->check(local());
    command->callback([this] { work_ = [this] { return run_compact(compact_); }; });
  }

  void add_pack() {
    CLI::App* pack = app_.add_subcommand("pack", "Pack the directory of a store into a .b2z file");
    pack->add_option("DIR", pack_.input, "Directory with an embed.b2e")->required()->check(local());
    pack->add_option("-o", pack_.output, "File to write; one that is there is replaced")
        ->required()
        ->check(local());
    pack->callback([this] { work_ = [this] { return run_pack(pack_); }; });
    CLI::App* unpack = app_.add_subcommand("unpack", "Unpack a .b2z file into a directory");
    unpack->add_option("FILE", pack_.input, "ZIP file of a store")->required()->check(local());
    unpack->add_option("-o", pack_.output, "Directory to make, which is not there yet")
        ->required()
        ->check(local());
    unpack->callback([this] { work_ = [this] { return run_unpack(pack_); }; });
  }

  void add_set_meta() {
    CLI::App* command = app_.add_subcommand("set-meta", "Change the vlmetalayers of a frame");
    command->add_option("FILE", set_meta_.file, "Frame or sparse frame")
        ->required()
        ->check(local());
    command
        ->add_option_function<std::vector<std::string>>(
            "NAME:=JSON|NAME=FILE",
            [this](const std::vector<std::string>& texts) {
              for (const std::string& text : texts)
                set_meta_.vlmetalayers.push_back(parse_layer(text, set_meta_.vlmetalayers));
            },
            "Sets NAME to the msgpack of JSON, to the bytes of FILE, or to the msgpack of a FILE "
            "that "
            "ends in .json; NAME= removes it")
        ->required();
    command->callback([this] { work_ = [this] { return run_set_meta(set_meta_); }; });
  }

  /// An option whose text `parse` turns into the value.
  template <typename Value, typename Parse>
  static void add_parsed(CLI::App& command, const char* name, Value& value, Parse parse,
                         const char* shown, const std::string& help) {
    command
        .add_option_function<std::string>(
            name, [&value, parse](const std::string& text) { value = parse(text); }, help)
        ->option_text(shown);
  }

  static void add_layers(CLI::App& command, const char* name, std::vector<NamedLayer>& layers,
                         const char* help) {
    command
        .add_option_function<std::vector<std::string>>(
            name,
            [&layers](const std::vector<std::string>& texts) {
              for (const std::string& text : texts) layers.push_back(parse_layer(text, layers));
            },
            help)
        ->option_text("NAME=FILE")
        ->allow_extra_args(false);
  }

  void add_recover() {
    CLI::App* command =
        app_.add_subcommand("recover", "Give names to what a mount could not commit");
    command->add_option("SOURCE", recover_.source, "What was mounted")->required()->check(local());
    command->callback([this] { work_ = [this] { return run_recover(recover_); }; });
  }

  void add_gc() {
    CLI::App* command =
        app_.add_subcommand("gc", "Remove what hosts that ended left behind in an object store");
    command->add_flag(
        "--force", gc_.force,
        "Also what is younger than a day; only while nothing writes there: of what is "
        "being committed the chunks would go");
    command
        ->add_option("SOURCE", gc_.source,
                     "s3://BUCKET/PREFIX: chunks that no index names, what is left of removed "
                     "files, and probes go, all directories below included")
        ->required();
    add_remote(*command, gc_.remote);
    command->footer(
        "Exit status: 0, or 1 if something failed, or a damaged frame was left as it is.");
    command->callback([this] { work_ = [this] { return run_gc(gc_); }; });
  }

  void add_repair() {
    CLI::App* command =
        app_.add_subcommand("repair", "Write what is left of a damaged frame to a new one");
    command
        ->add_option("FILE", repair_.input, "Frame, sparse frame or Bloscpack file; stays as it is")
        ->required()
        ->check(local());
    command
        ->add_option("-o", repair_.output,
                     "File to write: a frame, of a Bloscpack file one of its kind")
        ->required()
        ->check(local());
    command
        ->add_option_function<std::string>(
            "--missing",
            [this](const std::string& what) { repair_.leave_out = what == "leave-out"; },
            "What becomes of chunks that are lost: zeros (default), or leave-out, which moves "
            "what is behind them; not of arrays")
        ->check(CLI::IsMember({"zeros", "leave-out"}));
    command->add_flag("--force", repair_.force, "Replace the file of -o where there is one");
    command->add_flag("--json", repair_.json,
                      "The report as one JSON object: status, order, ranges, ... of the contents");
    command->footer(fmt::format(
        "Every range that is not as it was is told: lost, doubtful (of a damaged chunk, or of one "
        "whose checksum differs) or guessed (where the index is lost, the order of chunks is a "
        "guess). Exit status: 0 all is there and in its place, {} OUT is written, but something is "
        "lost, doubtful or guessed, {} nothing was found, {} OUT or FILE failed.",
        kExitIncomplete, kExitNothingFound, kExitBadData));
    command->callback([this] { work_ = [this] { return run_repair(repair_); }; });
  }

  CLI::App app_{"Works on Blosc2 frames without mounting them.", "b2frame"};
  InfoOptions info_;
  ListOptions list_;
  ExtractOptions extract_, cat_;
  VerifyOptions verify_;
  CreateOptions create_;
  CompactOptions compact_;
  PackOptions pack_;
  SetMetaOptions set_meta_;
  RecoverOptions recover_;
  GcOptions gc_;
  RepairOptions repair_;
  std::function<int()> work_;
};

}  // namespace

int main(int argc, char** argv) {
  bloscfs::fs::log::use(bloscfs::fs::log::Target::plain);
  try {
    const int status = CommandLine().run(argc, argv);
    if (std::fflush(stdout) == 0) return status;
    std::perror("b2frame: stdout");
  } catch (const Interrupted& interrupted) {
    std::signal(interrupted.signal(), SIG_DFL);
    std::raise(interrupted.signal());
  } catch (const std::exception& error) {
    fmt::print(stderr, "b2frame: {}\n", bloscfs::fs::printable(error.what()));
  }
  return kExitBadData;
}
