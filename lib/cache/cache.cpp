// Placeholder until the module has sources: proves that its headers stand alone.
#include "cache/entry.hpp"
#include "cache/index.hpp"
#include "cache/outputs.hpp"
#include "cache/store.hpp"
