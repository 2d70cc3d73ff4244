// A parsed command line as the JSON documents the library takes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/args.hpp"

namespace vx::cli {

/// Appends `text` as a JSON string.
void append_json_string(std::string& out, std::string_view text);

/// The request of vx_run_start(). `command` is the line as typed, for the record.
std::string run_request(const command_line& line, std::string_view command);
/// {"query":"plan", ...}: the fields that decide what a run would do.
std::string plan_request(const command_line& line);
/// {"query":"show", ...}
std::string show_request(const command_line& line);

/// {"query":"why"|"last"|"info"|"cache-stats"|"prune-cache", ...}
std::string why_request(const command_line& line);
std::string last_request(const command_line& line);
std::string info_request(const command_line& line);
std::string cache_stats_request(const command_line& line);
/// `wait_ms`: how long a run may keep it waiting; nullopt: to its end.
std::string prune_cache_request(const command_line& line, std::optional<std::uint32_t> wait_ms);

/// A selection flag was given, so that the run covers more than what the user is looking at.
bool is_broad(const command_line& line);

/// `vx run build -- 2 arguments`: what is forwarded is only counted.
std::string recorded_command(const std::vector<std::string>& words);

}  // namespace vx::cli
