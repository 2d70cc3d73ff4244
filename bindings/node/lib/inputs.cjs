'use strict';
const check = require('./check.cjs');
const environmentOf = require('./environment.cjs');
const { invalid } = require('./error.cjs');
const handles = require('./handles.cjs');
const native = require('./native.cjs');

const byBytes = 1;  // VX_INPUTS_BY_BYTES

class Glob {
  #handle;
  constructor(patterns) {
    this.#handle = native.globCompile(check.globs(patterns, 'patterns'));
  }
  match(path) {
    return native.globMatch(this.#handle, check.bytes(path, 'path'));
  }
}

class Selection {
  #handle;
  constructor(key, handle) {
    if (key !== internal) throw invalid('a Selection is made by inputs.resolve()');
    this.#handle = handle;
    handles.put(this, handle);
  }
  get count() {
    return native.selectionCount(this.#handle);
  }
  files(options) {
    const flat = native.selectionFiles(this.#handle, check.raw(check.known(options, 'options', ['encoding']).encoding));
    const out = [];
    for (let i = 0; i < flat.length; i += 3) out.push({ path: flat[i], identity: flat[i + 1], mode: flat[i + 2] });
    return out;
  }
}

const asked = ['projectDir', 'files', 'workspaceFiles', 'nested', 'outputs', 'workspaceOutputs', 'paths'];

class Inputs {
  #handle;
  constructor(key, handle) {
    if (key !== internal) throw invalid('Inputs are made by Inputs.open()');
    this.#handle = handle;
  }

  static async open(root, options) {
    const given = check.known(options, 'options', ['env', 'cache']);
    const cache = handles.optional(given.cache, 'options.cache');
    return new Inputs(internal, await native.inputsOpen(check.absolute(root, 'root'), environmentOf(given.env), cache));
  }
  static glob(patterns) {
    return new Glob(patterns);
  }
  /** A moment: take it immediately before the work starts. */
  static mark() {
    return native.inputsMark();
  }

  get usesGit() {
    return native.inputsUsesGit(this.#handle);
  }
  get notice() {
    return native.inputsNotice(this.#handle);
  }

  async resolve(request) {
    const given = typeof request === 'string' || Array.isArray(request) ? { files: request } : check.known(request, 'request', asked);
    const out = {};
    for (const name of asked) out[name] = check.optional(given[name], `request.${name}`, name === 'projectDir' ? check.bytes : check.globs);
    return new Selection(internal, await native.inputsResolve(this.#handle, out));
  }
  async changedSince(selection, mark, options) {
    const given = check.known(options, 'options', ['byBytes', 'encoding']);
    if (typeof mark !== 'bigint') throw invalid('mark must be what Inputs.mark() gave');
    return native.inputsChangedSince(this.#handle, handles.get(selection, 'selection'), mark, given.byBytes ? byBytes : 0, check.raw(given.encoding));
  }
  invalidate(paths) {
    native.inputsInvalidate(this.#handle, check.optional(paths, 'paths', check.list));
  }
  close() {
    native.inputsClose(this.#handle);
  }
}
const internal = Symbol('internal');
if (Symbol.dispose) Object.defineProperty(Inputs.prototype, Symbol.dispose, { value: Inputs.prototype.close, writable: true, configurable: true });

module.exports = { Glob, Inputs, Selection };
