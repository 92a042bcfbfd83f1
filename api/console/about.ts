import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ConsoleConfig, CONSOLE_SETTINGS } from '../../config/console.js';
import { READ_FOR, type SignInConfig, signInMode, SIGN_IN_SETTINGS } from '../../config/console-sign-in.js';
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
    settings: settingsShown(config),
  };
}

function settingsShown(config: ConsoleSettings): AboutConsole['settings'] {
  const way = signInMode(config.signIn);
  const unread = new Set(
    Object.entries(READ_FOR)
      .filter(([, ways]) => !ways.includes(way))
      .map(([name]) => SIGN_IN_SETTINGS[name as keyof typeof READ_FOR].variable),
  );
  // What holds without it follows from no value of its own.
  const inEffect = { ...config, signIn: { ...config.signIn, mode: way } };
  return toldSettings({ own: CONSOLE_SETTINGS, signIn: SIGN_IN_SETTINGS }, inEffect).map((setting) => ({
    ...setting,
    isRead: !unread.has(setting.variable),
    ...(setting.variable === SIGN_IN_SETTINGS.mode.variable && config.signIn.mode === undefined && WITHOUT_IT),
  }));
}
const WITHOUT_IT = { from: 'default' } as const;
