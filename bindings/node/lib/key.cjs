'use strict';
const check = require('./check.cjs');
const { invalid } = require('./error.cjs');
const handles = require('./handles.cjs');
const native = require('./native.cjs');

const kindNames = native.keyKindNames();                                  // by number - 1
const kinds = Object.fromEntries(kindNames.map((name, i) => [name, i + 1]));

function kindOf(name) {
  const kind = kinds[name];
  if (kind === undefined) throw invalid(`"${name}" is no kind of item; there are ${kindNames.slice(1).join(', ')}`);
  return kind;
}

// Numbers in #shape, three an item, that are collected before the addon gets them.
const handOver = 3 * 1024;

const hexKey = /^[0-9a-f]{32}$/i;

class KeyBuilder {
  #handle;
  #digest;
  #failed;
  #text = '';   // names and values not handed over yet, each with a NUL behind it
  #shape = [];  // their kinds and lengths

  constructor(options) {
    const { schema, subject, salt, explain } = check.known(options, 'options', ['schema', 'subject', 'salt', 'explain']);
    if (salt !== undefined && !(salt instanceof Uint8Array && salt.length === 16)) throw invalid('options.salt must be a Uint8Array of 16 bytes');
    this.#handle = native.keyNew(check.bytes(schema, 'options.schema'), check.optional(subject, 'options.subject'), salt, explain === true);
    handles.put(this, this.#handle);
  }

  add(kind, name, value) {
    return this.#add(kindOf(kind), name === undefined ? null : name, value === undefined ? null : value);
  }

  /** Collects; what the fold has against an item is told when the items are handed over, by finish() at the latest. */
  #add(kind, name, value) {
    const named = name !== null;
    if ((named && typeof name !== 'string') || (value !== null && typeof value !== 'string')) return this.#addBytes(kind, name, value);
    if (this.#digest !== undefined) throw invalid('the key is finished');
    if (this.#failed !== undefined) throw this.#failed;
    this.#shape.push(kind, named ? name.length : -1, value === null ? -1 : value.length);
    if (named) this.#text += name + '\0';
    if (value !== null) this.#text += value + '\0';
    if (this.#shape.length >= handOver) this.#flush();
    return this;
  }
  #addBytes(kind, name, value) {
    this.#flush();
    native.keyAdd(this.#handle, kind, name === null ? undefined : check.bytes(name, 'name'), check.content(value, 'value'));
    return this;
  }
  /** After a refusal the builder is of no use: a key of the items that were taken would be another key. */
  #flush() {
    if (this.#failed !== undefined) throw this.#failed;
    if (this.#shape.length === 0) return;
    const [text, shape] = [this.#text, Int32Array.from(this.#shape)];
    this.#text = '';
    this.#shape = [];
    try {
      if (check.lone.test(text)) throw invalid('an item holds half of a surrogate pair, which no byte string can');
      native.keyAddMany(this.#handle, text, shape);
    } catch (error) {
      this.#failed = error;
      throw error;
    }
  }

  addPlatform(text) { return this.#add(kinds.platform, null, text); }
  addWorkspaceFile(name, value) { return this.#add(kinds.workspace, name, value); }
  addPackage(identity) { return this.#add(kinds.package, null, identity); }
  addConfig(text) { return this.#add(kinds.config, null, text); }
  addForward(argument) { return this.#add(kinds.forward, null, argument); }
  addEnv(name, value) { return this.#add(kinds.env, name, value === undefined ? null : value); }
  addRuntime(command, printed) { return this.#add(kinds.runtime, command, printed); }
  addWorkspaceRuntime(command, printed) { return this.#add(kinds['ws-runtime'], command, printed); }
  addUpstream(name, key) {
    if (!hexKey.test(key)) throw invalid('key must be 32 hexadecimal digits');
    return this.#add(kinds.upstream, name, Buffer.from(key, 'hex'));
  }
  addHost(name, value) { return this.#add(kinds.host, name, value); }
  addFile(path, identity) { return this.#add(kinds.file, path, identity === undefined ? null : identity); }
  addSelection(selection) {
    this.#flush();
    native.keyAddSelection(this.#handle, handles.get(selection, 'selection'));
    return this;
  }

  /** The next `count` items are of `kind`: end() fails when another number came. */
  begin(kind, count) {
    this.#flush();
    native.keyBegin(this.#handle, kindOf(kind), check.integer(count, 'count', 0, 0xffffffff));
    return this;
  }
  end() {
    this.#flush();
    native.keyEnd(this.#handle);
    return this;
  }

  finish() {
    if (this.#digest !== undefined) return this.#digest;
    this.#flush();
    return (this.#digest = native.keyFinish(this.#handle));
  }

  components() {
    const flat = native.keyComponents(this.#handle);
    const out = [];
    for (let i = 0; i < flat.length; i += 3) out.push({ kind: kindNames[flat[i] - 1], name: flat[i + 1], digest: flat[i + 2] });
    return out;
  }

  static diff(before, after) {
    return JSON.parse(native.keyDiff(handles.get(before, 'before'), handles.get(after, 'after')));
  }
}

const digestBytes = (data) => native.digestBytes(check.content(data, 'data'));
const digestFile = async (path) => native.digestFile(check.absolute(path, 'path'));
function gitBlobId(data, algorithm = 'sha1') {
  if (algorithm !== 'sha1' && algorithm !== 'sha256') throw invalid("algorithm must be 'sha1' or 'sha256'");
  return native.gitBlobId(check.content(data, 'data'), algorithm === 'sha1' ? 160 : 256);
}

module.exports = { KeyBuilder, digestBytes, digestFile, gitBlobId };
