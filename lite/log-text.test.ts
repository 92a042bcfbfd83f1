import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { logText } from './log-text.js';

/** What pino writes for this event, as text. */
function told(log: (logger: pino.Logger) => void): string {
  let line = '';
  log(
    pino(
      { level: 'trace', timestamp: () => ',"time":1767225600000' },
      { write: (text: string) => void (line += text) },
    ),
  );
  return logText(line);
}

describe('the log as text', () => {
  it('is time, level, message, and what belongs to it', () => {
    expect(told((logger) => logger.warn({ url: 'http://127.0.0.1:8088', resumed: 2, chat: false }, 'ready'))).toBe(
      '2026-01-01T00:00:00.000Z WARN  ready url=http://127.0.0.1:8088 resumed=2 chat=false\n',
    );
  });

  it('puts the stack of an error on lines of its own', () => {
    const text = told((logger) => logger.error({ err: new Error('broken') }, 'a step failed'));
    expect(text).toMatch(/^2026-01-01T00:00:00.000Z ERROR a step failed\n {2}Error: broken\n {4,}at /);
  });

  it('quotes what is no plain word, and obeys nothing in it', () => {
    expect(told((logger) => logger.info({ reason: 'a b\u001b[2J' }, 'x\u001b[2J"y"'))).toBe(
      '2026-01-01T00:00:00.000Z INFO  x\\u{1b}[2J"y" reason="a b\\u001b[2J"\n',
    );
  });

  it('shows what a terminal would obey or an eye would miss, in message, name and value alike', () => {
    const text = told((logger) =>
      logger.info({ 'a\u202eb': 'x\u009b2Jy', list: ['\u{e0041}', { deep: '\u2067' }] }, 'hello\u009b31m\u202e'),
    );
    expect(text).toBe(
      '2026-01-01T00:00:00.000Z INFO  hello\\u{9b}31m\\u{202e} a\\u{202e}b="x\\u{9b}2Jy" list=["\\u{e0041}",{"deep":"\\u{2067}"}]\n',
    );
    expect(logText('no event \u009b2J\n')).toBe('no event \\u{9b}2J\n');
  });

  it('hands on what is no event', () => {
    expect(logText('not json\n')).toBe('not json\n');
  });
});
