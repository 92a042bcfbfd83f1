import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** One tool call that ran. A second line for the same call would be a second effect. */
export interface Effect {
  readonly seq: number;
  readonly at: string;
  readonly tool: string;
  /** Long texts are replaced by their digest. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Money in cents, by account. */
export type Balances = Readonly<Record<string, number>>;

export interface EffectLog {
  /** Writes the effect down. It is on disk before the tool does anything, so a kill can lose an answer but never hide an effect. */
  record(tool: string, args: Record<string, unknown>): Effect;
  /** Takes one transfer into the books; refuses unknown accounts and money that is not there, by a sentence and without an effect. */
  transfer(args: Transfer): { readonly effect: Effect } | { readonly refusal: string };
  readonly effects: readonly Effect[];
  readonly balances: Balances;
}

export interface Transfer {
  readonly from: string;
  readonly to: string;
  /** Of the currency, at most two decimals. */
  readonly amount: number;
  readonly memo?: string | undefined;
  readonly reference?: string | undefined;
}

const OPENING_BALANCES: Balances = { operating: 250_000_00, payroll: 80_000_00, savings: 1_000_000_00, vendor: 0 };
const LONG_TEXT = 256;

const effectLine = z.object({
  seq: z.number().int(),
  at: z.string(),
  tool: z.string(),
  arguments: z.record(z.string(), z.unknown()),
});

/**
 * The journal of everything the demonstration tools did, `journal.jsonl`, and the balances that follow from it, `balances.json`. The
 * journal is the authority: balances are worked out from it at every start. A last line that a crash cut off is dropped.
 */
export function openEffectLog(dataDir: string): EffectLog {
  mkdirSync(dataDir, { recursive: true });
  const journal = join(dataDir, 'journal.jsonl');
  const effects = readJournal(journal);
  const balances: Record<string, number> = { ...OPENING_BALANCES };
  for (const effect of effects) {
    if (effect.tool === 'wire_transfer') move(balances, effect.arguments as unknown as Transfer);
  }
  saveBalances();

  function record(tool: string, args: Record<string, unknown>): Effect {
    const effect = { seq: effects.length + 1, at: new Date().toISOString(), tool, arguments: shortened(args) };
    appendFileSync(journal, `${JSON.stringify(effect)}\n`);
    effects.push(effect);
    return effect;
  }

  function saveBalances(): void {
    const file = join(dataDir, 'balances.json');
    writeFileSync(`${file}.tmp`, `${JSON.stringify(balances, null, 2)}\n`);
    renameSync(`${file}.tmp`, file);
  }

  return {
    effects,
    balances,
    record,
    transfer(args) {
      const { from, to, amount } = args;
      for (const account of [from, to]) {
        if (!Object.hasOwn(balances, account))
          return { refusal: `there is no account ${account}; there are ${Object.keys(balances).join(', ')}` };
      }
      if (from === to) return { refusal: 'a transfer needs two accounts' };
      if (Math.abs(amount * 100 - toCents(amount)) > 1e-6) return { refusal: 'an amount has at most two decimals' };
      if ((balances[from] as number) < toCents(amount))
        return { refusal: `${from} holds ${money(balances[from] as number)}, less than ${money(toCents(amount))}` };
      const effect = record('wire_transfer', { ...args });
      move(balances, args);
      saveBalances();
      return { effect };
    },
  };
}

/** Cents as text: `1250.00`. */
export const money = (cents: number): string => (cents / 100).toFixed(2);

const toCents = (amount: number): number => Math.round(amount * 100);

function move(balances: Record<string, number>, { from, to, amount }: Transfer): void {
  balances[from] = (balances[from] ?? 0) - toCents(amount);
  balances[to] = (balances[to] ?? 0) + toCents(amount);
}

function readJournal(file: string): Effect[] {
  if (!existsSync(file)) return [];
  const text = readFileSync(file, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole !== text) truncateSync(file, Buffer.byteLength(whole));
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => effectLine.parse(JSON.parse(line)));
}

const shortened = (args: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(args)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [
        name,
        typeof value === 'string' && value.length > LONG_TEXT
          ? `sha256:${createHash('sha256').update(value).digest('hex')}`
          : value,
      ]),
  );
