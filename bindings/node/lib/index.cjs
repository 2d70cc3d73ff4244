'use strict';
const { Cache, CacheEntry } = require('./cache.cjs');
const { defineProject, defineWorkspace } = require('./config.cjs');
const { VxError } = require('./error.cjs');
const { Graph, Scheduler } = require('./graph.cjs');
const { Glob, Inputs, Selection } = require('./inputs.cjs');
const { KeyBuilder, digestBytes, digestFile, gitBlobId } = require('./key.cjs');
const native = require('./native.cjs');
const { Workspace, openWorkspace } = require('./workspace.cjs');

const version = native.version;
const features = () => JSON.parse(native.features());

module.exports = {
  Cache, CacheEntry, Glob, Graph, Inputs, KeyBuilder, Scheduler, Selection, VxError, Workspace,
  defineProject, defineWorkspace, digestBytes, digestFile, features, gitBlobId, openWorkspace, version,
};
