import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ConsoleConfig, CONSOLE_SETTINGS } from '../../config/console.js';
import { type SignInConfig, SIGN_IN_SETTINGS } from '../../config/console-sign-in.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { toldSettings } from '../../config/told-settings.js';
import type { AboutConsole } from '../../console/visit.js';

/** The settings of the console, as they were read. */
export interface ConsoleSettings {
  readonly own: ConsoleConfig;
  readonly signIn: SignInConfig;
}

/** What the page of the settings shows. No secret gets further than this. */
export function aboutConsole(config: ConsoleSettings): AboutConsole {
  const { version } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as { version: string };
  return {
    version,
    node: process.version,
    startedAt: new Date().toISOString(),
    workflowPages: config.own.workflowPages ?? null,
    settings: toldSettings({ own: CONSOLE_SETTINGS, signIn: SIGN_IN_SETTINGS }, { ...config }),
  };
}
