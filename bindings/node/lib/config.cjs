'use strict';
const same = (config) => config;
module.exports = { defineProject: same, defineWorkspace: same };
