import assert from 'node:assert/strict';
import test from 'node:test';
import { column, label } from '@example/text';

test('labels come from the locale package', () => {
  assert.equal(label('en', 'total'), 'total');
  assert.equal(label('de', 'total'), 'Summe');
});

test('columns are padded', () => assert.equal(column('ab', 4), 'ab  '));
