// Placeholder until the module has sources: proves that its headers stand alone.
#include "glob/gitignore.hpp"
#include "glob/glob.hpp"
