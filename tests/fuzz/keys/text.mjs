// What reader.c prints and makes, computed from the same records.
import { bytes, lstat, read, readlink } from './disk.mjs';

const sized = (text) => `${text.length}:${text}`;

/** One path as the reader sees it, or as `overlay` says it will be: { kind: 'f' | 'x' | 'l' | '-', content }. */
export function look(root, path, overlay) {
  const over = overlay?.get(path);
  if (over !== undefined) return over ?? { kind: '-' };
  const st = lstat(`${root}/${path}`);
  if (!st || st.isDirectory()) return { kind: '-' };
  if (st.isSymbolicLink()) return { kind: 'l', content: readlink(`${root}/${path}`) };
  if (!st.isFile()) return { kind: '-' };
  return { kind: st.mode & 0o100n ? 'x' : 'f', content: read(`${root}/${path}`) };
}

export const fileRecord = (path, { kind, content }) => (kind === '-' ? `-${sized(path)}\n` : `${kind}${sized(path)}${sized(content)}\n`);
export const argumentRecord = (text) => `a${sized(text)}\n`;
export const variableRecord = (name, value) => (value === undefined ? `u${sized(name)}\n` : `e${sized(name)}${sized(value)}\n`);

export function sumOf(text) {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) >>> 0;
  return sum.toString(16).padStart(8, '0');
}

/** The outputs below OUT: name → "file <mode> <content>", "link <text>" or "dir <mode>". */
export function outputsOf(text, files) {
  const out = { all: `file 644 ${text}` };
  files.forEach(({ kind, content }, i) => {
    if (i >= 12 || (kind !== 'f' && kind !== 'x')) return;
    let sum = content.length;
    for (let k = 0; k < content.length; k++) sum += content.charCodeAt(k);
    const name = 'xrpledn'[sum % 7] + i;
    if (sum % 7 < 3) out[name] = `file ${['755', '444', '600'][sum % 7]} ${content}`;
    if (sum % 7 === 3) out[name] = `link ${content.length % 2 ? 'all' : './all'}`;
    if (sum % 7 === 4) out[`${name}/`] = 'dir 755';
    if (sum % 7 === 5) {
      out[`${name}/`] = 'dir 555';
      out[`${name}/in`] = `file 644 ${content}`;
    }
  });
  return out;
}

/** The bytes of a list for the reader. */
export const listBytes = (records) => bytes(records.map((r) => `${r}\0`).join(''));
