// The subcommands that write.

#include <fmt/core.h>

#include "tools/command_line.hpp"
#include "tools/storage_options.hpp"

namespace bloscfs::tools {

void CommandLine::add_create(const char* name) {
  CLI::App* command = add_command(name, "Compress a file to a frame, an array or a table",
                                  {"--clevel 9 --filters delta+shuffle --typesize 4 x -o x.b2f",
                                   "-r /home/me/results -o /data/results",
                                   "--schema 'id:int32,note:utf8?' trips.csv -o trips.b2z"});
  command->add_option("INPUT", create_.input, "File to compress, or - for stdin")
      ->required()
      ->check(local());
  command->add_option("-o", create_.output, "Frame to write; of .csv and .npz a store, x.b2z")
      ->option_text("OUT")
      ->required()
      ->check(local());
  command->add_flag("-r,--recursive", create_.recursive,
                    "INPUT is a directory, and OUT one of frames");
  add_tree(*command, create_.tree);
  add_compression_options(*command, create_, StorageDefaults::usual);
  add_layout_options(*command, create_, StorageDefaults::usual);
  command->add_flag("--flat", create_.flat, "Store the bytes as they are, also of a NPY file");
  command->add_flag("--bytes", create_.flat)->group("");  // alias of --flat
  add_table_text(*command, create_.table);
  add_layers(*command, "--meta", create_.metalayers,
             "Fixed metalayer of FILE's bytes; msgpack of a .json");
  add_layers(*command, "--vlmeta", create_.vlmetalayers, "One that can be changed later");
  command->callback([this] { work_ = [this] { return run_create(create_); }; });
}

void CommandLine::add_table_text(CLI::App& command, TableTextOptions& options) {
  command
      .add_option("--schema", options.schema, "Types of a table's columns: NAME:TYPE,... or a file")
      ->option_text("FILE");
  command.add_flag("--no-header", options.no_header,
                   "A table without names; its columns are c0, c1, ...");
  command
      .add_option("--delimiter", options.delimiter,
                  "Between the fields of a table (comma; tab in a .tsv)")
      ->option_text("C");
}

void CommandLine::add_convert(const char* name) {
  CLI::App* command =
      add_command(name, "Store frames in another way",
                  {"--clevel 9 run.b2nd -o small.b2nd", "--codec lz4 --in-place /data/*.b2nd",
                   "--chunk-shape 100,100 -d tiled *.blp"});
  command->add_option("FILE", convert_.files, "Frames, Bloscpack files or STORE:/KEY")
      ->required()
      ->check(local());
  command->add_option("-o", convert_.output, "Frame to write, of one FILE")
      ->option_text("OUT")
      ->check(local());
  command->add_option("-d", convert_.directory, "Directory to write them to")
      ->option_text("DIR")
      ->check(local());
  command->add_flag("--in-place", convert_.in_place, "Replace each FILE");
  add_compression_options(*command, convert_.storage, StorageDefaults::kept);
  add_layout_options(*command, convert_.storage, StorageDefaults::kept);
  command->add_flag("--contiguous", convert_.contiguous, "Of a sparse frame make one file");
  command->callback([this] { work_ = [this] { return run_convert(convert_); }; });
}

void CommandLine::add_compact(const char* name) {
  CLI::App* command = add_command(name, "Rewrite frames without their unused space",
                                  {"log.b2frame", "/data/*.b2frame"});
  command->add_option("FILE", compact_.files, "Frames or sparse frames")
      ->required()
      ->check(local());
  command->callback([this] { work_ = [this] { return run_compact(compact_); }; });
}

void CommandLine::add_pack(const char* name) {
  CLI::App* pack =
      add_command(name, "Pack the directory of a store into a .b2z file", {"run.b2d -o run.b2z"});
  pack->add_option("DIR", pack_.input, "Directory with an embed.b2e")->required()->check(local());
  pack->add_option("-o", pack_.output, "File to write; one that is there is replaced")
      ->option_text("OUT")
      ->required()
      ->check(local());
  pack->callback([this] { work_ = [this] { return run_pack(pack_); }; });
}

void CommandLine::add_unpack(const char* name) {
  CLI::App* unpack =
      add_command(name, "Unpack a .b2z file into a directory", {"run.b2z -o run.b2d"});
  unpack->add_option("FILE", pack_.input, "ZIP file of a store")->required()->check(local());
  unpack->add_option("-o", pack_.output, "Directory to make, which is not there yet")
      ->option_text("OUT")
      ->required()
      ->check(local());
  unpack->callback([this] { work_ = [this] { return run_unpack(pack_); }; });
}

void CommandLine::add_set_meta(const char* name) {
  CLI::App* command = add_command(
      name, "Change the vlmetalayers of a frame",
      {"run.b2nd 'unit:=\"kelvin\"' scale:=0.25", "run.b2nd note=note.json", "run.b2nd note="});
  command->add_option("FILE", set_meta_.file, "Frame or sparse frame")->required()->check(local());
  command
      ->add_option_function<std::vector<std::string>>(
          "NAME:=JSON|NAME=FILE",
          [this](const std::vector<std::string>& texts) {
            for (const std::string& text : texts)
              set_meta_.vlmetalayers.push_back(parse_layer(text, set_meta_.vlmetalayers));
          },
          "What NAME is to hold: JSON as msgpack, the bytes of FILE, or those of a .json as "
          "msgpack; NAME= removes it")
      ->required();
  command->callback([this] { work_ = [this] { return run_set_meta(set_meta_); }; });
}

void CommandLine::add_layers(CLI::App& command, const char* name, std::vector<NamedLayer>& layers,
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

void CommandLine::add_recover(const char* name) {
  CLI::App* command = add_command(name, "Bring back what a mount could not commit",
                                  {"/data", "-n /data/log.b2frame"});
  command->add_option("SOURCE", recover_.source, "What was mounted")->required()->check(local());
  command->add_option("--rescue", recover_.rescue, "What the mount had as -o rescue")
      ->type_name("DIR");
  command->add_flag("-n,--dry-run", recover_.is_dry, "Only tell what would be recovered");
  command->callback([this] { work_ = [this] { return run_recover(recover_); }; });
}

void CommandLine::add_gc(const char* name) {
  CLI::App* command =
      add_command(name, "Remove what hosts that ended left behind in an object store",
                  {"s3://bucket/data", "--endpoint https://example.org s3://bucket/"},
                  "Exit status: 0, or 1 if something failed or a damaged frame was left.\n");
  command->add_flag("--force", gc_.force,
                    "Also what is younger than a day; only while nothing writes there");
  command->add_flag("--dry-run", gc_.dry_run, "Tells what would go, and removes nothing");
  command->add_option("SOURCE", gc_.source, "s3://BUCKET/PREFIX, with all that is below it")
      ->required();
  add_remote(*command, gc_.remote);
  command->callback([this] { work_ = [this] { return run_gc(gc_); }; });
}

void CommandLine::add_repair(const char* name) {
  CLI::App* command = add_command(
      name, "Write what is left of a damaged frame to a new one",
      {"damaged.b2nd -o mended.b2nd", "--json --missing leave-out damaged.b2frame -o rest.b2frame"},
      fmt::format("Exit status: 0 all is there and in its place, {} OUT is written, but parts\n"
                  "are lost, doubtful or guessed, {} nothing was found, {} FILE or OUT failed.\n",
                  kExitIncomplete, kExitNothingFound, kExitBadData));
  command->add_option("FILE", repair_.input, "Frame or Bloscpack file; stays as it is")
      ->required()
      ->check(local());
  command->add_option("-o", repair_.output, "Contiguous frame to write")
      ->required()
      ->check(local());
  command
      ->add_option_function<std::string>(
          "--missing", [this](const std::string& what) { repair_.leave_out = what == "leave-out"; },
          "For lost chunks, not of arrays")
      ->check(CLI::IsMember({"zeros", "leave-out"}));
  command->add_flag("--force", repair_.force, "Replace the file of -o where there is one");
  command->add_flag("--json", repair_.json, "The report as one JSON object");
  command->callback([this] { work_ = [this] { return run_repair(repair_); }; });
}

}  // namespace bloscfs::tools
