import { levels } from 'pino';
import { z } from 'zod';
import { oneLine, printable } from '../domain/printable.js';

const event = z.looseObject({
  level: z.number(),
  time: z.number(),
  msg: z.string().default(''),
  err: z.looseObject({ stack: z.string().optional(), message: z.string().optional() }).optional(),
});
/** Fields of every event that mean nothing on a single machine. */
const UNSAID = new Set(['level', 'time', 'msg', 'err', 'pid', 'hostname']);

/**
 * One event of the log as a person reads it: time, level, message, and what belongs to it as `name=value`; a stack follows on lines of its
 * own. Other output is passed on as a line. Invisible characters are shown escaped.
 */
export function logText(line: string): string {
  let parsed: z.infer<typeof event>;
  try {
    parsed = event.parse(JSON.parse(line));
  } catch {
    return printable(line);
  }
  const { level, time, msg, err } = parsed;
  const rest = Object.entries(parsed)
    .filter(([name]) => !UNSAID.has(name))
    .map(([name, value]) =>
      // JSON escapes the controls below U+0020 only.
      oneLine(`${name}=${typeof value === 'string' && /^[\w.,:/@+-]+$/.test(value) ? value : JSON.stringify(value)}`),
    );
  const label = (levels.labels[level] ?? String(level)).toUpperCase().padEnd(5);
  const stack = err?.stack ?? err?.message;
  return `${[new Date(time).toISOString(), label, oneLine(msg), ...rest].join(' ')}\n${stack === undefined ? '' : `${printable(stack).replaceAll(/^/gm, '  ')}\n`}`;
}
