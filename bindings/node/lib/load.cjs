'use strict';
// Finds the binaries of this platform. Both halves of the package use it: the API (vx.node) and the launcher (vx). It must stay cheap: the
// launcher pays for it on every start.

const fs = require('node:fs');
const path = require('node:path');
const manifest = require('../package.json');

const platform = `${process.platform}-${process.arch}`;
const packageName = `@vzn/vx-${platform}`;

/** Why no binary could be used: one of four codes, each with its own way out. */
class VxLoadError extends Error {
  constructor(code, message, cause) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
Object.defineProperty(VxLoadError.prototype, 'name', { value: 'VxLoadError', writable: true, configurable: true });

const reinstall = `npm install --include=optional @vzn/vx@${manifest.version}`;

function missing(variable) {
  const known = Object.keys(manifest.optionalDependencies ?? {});
  if (known.length > 0 && !known.includes(packageName)) {
    const names = known.map((name) => name.slice('@vzn/vx-'.length)).join(', ');
    return new VxLoadError('VX_LOAD_MISSING', `there is no vx for ${platform}, only for ${names}; ${variable} can name a binary of your own`);
  }
  return new VxLoadError('VX_LOAD_MISSING',
    `${packageName} is not installed. It is an optional dependency of @vzn/vx: installs with --omit=optional and lock files or node_modules made ` +
    `on another platform leave it out. Install it with "${reinstall}", or name a binary in ${variable}`);
}

/** The platform package: its directory and manifest, or undefined. */
function platformPackage() {
  let file;
  try {
    file = require.resolve(`${packageName}/package.json`);
  } catch (cause) {
    if (cause.code === 'MODULE_NOT_FOUND') return undefined;
    throw cause;
  }
  return { dir: path.dirname(file), manifest: JSON.parse(fs.readFileSync(file, 'utf8')) };
}

function checkVersion(version, where) {
  if (version === manifest.version) return;
  throw new VxLoadError('VX_LOAD_VERSION',
    `@vzn/vx is ${manifest.version} but ${where} is ${version}: both must be one version. Install them together with "${reinstall}"`);
}

/** The C library this process runs on. */
function libc() {
  const before = process.report.excludeNetwork;
  process.report.excludeNetwork = true;  // else it asks a name server
  const { glibcVersionRuntime } = process.report.getReport().header;
  process.report.excludeNetwork = before;
  return glibcVersionRuntime === undefined ? 'a C library that is not glibc (musl?)' : `glibc ${glibcVersionRuntime}`;
}

const older = (a, b) => {
  const [x, y] = [a, b].map((v) => v.split('.').map(Number));
  return x[0] !== y[0] ? x[0] < y[0] : x[1] < y[1];
};

/** The reason when this machine's C library is not one the package was built for. */
function wrongLibc(found, cause) {
  const needed = found.manifest.vx?.glibc;
  if (process.platform !== 'linux' || needed === undefined) return undefined;
  const here = libc();
  if (here.startsWith('glibc ') && !older(here.slice('glibc '.length), needed)) return undefined;
  const why = cause === undefined ? '' : `: ${cause.message}`;
  return new VxLoadError('VX_LOAD_LIBC', `${packageName} needs glibc ${needed} or newer and this Node runs on ${here}${why}`, cause);
}

function broken(file, why, cause) {
  return new VxLoadError('VX_LOAD_BROKEN', `${file} was found but cannot be used: ${why}. Reinstall it with "${reinstall}"`, cause);
}

/** Where `name` of the platform package is. `variable` overrides, and then nothing else is tried. */
function locate(name, variable) {
  const override = process.env[variable];
  if (override) return { file: path.resolve(override), override: variable };
  const found = platformPackage();
  if (found === undefined) throw missing(variable);
  checkVersion(found.manifest.version, packageName);
  const file = path.join(found.dir, name);
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size;
  const packed = found.manifest.vx?.files?.[name]?.size;
  if (size === undefined) throw broken(file, 'it is not there, though its package is');
  if (packed !== undefined && size !== packed) throw broken(file, `it has ${size} bytes instead of ${packed}`);
  return { file, found };
}

/** The failure that `cause` is, for a binary that was located. */
function explain(located, cause) {
  const { file, override, found } = located;
  if (override !== undefined) return new VxLoadError('VX_LOAD_BROKEN', `${override} names ${file}, which cannot be used: ${cause.message}`, cause);
  return wrongLibc(found, cause) ?? broken(file, cause.message, cause);
}

function loadAddon() {
  const located = locate('vx.node', 'VX_NODE_BINARY');
  const loaded = { exports: {} };
  try {
    process.dlopen(loaded, located.file);  // require() would take an override for what its ending says
  } catch (cause) {
    throw explain(located, cause);
  }
  checkVersion(loaded.exports.version, located.file);
  return loaded.exports;
}

module.exports = { VxLoadError, explain, loadAddon, locate };
