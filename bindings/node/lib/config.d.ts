import type { ProjectConfig, WorkspaceConfig } from './documents.js';

export type { ProjectConfig, WorkspaceConfig } from './documents.js';

/** Both return what they are given. */
export function defineProject(config: ProjectConfig): ProjectConfig;
export function defineWorkspace(config: WorkspaceConfig): WorkspaceConfig;
