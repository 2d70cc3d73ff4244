'use strict';
const { isMainThread } = require('node:worker_threads');
const check = require('./check.cjs');

/** What the addon takes for an environment: the one given; else of a Worker its own process.env; undefined: the process's, byte for byte. */
module.exports = function environmentOf(env) {
  if (env !== undefined) return check.environment(env);
  return isMainThread ? undefined : check.environment({ ...process.env }, 'process.env');
};
