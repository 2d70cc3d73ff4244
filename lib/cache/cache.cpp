// Placeholder until the sources are listed.
