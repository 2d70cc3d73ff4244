// docs/c-api-reference.md is what the headers say, and the guide names nothing that is not there.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { document, names } from './c_api.mjs';

const docs = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../docs');
const read = (name) => fs.readFileSync(path.join(docs, name), 'utf8');

test('the reference is made from the headers', () => {
  assert.equal(read('c-api-reference.md'), document(), 'run: node tests/docs/c_api.mjs > docs/c-api-reference.md');
});

test('every function of the headers has a place in it', () => {
  const page = read('c-api-reference.md');
  const all = names();
  assert.ok(all.length > 90, `${all.length} functions`);
  for (const name of all) assert.match(page, new RegExp(`^### .*\\b${name}\\b`, 'm'));
});

test('the guide speaks of functions that exist', () => {
  const all = new Set(names());
  for (const [, name] of read('c-api.md').matchAll(/\b(vx_[a-z_]+)\(\)/g)) assert.ok(all.has(name), name);
});
