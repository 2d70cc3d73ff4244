import assert from 'node:assert/strict';
import test from 'node:test';
import { describe as line, items } from '@example/catalog';

test('every item can be described', () => {
  for (const item of items) assert.ok(line(item.name, 1).text.startsWith(item.name));
});

test('an unknown item is refused', () => assert.throws(() => line('unicorn', 1), /no item called unicorn/));
