import assert from 'node:assert/strict';
import test from 'node:test';
import { quantity } from '@example/units';

test('a quantity has its unit', () => {
  assert.equal(quantity(2, 'kilogram'), '2 kg');
  assert.equal(quantity(1, 'piece'), '1 pc');
});
