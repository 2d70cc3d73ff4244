'use strict';
const check = require('./check.cjs');
const environmentOf = require('./environment.cjs');
const { invalid } = require('./error.cjs');
const handles = require('./handles.cjs');
const native = require('./native.cjs');

const accesses = ['none', 'read', 'read-write'];
const streams = [undefined, 'stdout', 'stderr'];

const [, get, put] = [0, 1, 2];  // what a layer is asked: has, get, put

const hexKey = /^[0-9a-f]{32}$/i;
function key(value, name = 'key') {
  if (typeof value === 'string' && hexKey.test(value)) return value;
  throw invalid(`${name} must be 32 hexadecimal digits`);
}

class CacheEntry {
  #handle;
  constructor(token, handle) {
    if (token !== internal) throw invalid('a CacheEntry is made by cache.lookup()');
    this.#handle = handle;
    handles.put(this, handle);
  }
  outputs(options) {
    const flat = native.entryOutputs(this.#handle, check.raw(check.known(options, 'options', ['encoding']).encoding));
    const out = [];
    for (let i = 0; i < flat.length; i += 4) {
      out.push({ path: flat[i], space: flat[i + 1] === 1 ? 'workspace' : 'project', mode: flat[i + 2], size: flat[i + 3] });
    }
    return out;
  }
  stats() {
    return JSON.parse(native.entryStats(this.#handle));
  }
  /** What the work printed, in its order; `dropped` stands for bytes of the middle that were not kept. */
  async log() {
    const flat = await native.entryLog(this.#handle);
    const out = [];
    for (let i = 0; i < flat.length; i += 2) out.push(flat[i] === 0 ? { dropped: flat[i + 1] } : { stream: streams[flat[i]], data: flat[i + 1] });
    return out;
  }
}

const saved = ['outputs', 'components', 'subject', 'command', 'stdout', 'stderr', 'durationNs', 'cpuNs', 'peakRssBytes'];

class Cache {
  #handle;
  #closed;
  constructor(token, handle) {
    if (token !== internal) throw invalid('a Cache is made by Cache.open()');
    this.#handle = handle;
    handles.put(this, handle);
  }

  static async open(options) {
    const given = check.known(options, 'options', ['dir', 'root', 'env', 'readOnly']);
    const [dir, root] = ['dir', 'root'].map((name) => check.optional(given[name], `options.${name}`, check.absolute));
    return new Cache(internal, await native.cacheOpen(dir, root, environmentOf(given.env), given.readOnly === true));
  }

  get dir() {
    return native.cacheDir(this.#handle, false);
  }
  get access() {
    return accesses[native.cacheAccess(this.#handle)];
  }
  get salt() {
    return native.cacheSalt(this.#handle);
  }
  /** A further place of artifacts, behind the store and the layers before it. What it does wrong is a miss and a notice. */
  addLayer(layer) {
    const given = check.known(layer, 'layer', ['name', 'has', 'get', 'put']);
    const deeds = ['has', 'get', 'put'].map((name) => check.callback(given[name], `layer.${name}`)?.bind(layer));
    const name = given.name === undefined ? 'of JavaScript' : check.bytes(given.name, 'layer.name');
    native.cacheAddLayer(this.#handle, name, ...deeds.map((deed) => deed !== undefined), (deed, key, bytes, token) => {
      Promise.resolve(deed === put ? [key, bytes] : [key]).then((args) => deeds[deed](...args)).then(
        (value) => native.layerReply(token, deed !== get || value instanceof Uint8Array || value === null || value === undefined, value),
        () => native.layerReply(token, false));
    });
    return this;
  }
  /** Lines about the store since the last call. */
  notices() {
    return native.cacheNotices(this.#handle).split('\n').slice(0, -1);
  }

  async lookup(digest, options) {
    const given = check.known(options, 'options', ['subject', 'outputs']);
    const subject = check.optional(given.subject, 'options.subject');
    const entry = await native.cacheLookup(this.#handle, key(digest), subject, check.optional(given.outputs, 'options.outputs', check.outputs));
    return entry === null ? null : new CacheEntry(internal, entry);
  }
  async lookupMany(keys) {
    const entries = await native.cacheLookupMany(this.#handle, check.list(keys, 'keys', key));
    return entries.map((entry) => (entry === null ? null : new CacheEntry(internal, entry)));
  }
  async has(digest) {
    return native.cacheHas(this.#handle, key(digest));
  }

  async save(digest, options) {
    const given = check.known(options, 'options', saved);
    const number = (name) => check.optional(given[name], `options.${name}`, check.integer);
    await native.cacheSave(this.#handle, key(digest), {
      outputs: check.outputs(given.outputs, 'options.outputs'),
      components: handles.optional(given.components, 'options.components'),
      subject: check.optional(given.subject, 'options.subject'),
      command: check.optional(given.command, 'options.command'),
      stdout: check.optional(given.stdout, 'options.stdout', check.content),
      stderr: check.optional(given.stderr, 'options.stderr', check.content),
      durationNs: number('durationNs'), cpuNs: number('cpuNs'), peakRssBytes: number('peakRssBytes'),
    });
  }
  /** False: the artifact is gone or damaged, which is a miss. */
  async restore(entry, outputs) {
    return native.cacheRestore(handles.get(entry, 'entry'), check.outputs(outputs));
  }
  async isCurrent(entry, outputs) {
    return native.cacheIsCurrent(handles.get(entry, 'entry'), check.outputs(outputs));
  }
  async explain(builder) {
    return JSON.parse(await native.cacheExplain(this.#handle, handles.get(builder, 'key')));
  }

  async exportFile(digest, path) {
    await native.cacheExport(this.#handle, key(digest), check.absolute(path, 'path'));
  }
  async importFile(digest, path, options) {
    const given = check.known(options, 'options', ['subject', 'outputs']);
    const subject = check.optional(given.subject, 'options.subject');
    await native.cacheImport(this.#handle, key(digest), check.absolute(path, 'path'), subject, check.outputs(given.outputs, 'options.outputs'));
  }

  async prune(policy) {
    const given = check.known(policy, 'policy', ['olderThanNs', 'maxBytes', 'dryRun']);
    const [olderThan, maxBytes] = ['olderThanNs', 'maxBytes'].map((name) => check.optional(given[name], `policy.${name}`, check.integer));
    return JSON.parse(await native.cachePrune(this.#handle, olderThan, maxBytes, given.dryRun === true));
  }
  async stats() {
    return JSON.parse(await native.cacheStats(this.#handle));
  }

  /** Lets go of the store; entries and inputs made with it keep what they need. */
  close() {
    return (this.#closed ??= native.cacheClose(this.#handle));
  }

  /** Removes what a declaration owns, before work that will be saved. */
  static async cleanOutputs(outputs) {
    await native.outputsClean(check.outputs(outputs));
  }
}
const internal = Symbol('internal');
Object.defineProperty(Cache.prototype, Symbol.asyncDispose, { value: Cache.prototype.close, writable: true, configurable: true });

module.exports = { Cache, CacheEntry };
