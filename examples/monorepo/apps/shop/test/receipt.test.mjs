import assert from 'node:assert/strict';
import test from 'node:test';
import { receipt } from '../dist/receipt.js';

test('a receipt ends with the total', () => {
  assert.match(receipt([['apples', 2], ['bag', 1]], 'en'), /total\s+4\.18$/);
});

test('the total is translated', () => assert.match(receipt([['bag', 1]], 'de'), /Summe/));
