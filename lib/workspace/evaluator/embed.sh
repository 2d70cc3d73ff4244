#!/bin/sh
# embed.sh <out.cpp> <part>...: the parts, joined, as a string constant. A raw literal keeps the text as it is.
set -eu
out=$1
shift
{
  printf '%s\n' '#include "workspace/evaluator_host.hpp"' 'namespace vx::workspace {' 'extern const std::string_view k_evaluator_script = R"VX_SCRIPT('
  cat "$@"
  printf '%s\n' ')VX_SCRIPT";' '}  // namespace vx::workspace'
} > "$out"
