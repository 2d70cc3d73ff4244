'use strict';
// The addon of this environment, told how to make errors.
const { fromNative } = require('./error.cjs');
const binding = require('./load.cjs').loadAddon();

binding.init(fromNative);
// Tasks must not outlive a process.exit(), which runs no cleanup hooks of the main thread.
process.once('exit', () => binding.shutDown());
module.exports = binding;
