import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

test('the report lists the items and ends with a checksum', () => {
  const report = readFileSync(new URL('../report.txt', import.meta.url), 'utf8');
  assert.match(report, /^apples/);
  assert.match(report, /checksum [0-9a-f]{8}\n$/);
});
