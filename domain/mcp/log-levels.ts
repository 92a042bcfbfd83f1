import type { Json } from '../../contracts/json.js';
import { membersOf } from './reply.js';

/** How severe a log message is, the mildest first (RFC 5424, MCP `server/utilities/logging`). */
const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const isLogLevel = (value: unknown): value is LogLevel => LOG_LEVELS.includes(value as LogLevel);

/** From which level on a client hears log messages: `null` where it never said, or nobody knows, and `off` where it wants none. */
export type LeastLevel = LogLevel | null | 'off';

/** What servers say by themselves is not known, because Gate asks each for everything (docs/architecture/mcp-sessions.md#log-messages). */
const UNASKED: LogLevel = 'info';

/**
 * Whether a client hears a message of this level. One that never set a level hears those from `info` on and those without a level (`null`); one
 * that did hears no message without a level.
 */
export const isHeard = (level: LogLevel | null, least: LeastLevel): boolean =>
  least !== 'off' && (level === null ? least === null : rankOf(level) >= rankOf(least ?? UNASKED));

/** A message without a level is the mildest. */
export const isMilder = (level: LogLevel | null, than: LogLevel | null): boolean =>
  than !== null && (level === null || rankOf(level) < rankOf(than));

const rankOf = (level: LogLevel): number => LOG_LEVELS.indexOf(level);

/** The level of a log message, whose `params` are the text of an object; `null` where it has none that the protocol knows. */
export function levelIn(params: string): LogLevel | null {
  const said: unknown = JSON.parse(membersOf(params)?.get('level') ?? 'null');
  return isLogLevel(said) ? said : null;
}

/** What is wrong with the level that a client sets; `null` when nothing is. */
export function logLevelFault(method: string, params: Json | undefined): string | null {
  if (method !== 'logging/setLevel') return null;
  const level = (params as { level?: unknown } | null | undefined)?.level;
  return isLogLevel(level) ? null : `\`params.level\` must be one of ${LOG_LEVELS.join(', ')}`;
}
