'use strict';
// Argument checks and conversions: what reaches the addon is of the right kind.
const path = require('node:path');
const { fileURLToPath } = require('node:url');
const { invalid } = require('./error.cjs');

const lone = /[\ud800-\udfff]/u;  // with the u flag a surrogate that is one of a pair is none

/** Bytes for the C API, which takes them NUL-terminated. */
function bytes(value, name) {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw invalid(`${name} holds a NUL`);
    if (lone.test(value)) throw invalid(`${name} holds half of a surrogate pair, which no byte string can`);
    return value;
  }
  if (value instanceof Uint8Array) {
    if (value.includes(0)) throw invalid(`${name} holds a NUL`);
    return value;
  }
  throw invalid(`${name} must be a string or a Uint8Array`);
}
const optional = (value, name, of = bytes) => (value === undefined || value === null ? undefined : of(value, name));

/** Content: any bytes. */
function content(value, name) {
  if (typeof value === 'string') return Buffer.from(value);
  if (value instanceof Uint8Array) return value;
  throw invalid(`${name} must be a string or a Uint8Array`);
}

/** An absolute path. Relative ones count from the working directory; a file: URL is its path. */
function absolute(value, name) {
  if (value instanceof URL) return absolute(fileURLToPath(value), name);
  const given = bytes(value, name);
  if (given.length === 0) throw invalid(`${name} is empty`);
  if (typeof given === 'string') return path.resolve(given);
  return given[0] === 0x2f ? given : Buffer.concat([Buffer.from(`${process.cwd()}/`), given]);
}

function list(value, name, of = bytes) {
  if (!Array.isArray(value)) throw invalid(`${name} must be an array`);
  return value.map((item, i) => of(item, `${name}[${i}]`));
}
const globs = (value, name) => list(typeof value === 'string' ? [value] : value, name);

/** {NAME: value} as "NAME=value"; undefined values are left out. */
function environment(value, name = 'env') {
  if (typeof value !== 'object' || value === null) throw invalid(`${name} must be an object`);
  const out = [];
  for (const [key, text] of Object.entries(value)) {
    if (text === undefined) continue;
    if (key === '' || key.includes('=')) throw invalid(`${name} holds the name "${key}"`);
    const both = `${key}=${text}`;
    out.push(bytes(both, `${name}.${key}`));
  }
  return out;
}

function object(value, name) {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${name} must be an object`);
  return value;
}

/** Refuses what a misspelled option would otherwise silently leave out. */
function known(value, name, fields) {
  const given = object(value, name);
  for (const key of Object.keys(given)) if (!fields.includes(key)) throw invalid(`${name} has no member "${key}"; there are ${fields.join(', ')}`);
  return given;
}

function callback(value, name) {
  if (value === undefined || typeof value === 'function') return value;
  throw invalid(`${name} must be a function`);
}

function integer(value, name, least = 0, most = Number.MAX_SAFE_INTEGER) {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(`${name} must be an integer from ${least} to ${most}`);
}

function signal(value, name = 'signal') {
  if (value === undefined || (typeof value === 'object' && value !== null && typeof value.addEventListener === 'function' && typeof value.aborted === 'boolean')) return value;
  throw invalid(`${name} must be an AbortSignal`);
}

/** Whether names come as Buffers. */
function raw(value, name = 'encoding') {
  if (value === undefined || value === 'utf8') return false;
  if (value === 'buffer') return true;
  throw invalid(`${name} must be 'utf8' or 'buffer'`);
}

function outputs(value, name = 'outputs') {
  const given = known(value, name, ['root', 'projectDir', 'files', 'workspaceFiles', 'nested']);
  return {
    root: absolute(given.root, `${name}.root`),
    projectDir: optional(given.projectDir, `${name}.projectDir`),
    files: optional(given.files, `${name}.files`, globs),
    workspaceFiles: optional(given.workspaceFiles, `${name}.workspaceFiles`, globs),
    nested: optional(given.nested, `${name}.nested`, list),
  };
}

module.exports = { absolute, bytes, callback, content, environment, globs, integer, known, list, lone, object, optional, outputs, raw, signal };
