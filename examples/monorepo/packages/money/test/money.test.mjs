import assert from 'node:assert/strict';
import test from 'node:test';
import { format, line } from '@example/money';

test('cents are shown with two digits', () => {
  assert.equal(format(1205), '12.05');
  assert.equal(format(0), '0.00');
});

test('a line multiplies and rounds', () => {
  assert.deepEqual(line({ cents: 199, per: 'kilogram' }, 1.5), { text: '1.5 kg at 1.99: 2.99', cents: 299 });
});
