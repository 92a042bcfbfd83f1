import { createHash } from 'node:crypto';
import type { Opened } from '../../../adapters/console/signed-in.js';

/** How a session names the way by which it was opened, and the settings of it that it depends on: with other ones it is none. */
export const sessionMode = (name: string, settings: string): string =>
  `${name} ${createHash('sha256').update(settings).digest('hex')}`;

/** A session with the bare name of its way; `null` for one that was opened another way, or with other settings. */
export const openedIn = (session: Opened, mode: string, name: string): Opened | null =>
  session.mode === mode ? { ...session, mode: name } : null;
