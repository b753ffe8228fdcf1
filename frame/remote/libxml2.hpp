#pragma once
// What is used of libxml2, which is loaded by the first call.

#include <libxml/HTMLparser.h>
#include <libxml/parser.h>

#include "codec/library/late_library.hpp"

namespace bloscfs::frame::libxml2 {

static_assert(LIBXML_VERSION < 21400, "later ones have another name");
inline constinit codec::LateLibrary library("libxml2.so.2");

inline constinit codec::LateFunction<decltype(::htmlCreatePushParserCtxt)> htmlCreatePushParserCtxt(
    library, "htmlCreatePushParserCtxt");
inline constinit codec::LateFunction<decltype(::htmlCtxtUseOptions)> htmlCtxtUseOptions(
    library, "htmlCtxtUseOptions");
inline constinit codec::LateFunction<decltype(::htmlFreeParserCtxt)> htmlFreeParserCtxt(
    library, "htmlFreeParserCtxt");
inline constinit codec::LateFunction<decltype(::htmlParseChunk)> htmlParseChunk(library,
                                                                                "htmlParseChunk");
inline constinit codec::LateFunction<decltype(::xmlInitParser)> xmlInitParser(library,
                                                                              "xmlInitParser");

}  // namespace bloscfs::frame::libxml2
