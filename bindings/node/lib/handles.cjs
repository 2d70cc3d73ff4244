'use strict';
// Which addon handle an object of the API stands for, between classes that use each other.
const { invalid } = require('./error.cjs');

const known = new WeakMap();

module.exports = {
  put: (object, handle) => known.set(object, handle),
  get(object, name) {
    const handle = typeof object === 'object' && object !== null ? known.get(object) : undefined;
    if (handle === undefined) throw invalid(`${name} is not an object of this library`);
    return handle;
  },
  optional(object, name) {
    return object === undefined || object === null ? undefined : module.exports.get(object, name);
  },
};
