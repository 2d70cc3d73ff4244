// Files by names of any bytes: every path here is a string of bytes (latin1).
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const build = process.env.VX_BUILD_DIR ?? path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../build');
/** The program that the tasks run. */
export const reader = path.join(build, 'tests/fuzz/keys/vx-fuzz-reader');

export const bytes = (text) => Buffer.from(text, 'latin1');
export const utf8 = (text) => Buffer.from(text, 'utf8').toString('latin1');

export function lstat(path) {
  try {
    return fs.lstatSync(bytes(path), { bigint: true });
  } catch (e) {
    if (e.code === 'ENOENT' || e.code === 'ENOTDIR') return undefined;
    throw e;
  }
}
export const read = (path) => fs.readFileSync(bytes(path), 'latin1');
export const readlink = (path) => fs.readlinkSync(bytes(path), { encoding: 'buffer' }).toString('latin1');
export const list = (path) => fs.readdirSync(bytes(path), { encoding: 'buffer' }).map((name) => name.toString('latin1')).sort();
export const remove = (path) => fs.rmSync(bytes(path), { recursive: true, force: true });
export const rename = (from, to) => fs.renameSync(bytes(from), bytes(to));
export const chmod = (path, mode) => fs.chmodSync(bytes(path), mode);
export const symlink = (target, path) => fs.symlinkSync(bytes(target), bytes(path));
export const parent = (path) => path.slice(0, Math.max(0, path.lastIndexOf('/')));

export function makeDirs(path) {
  fs.mkdirSync(bytes(path), { recursive: true });
}
export function write(path, content, mode) {
  makeDirs(parent(path));
  if (lstat(path)?.isSymbolicLink()) remove(path);
  fs.writeFileSync(bytes(path), bytes(content));
  if (mode !== undefined) chmod(path, mode);
}
/** Puts other bytes of any size into a file and its old times back, as `cp -p` and `tar -x` do. */
export function rewriteKeepingTimes(path, content) {
  const before = lstat(path);
  fs.writeFileSync(bytes(path), bytes(content));
  setTimes(path, before);
}
/** To the nanosecond, which utimes(2) through Node is not: `reader --times`. */
export function setTimes(path, st) {
  const seconds = st.mtimeNs / 1000000000n;
  execFileSync(reader, ['--times', String(seconds), String(st.mtimeNs % 1000000000n)], { input: bytes(path) });
}

/** No part of the relative path above its name is a link or a file. */
export function hasRealParents(root, name) {
  for (let dir = parent(name); dir !== ''; dir = parent(dir)) {
    const st = lstat(`${root}/${dir}`);
    if (st && !st.isDirectory()) return false;
  }
  return true;
}
/** A file may be written at the relative path. */
export const isFree = (root, name) => hasRealParents(root, name) && !lstat(`${root}/${name}`)?.isDirectory();

/** Regular files and links below `dir`, relative, without descending into links or what `skip` names. */
export function walk(dir, skip = () => false, prefix = '') {
  const found = [];
  for (const name of list(dir + (prefix && `/${prefix.slice(0, -1)}`))) {
    const path = prefix + name;
    if (skip(path, name)) continue;
    const st = lstat(`${dir}/${path}`);
    if (st?.isDirectory()) found.push(...walk(dir, skip, `${path}/`));
    else if (st) found.push(path);
  }
  return found;
}
