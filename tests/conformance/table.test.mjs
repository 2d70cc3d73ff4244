// Every number has a test, every switch a rule, and docs/correctness.md is this table.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { repository } from '../cli/lib/workspace.mjs';
import { elsewhere, last } from './lib/rule.mjs';

// In a process of its own: importing the suites here would run them.
const node = (code) => execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd: repository, encoding: 'utf8', env: { ...process.env, VX_CONFORMANCE_LIST: '1', NODE_TEST_CONTEXT: undefined } });
const rules = JSON.parse(node("const { allRules } = await import('./tests/conformance/lib/rule.mjs'); console.log(JSON.stringify(await allRules())); process.exit(0);"));

test('every number of the checklist has exactly one test, or a feature it belongs to', () => {
  const wanted = Array.from({ length: last }, (_, i) => i + 1).filter((n) => !(n in elsewhere));
  const numbers = rules.map((r) => r.number);
  assert.deepEqual(numbers, wanted);
  console.log(`${numbers.length} of ${wanted.length}`);
});

test('every switch of the library has a rule, and the other way round', () => {
  const found = new Set();
  const visit = (dir) => {
    for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
      const file = path.join(dir, e.name);
      if (e.isDirectory()) visit(file);
      else if (/\.(cpp|hpp)$/.test(e.name)) for (const m of fs.readFileSync(file, 'utf8').matchAll(/mutated\("([^"]+)"\)/g)) found.add(m[1]);
    }
  };
  visit(path.join(repository, 'lib'));
  assert.deepEqual([...found].sort(), [...new Set(rules.map((r) => r.mutation).filter(Boolean))].sort());
});

test('docs/correctness.md is made from this table', () => {
  const made = node("const { document } = await import('./tests/conformance/table.mjs'); process.stdout.write(await document()); process.exit(0);");
  assert.equal(fs.readFileSync(path.join(repository, 'docs/correctness.md'), 'utf8'), made, 'run: node tests/conformance/table.mjs > docs/correctness.md');
});
