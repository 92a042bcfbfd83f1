import { readGroups } from '../../config/env.js';
import { CONSOLE_SETTINGS } from '../../config/console.js';
import { SIGN_IN_SETTINGS } from '../../config/console-sign-in.js';
import { aboutConsole } from '../../api/console/about.js';

/** What the console says of itself with nothing set but what it cannot be without. */
export const ABOUT = aboutConsole(
  readGroups(
    'console',
    { own: CONSOLE_SETTINGS, signIn: SIGN_IN_SETTINGS },
    { GATE_CONSOLE_SESSION_KEY: '0123456789abcdef'.repeat(4) },
  ),
);
