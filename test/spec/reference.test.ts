import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import { EVENT_KINDS } from '../../contracts/event-kinds.js';
import { REFERENCE_DIRECTORY, referencePages } from '../../scripts/print-reference.js';

const page = (file: string): string => readFileSync(join(REFERENCE_DIRECTORY, file), 'utf8');

/** The first cells of the tables of a page, without their back-ticks. */
const firstCells = (text: string): string[] =>
  [...text.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] as string);

describe('docs/reference', () => {
  it('says what the program says: `npm run reference` changes nothing', async () => {
    const pages = await referencePages();
    for (const [file, text] of Object.entries(pages)) expect([file, page(file)]).toEqual([file, text]);
    expect(readdirSync(REFERENCE_DIRECTORY).sort()).toEqual(Object.keys(pages).sort());
  });

  it('lists every error code with its status, and no other', () => {
    const listed = [...page('errors.md').matchAll(/^\| `([^`]+)` \| (\d{3}) \|/gm)].map((match) => [
      match[1],
      Number(match[2]),
    ]);
    expect(listed).toEqual(Object.entries(ERROR_CODES).map(([code, { status }]) => [code, status]));
  });

  it('names every event kind once, written ones in the table', () => {
    const text = page('events.md');
    const reserved = [...(text.split('written by nothing yet: ')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) =>
      String(match[1]),
    );
    const named = [...firstCells(text), ...reserved];
    expect(named).toHaveLength(EVENT_KINDS.length);
    expect(new Set(named)).toEqual(new Set<string>(EVENT_KINDS));
  });

  it('shows no default of a secret', () => {
    const secrets = [...page('settings.md').matchAll(/^\| `[^`]+` \| ([^|]+) \| .*\*\*Secret\.\*\* \|$/gm)];
    expect(secrets.length).toBeGreaterThan(10);
    for (const [, value] of secrets) expect(['required', 'none', 'empty']).toContain(value);
  });
});
