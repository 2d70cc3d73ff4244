/** Both return what they are given: they are for editors and type checkers. */
export const defineProject = (config) => config;
export const defineWorkspace = (config) => config;
